"""Broken images, names and disks: reported, and the rest is built."""

from __future__ import annotations

import errno
import io
import os
import re
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hardy.errors import HardyError, InputError
from hardy.execute import executor
from hardy.images.readers import open_images
from hardy.images.source import Fault
from hardy.suites import load
from hardy.variants.disk.build import build_cells
from hardy.variants.disk.manifest import WORKSHOP
from hardy.variants.disk.verify import verify
from hardy.variants.generated import Generated
from hardy.variants.stored import open_stored
from tests.suites.helpers import built, cells_of, opened, tree, write_photos
from tests.variants.interference import intercept


def break_photos(images: Path) -> list[str]:
    """Makes photographs 1 to 5 unreadable, each in its way; gives their names, and the reason."""
    good = (images / "n00000000" / "photo_000.JPEG").read_bytes()
    at = [images / f"n0000000{k % 2}" / f"photo_{k:03d}.JPEG" for k in range(7)]
    at[1].write_bytes(good[: len(good) // 2])
    at[2].write_bytes(b"")
    at[3].write_text("not an image at all")
    png = io.BytesIO()
    Image.new("1", (20000, 20000)).save(png, "PNG")
    at[4].write_bytes(png.getvalue())
    Image.fromarray(np.zeros((20, 20, 4), np.uint8)).save(at[5], "PNG")
    reasons = ["truncated", "the file is empty", "not an image of a known format",
               "decompression bomb", "transparen"]  # fmt: skip
    return [f"{path.name}.*{reason}" for path, reason in zip(at[1:], reasons, strict=False)]


@pytest.mark.parametrize(
    ("format", "workers"), [("jpeg", 1), ("png", 1), ("npy", 1), ("tar", 1), ("tar", 2)]
)
def test_images_that_cannot_be_read(format: str, workers: int, tmp_path: Path) -> None:
    """Reported, and the others are built, checked and read; mended, they are built too."""
    whole, images = write_photos(tmp_path / "whole", 12), write_photos(tmp_path / "val", 12)
    out, names = tmp_path / "out", ("contrast", "gaussian_noise")
    reasons = break_photos(images)
    outcome = built("imagenet_c", images, out, *names, format=format, workers=workers)
    assert (outcome.built, outcome.kept) == (7, 0)
    assert len(outcome.faults) == 5
    for reason in reasons:
        assert any(re.search(reason, fault, re.IGNORECASE) for fault in outcome.faults), reason
    report = verify(out)
    assert report.fine
    assert report.left_out == 5
    stored, suite = open_stored(out), load("imagenet_c")
    made = Generated(suite, opened(whole, suite), stored=format in ("jpeg", "tar"))
    assert len(stored) == 7
    place = [list(made.ids).index(name) for name in stored.ids]
    np.testing.assert_array_equal(stored.labels, made.labels[place])
    for cell in stored.cells:
        now = made.chunk(place).make(cell)
        np.testing.assert_array_equal(stored.chunk(range(7)).make(cell), now)
    before = tree(out)
    again = built("imagenet_c", images, out, *names, format=format)
    assert (again.built, again.kept, again.faults) == (0, 7, outcome.faults)
    assert tree(out) == before
    for path in images.rglob("*.JPEG"):
        path.write_bytes((whole / path.relative_to(images)).read_bytes())
    mended = built("imagenet_c", images, out, *names, format=format)
    assert mended.faults == []
    built("imagenet_c", images, tmp_path / "at once", *names, format=format)
    assert tree(out) == tree(tmp_path / "at once")


def test_more_cells_while_an_image_is_bad(tmp_path: Path) -> None:
    """Each cell remembers for itself which images it lacks."""
    images, out = write_photos(tmp_path / "val"), tmp_path / "out"
    photo = images / "n00000000" / "photo_002.JPEG"
    data = photo.read_bytes()
    photo.write_bytes(b"")
    for name in ("contrast", "jpeg_compression"):
        outcome = built("imagenet_c", images, out, name, severities=(1,), format="tar")
        assert len(outcome.faults) == 1
    both = built("imagenet_c", images, out, severities=(1,), format="tar")
    assert (both.built, both.kept, len(both.faults)) == (0, 5, 1)
    more = built("imagenet_c", images, out, severities=(1, 2), format="tar")
    assert (more.built, more.kept, len(more.faults)) == (5, 0, 1)
    photo.write_bytes(data)
    built("imagenet_c", images, out, "contrast", severities=(1,), format="tar")
    assert len(open_stored(out)) == 5  # other cells still lack it
    built("imagenet_c", images, out, severities=(1, 2), format="tar")
    assert len(open_stored(out)) == 6
    built("imagenet_c", images, tmp_path / "at once", severities=(1, 2), format="tar")
    assert tree(out) == tree(tmp_path / "at once")


def test_no_image_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "val" / "a").mkdir(parents=True)
    (tmp_path / "val" / "a" / "x.jpg").touch()
    with pytest.raises(InputError, match=r"none of the 1 images can be used: .*the file is empty"):
        built("imagenet_c", tmp_path / "val", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_images_of_other_sizes_and_too_small_ones(tmp_path: Path) -> None:
    """Where the recipe keeps sizes, all must have one."""
    images = tmp_path / "images"
    images.mkdir()
    for name, side in (("a", 32), ("b", 7), ("c", 32), ("d", 40)):
        Image.fromarray(np.full((side, 32, 3), 90, np.uint8)).save(images / f"{name}.png")
    outcome = built("cifar10_c", images, tmp_path / "out", "contrast")
    assert outcome.built == 2
    assert "b.png: expected at least 8 pixels per side, got width 32, height 7" in outcome.faults[0]
    assert "d.png: expected the size of the first image" in outcome.faults[1]
    assert list(open_stored(tmp_path / "out").ids) == [0, 2]


def test_rows_that_are_too_small(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.zeros((2, 8, 7, 3), np.uint8))
    with pytest.raises(InputError, match=r"none of the 2 images.*at least 8 pixels"):
        built("cifar10_c", tmp_path / "rows.npy", tmp_path / "out")


def test_listing_faults_do_not_stop_the_rest(tmp_path: Path) -> None:
    """A folder with the name of an image, an archive whose paths climb out; but not twins."""
    suite, images = load("imagenet_c"), write_photos(tmp_path / "val")
    good = (images / "n00000000" / "photo_000.JPEG").read_bytes()
    twin = images / "n00000001" / "photo_000.JPEG"
    twin.write_bytes(good)
    with pytest.raises(InputError, match='have the same id "photo_000"'):
        open_images(images, id_rule=suite.id_rule, faults=[])
    twin.unlink()
    (images / "n00000001" / "folder.JPEG").mkdir()
    faults: list[Fault] = []
    source = open_images(images, id_rule=suite.id_rule, faults=faults)
    assert len(source) == 6
    assert len(faults) == 1
    shard = tmp_path / "in" / "set.tar"
    shard.parent.mkdir()
    with tarfile.open(shard, "w") as tar:
        for name in ("../climbs.jpg", "/absolute.jpg", "fine.jpg", "n0/../../deep.jpg"):
            member = tarfile.TarInfo(name)
            member.size = len(good)
            tar.addfile(member, io.BytesIO(good))
    faults.clear()
    packed = open_images(shard, id_rule=suite.id_rule, faults=faults)
    assert len(faults) == 3
    before = tree(tmp_path / "in")
    for number, listed in enumerate((source, packed)):
        out = tmp_path / f"out{number}" / "c"
        cells = cells_of(suite, "contrast", severities=(1,))
        done = build_cells(suite, listed, out, cells, executor=executor(1))
        assert done.built == len(listed)
        assert verify(out).fine
        assert list(out.parent.iterdir()) == [out]
    assert tree(tmp_path / "in") == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out0", "out1", "val"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    images = write_photos(tmp_path / "val")
    (images / "n00000000" / "photo_002.JPEG").chmod(0)
    outcome = built("imagenet_c", images, tmp_path / "out", "contrast")
    assert outcome.built == 5
    assert "Permission denied" in outcome.faults[0]


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """A file's name is bytes: the manifest, the ids and the tar take any."""
    images = write_photos(tmp_path / "val", 2)
    photo = images / "n00000000" / "photo_000.JPEG"
    photo.rename(os.fsdecode(os.fsencode(photo.parent) + b"/\xff\xfe caf\xc3\xa9.JPEG"))
    for format in ("jpeg", "tar"):
        out = tmp_path / format
        assert built("imagenet_c", images, out, "gaussian_noise", format=format).built == 2
        assert verify(out).fine
        assert (
            open_stored(out)
            .chunk([0, 1])
            .make(cells_of(load("imagenet_c"), "gaussian_noise")[0])
            .shape[0]
            == 2
        )


@pytest.mark.parametrize("format", ["jpeg", "png", "npy", "tar"])
def test_a_full_disk(format: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops with a message, trusts nothing half-written, and resumes when there is room."""
    images, left = write_photos(tmp_path / "val"), 3

    def fill(write: Callable[[Any], int], data: Any) -> int:
        nonlocal left
        left -= 1
        if left < 0:
            write(memoryview(data).cast("B")[: len(data) // 2])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(data)

    with monkeypatch.context() as patch:
        intercept(fill, patch.setattr)
        with pytest.raises(HardyError, match=r"No space left on device.*the same command again"):
            built("imagenet_c", images, tmp_path / "out", format=format)
    built("imagenet_c", images, tmp_path / "out", format=format)
    built("imagenet_c", images, tmp_path / "other", format=format)
    assert tree(tmp_path / "out") == tree(tmp_path / "other")
    assert not (tmp_path / "out" / WORKSHOP).exists()
