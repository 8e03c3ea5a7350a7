"""A suite that is built at a URL has the bytes of one on a disk, however often it was stopped."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import hardy
from hardy.errors import InputError
from hardy.patience import Unreachable
from tests.objects import Objects
from tests.suites.helpers import write_rows

OUT = "s3://bucket/suites/c"
SENT = ("open_output_stream",)


@pytest.fixture
def built(objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """How to build; the user's cache is a folder of the test's own."""
    monkeypatch.setattr("platformdirs.user_cache_path", lambda name: tmp_path / "cache")
    return {"images": write_rows(tmp_path / "images"), "only": ["contrast"], "workers": 1}


def contents(folder: Path) -> dict[str, Any]:
    """All files; of the manifest what does not tell where things lay."""
    found: dict[str, Any] = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }
    header = json.loads(found["manifest.json"])
    found["manifest.json"] = header | {"source": "", "sha256": ""}
    return found


def left(tmp_path: Path) -> list[Path]:
    return list((tmp_path / "cache" / "builds").iterdir())


@pytest.mark.parametrize("format", ["npy", "tar", "png"])
def test_the_same_bytes(
    built: dict[str, Any], objects: Objects, tmp_path: Path, format: str
) -> None:
    there = objects.folder / "bucket/suites/c"
    for severities in ([1, 3], [1, 2, 3, 4, 5]):
        for out in (OUT, tmp_path / "here"):
            hardy.build("cifar10_c", out=out, format=format, severities=severities, **built)
        assert contents(there) == contents(tmp_path / "here")
    assert left(tmp_path) == []
    assert hardy.verify(OUT).fine
    sent = [key for what, key in objects.requests if what == "open_output_stream"]
    assert sent[-1] == "bucket/suites/c/manifest.json"
    objects.requests.clear()
    outcome = hardy.build("cifar10_c", out=OUT, format=format, **built)
    assert (outcome.built, outcome.kept) == (0, 7)
    sent = [key for what, key in objects.requests if what == "open_output_stream"]
    assert [key for key in sent if "contrast" in key] == []


def test_a_build_that_could_not_be_sent_goes_on(
    built: dict[str, Any], objects: Objects, tmp_path: Path
) -> None:
    def fails(what: str, key: str) -> str | None:
        lasting = what == "open_output_stream" and key.endswith("contrast/4/3.png")
        return "connection reset" if lasting else None

    objects.fails = fails
    with pytest.raises(Unreachable, match=r"could not be written.*what was finished is kept"):
        hardy.build("cifar10_c", out=OUT, format="png", **built)
    assert not (objects.folder / "bucket/suites/c/manifest.json").exists()
    objects.fails = lambda what, key: None
    objects.requests.clear()
    outcome = hardy.build("cifar10_c", out=OUT, format="png", **built)
    assert outcome.built == 0  # all of it was made before
    hardy.build("cifar10_c", out=tmp_path / "here", format="png", **built)
    assert contents(objects.folder / "bucket/suites/c") == contents(tmp_path / "here")
    sent = [key for what, key in objects.requests if what == "open_output_stream"]
    assert "bucket/suites/c/contrast/1/1.png" not in sent


@pytest.mark.parametrize("when", ["open_output_stream", "get_file_info"])
def test_a_second_process_waits_for_the_first(
    built: dict[str, Any], objects: Objects, tmp_path: Path, when: str
) -> None:
    """It asks for the same build while the first one fetches it, or sends it."""
    asked: list[str] = []

    def build_too(what: str, key: str) -> None:
        if what == when and key.startswith("bucket/suites/c") and not asked:
            asked.append(key)
            with pytest.raises(InputError, match=f"another process .* is building {OUT}; wait"):
                hardy.build("cifar10_c", out=OUT, **built)

    objects.fails = build_too
    hardy.build("cifar10_c", out=OUT, **built)
    assert asked
    assert hardy.verify(OUT).fine
    assert left(tmp_path) == []


@pytest.mark.parametrize("format", ["npy", "png"])
def test_what_became_of_a_build_is_found_out(
    built: dict[str, Any], objects: Objects, format: str
) -> None:
    hardy.build("cifar10_c", out=OUT, format=format, **built)
    there = objects.folder / "bucket/suites/c"
    file = there / ("contrast.npy" if format == "npy" else "contrast/2/4.png")
    data = file.read_bytes()
    file.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    (there / "contrast").mkdir(exist_ok=True)
    (there / "contrast" / "extra.txt").write_text("by somebody")
    if format == "png":
        (there / "contrast/3/5.png").unlink()
    found = hardy.verify(OUT)
    assert len(found.altered) == 1
    assert found.altered[0].startswith(file.relative_to(there).as_posix())
    assert found.extra == ["contrast/extra.txt"]
    assert found.missing == (["contrast/3/5.png"] if format == "png" else [])


def test_what_else_lies_there_is_refused(built: dict[str, Any], objects: Objects) -> None:
    other = objects.folder / "bucket/suites/c/thesis.tex"
    other.parent.mkdir(parents=True)
    other.write_text("by somebody")
    with pytest.raises(
        InputError, match=r"expected a new or empty folder.*got s3://bucket/suites/c"
    ):
        hardy.build("cifar10_c", out=OUT, **built)


def test_another_build_is_refused(built: dict[str, Any], objects: Objects) -> None:
    hardy.build("cifar10_c", out=OUT, **built)
    with pytest.raises(InputError, match="holds another build: seed is 1 and was 0"):
        hardy.build("cifar10_c", out=OUT, seed=1, **built)


def test_a_damaged_list_of_what_was_sent_says_nothing(
    built: dict[str, Any], objects: Objects, tmp_path: Path
) -> None:
    """As a power loss may leave it."""
    objects.fails = lambda what, key: "cut" if what in SENT and "manifest" in key else None
    with pytest.raises(Unreachable):
        hardy.build("cifar10_c", out=OUT, **built)
    (journal,) = (tmp_path / "cache/builds").glob("*.sent")
    journal.write_bytes(journal.read_bytes() + b"\0\0\0\n[1]\n{}\n\xff\n")
    objects.fails = lambda what, key: None
    hardy.build("cifar10_c", out=OUT, **built)
    assert hardy.verify(OUT).fine
    assert left(tmp_path) == []


def test_a_kill_while_the_folder_is_removed(
    built: dict[str, Any], objects: Objects, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(folder: Path, **_: Any) -> None:
        if (folder / "manifest.json").exists():
            (folder / "manifest.json").unlink()
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("hardy.variants.disk.sent_build.shutil.rmtree", killed)
        with pytest.raises(KeyboardInterrupt):
            hardy.build("cifar10_c", out=OUT, **built)
    hardy.build("cifar10_c", out=OUT, **built)
    assert hardy.verify(OUT).fine
    assert left(tmp_path) == []
