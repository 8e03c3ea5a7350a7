"""A build writes into its folder alone, whatever links lie in it."""

from __future__ import annotations

from pathlib import Path

import pytest

import hardy
from hardy.errors import HardyError, InputError
from tests.suites.helpers import built, write_photos, write_rows


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A folder with a file, of the user's."""
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "file").write_text("mine")
    return folder


def untouched(mine: Path) -> bool:
    return [path.read_text() for path in mine.iterdir()] == ["mine"]


@pytest.mark.parametrize("name", ["manifest.jsonl", ".unfinished", ".unfinished/lock"])
def test_what_a_build_begins_with(name: str, mine: Path, tmp_path: Path) -> None:
    rows, out = write_rows(tmp_path / "rows", 2), tmp_path / "out"
    (out / name).parent.mkdir(parents=True)
    (out / name).symlink_to(mine if name == ".unfinished" else mine / "file")
    with pytest.raises(HardyError, match=r"expected a f.* of its own, got a link"):
        built("cifar10_c", rows, out, "contrast", severities=(1,))
    assert untouched(mine)


@pytest.mark.parametrize("name", ["contrast.npy", "contrast.npy.part", "contrast", "contrast/1"])
def test_what_it_goes_on_with(name: str, mine: Path, tmp_path: Path) -> None:
    out, arrays = tmp_path / "out", ".npy" in name
    suite = "cifar10_c" if arrays else "imagenet_c"
    images = write_rows(tmp_path / "rows", 2) if arrays else write_photos(tmp_path / "photos", 1)
    built(suite, images, out, "jpeg_compression", severities=(1,))
    (out / name).parent.mkdir(exist_ok=True)
    (out / name).symlink_to(mine / "file" if arrays else mine)
    with pytest.raises(InputError, match=r"contrast.*: expected a f.* of its own, got a link"):
        built(suite, images, out, "contrast", severities=(1,))
    assert untouched(mine)


def test_the_lines_of_corrupted_files(mine: Path, tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "photos", 1), tmp_path / "out"
    hardy.corrupt_files(images, out, "contrast:1")
    lines = (out / "corrupted.jsonl").read_bytes()
    (mine / "file").write_bytes(lines)
    (out / "corrupted.jsonl").unlink()
    (out / "corrupted.jsonl").symlink_to(mine / "file")
    with pytest.raises(InputError, match=r"corrupted.jsonl: expected a file of its own"):
        hardy.corrupt_files(write_photos(tmp_path / "photos", 2), out, "contrast:1")
    assert (mine / "file").read_bytes() == lines
