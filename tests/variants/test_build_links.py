"""A build writes into its folder alone, whatever links lie in it."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

import hardy
from hardy.errors import HardyError, InputError
from tests.suites.helpers import built, tree, write_photos, write_rows


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


@pytest.mark.parametrize("link", ["c0", "c0/image.png"])
def test_corrupted_files_share_no_folder(link: str, tmp_path: Path) -> None:
    """Else the image of one would replace that of another."""
    images, out = tmp_path / "images", tmp_path / "out"
    for number, name in enumerate(("c0", "c1")):
        (images / name).mkdir(parents=True)
        Image.new("RGB", (32, 32), (90 * number, 0, 0)).save(images / name / "image.png")
    hardy.corrupt_files(images / "c1", out / "c1", "contrast:1")
    before = tree(out)
    (out / link).parent.mkdir(exist_ok=True)
    (out / link).symlink_to(out / link.replace("c0", "c1"))
    with pytest.raises(InputError, match=rf"{link}: expected a f.* of its own, got a link"):
        hardy.corrupt_files(images, out, "contrast:1", overwrite=True)
    (out / link).unlink()
    assert tree(out) == before


def test_links_beside_corrupted_files_are_nobodys_business(mine: Path, tmp_path: Path) -> None:
    images, out = write_photos(tmp_path / "photos", 2), tmp_path / "out"
    out.mkdir()
    (out / "annotations").symlink_to(mine)
    assert hardy.corrupt_files(images, out, "contrast:1").done == 2
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
