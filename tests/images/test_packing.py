"""`hardy pack`: shards that are whole or not there, and the same whatever came between."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import HardyError, InputError
from hardy.images import open_images, pack_files, packing
from hardy.images.recipes import RECIPES
from hardy.progress import untracked
from tests.photos import random_images


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Eleven photographs of two classes, of which some are small, and one is grey."""
    for number in range(11):
        folder = tmp_path / "photos" / "ab"[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        small = Image.fromarray(random_images(1, 5, 5, seed=number)[0])
        image = small.convert("L" if number == 3 else "RGB").resize(
            (90 - 4 * number, 30 + 5 * number), Image.Resampling.BICUBIC
        )
        image.save(folder / f"{number:02}.{'png' if number % 3 else 'jpg'}")
    return tmp_path / "photos"


@pytest.fixture
def small_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "FEWEST_IN_SHARD", 4)


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def packed(source: object, out: Path, **options: object) -> packing.PackResult:
    return hardy.pack(str(source), out, **{"side": 48, "track": untracked, **options})


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("format", ["jpeg", "raw"])
def test_a_pack_has_the_names_ids_labels_and_pixels_of_its_source(format, photos, tmp_path) -> None:
    made = packed(photos, tmp_path / "pack", format=format)
    assert (made.packed, made.kept, made.unreadable) == (11, 0, [])
    assert {name for name in files(made.folder) if name.endswith("images")} == {
        *("00000.images", "00001.images", "00002.images")
    }
    before, after = open_images(photos), open_images(made.folder)
    assert after.files == before.files
    assert list(after.ids) == list(before.ids)
    assert np.array_equal(after.labels, before.labels)
    assert after.classes == before.classes
    for rule in ("file_stem", "row_index"):
        same = [open_images(place, id_rule=rule) for place in (photos, made.folder)]
        assert list(same[0].ids) == list(same[1].ids)
    for row in range(11):
        whole, small = before.read(row), after.read(row)
        assert min(small.shape[:2]) == min(48, *whole.shape[:2])
        if format == "raw" and small.shape == whole.shape:
            assert np.array_equal(small, whole)
    assert after.describe() == (
        f"11 images of 2 classes, packed at 48 px as {format} in {made.folder}"
    )


@pytest.mark.usefixtures("small_shards")
def test_pixels_that_are_packed_are_those_of_the_recipe(photos, tmp_path) -> None:
    """Raw ones are a recipe's own after its resizing; JPEG ones are near them."""
    raw, jpeg = (packed(photos, tmp_path / one, side=64, format=one) for one in ("raw", "jpeg"))
    recipe = RECIPES["resize64_crop64@1"].prepare
    sources = [open_images(place) for place in (photos, raw.folder, jpeg.folder)]
    for row in range(11):
        wanted, same, near = (source.read(row, recipe).astype(int) for source in sources)
        assert np.array_equal(wanted, same)
        assert np.abs(wanted - near).mean() < 4


@pytest.mark.usefixtures("small_shards")
@pytest.mark.parametrize("workers", [1, 3])
def test_a_stopped_pack_goes_on_to_the_same_bytes(workers, photos, tmp_path) -> None:
    whole = packed(photos, tmp_path / "whole", workers=2).folder

    def stopped(items, total, unit, amount):
        assert (total, unit) == (11, "images packed")
        for number, item in enumerate(items):
            if number == 6:
                raise KeyboardInterrupt
            yield item

    with pytest.raises(KeyboardInterrupt):
        packed(photos, tmp_path / "cut", workers=workers, track=stopped)
    assert {*files(tmp_path / "cut")} == {"pack.json", "00000.images", "00000.json"}
    with pytest.raises(InputError, match=r"of 3 shards, got 1 and then no 00001.json; give"):
        open_images(tmp_path / "cut")
    made = packed(photos, tmp_path / "cut", workers=workers)
    assert (made.packed, made.kept) == (7, 4)
    assert files(made.folder) == files(whole)
    assert packed(photos, made.folder).kept == 11


KILLED = """
import os, signal, sys
import hardy
from hardy.images import packing
packing.FEWEST_IN_SHARD = 4
def killed(items, total, unit, amount):
    for number, item in enumerate(items):
        if number == int(sys.argv[3]):
            os.kill(os.getpid(), signal.SIGKILL)
        yield item
hardy.pack(sys.argv[1], sys.argv[2], side=48, track=killed)
"""


@pytest.mark.usefixtures("small_shards")
def test_a_kill_leaves_nothing_half_written(photos, tmp_path) -> None:
    ended = subprocess.run([sys.executable, "-c", KILLED, photos, tmp_path / "cut", "6"])
    assert ended.returncode == -9
    left = {path.name for path in (tmp_path / "cut").iterdir() if path.name[0] != "."}
    assert left == {"pack.json", "00000.images", "00000.json"}
    assert packed(photos, tmp_path / "cut").kept == 4
    assert files(tmp_path / "cut") == files(packed(photos, tmp_path / "whole").folder)


@pytest.mark.usefixtures("small_shards")
def test_a_disk_that_fills(photos, tmp_path, monkeypatch) -> None:
    whole_file = packing.whole_file

    @contextmanager
    def full(path: Path) -> Iterator[SimpleNamespace]:
        def write(data: bytes) -> None:
            if path.name == "00001.images" and file.tell():
                raise OSError(errno.ENOSPC, "No space left on device")
            file.write(data)

        with whole_file(path) as file:
            yield SimpleNamespace(write=write)

    monkeypatch.setattr(packing, "whole_file", full)
    reason = r"00001.images could not be written \(No space left on device\); what is packed is"
    with pytest.raises(HardyError, match=reason):
        packed(photos, tmp_path / "pack")
    assert {*files(tmp_path / "pack")} == {"pack.json", "00000.images", "00000.json"}
    monkeypatch.setattr(packing, "whole_file", whole_file)
    packed(photos, tmp_path / "pack")
    assert len(open_images(tmp_path / "pack")) == 11


@pytest.mark.usefixtures("small_shards")
def test_images_that_cannot_be_read_are_left_out_listed_and_bounded(photos, tmp_path) -> None:
    damaged = photos / "a/04.png"
    damaged.write_bytes(damaged.read_bytes()[:300])
    Image.new("RGB", (1, 1)).save(photos / "b/pixel.png")
    with pytest.raises(HardyError, match=r"1 of 12 images cannot be read, .*a/04.png"):
        packed(photos, tmp_path / "strict")
    for again in (False, True):
        made = packed(photos, tmp_path / "pack", most_unreadable=0.2)
        assert made.kept == (10 if again else 0)
        assert len(made.unreadable) == 2
        assert "a/04.png" in made.unreadable[0]
        assert "at least 8 pixels per side, got 1 x 1" in made.unreadable[1]
        listed = (made.folder / "unreadable.txt").read_text()
        assert listed.splitlines() == made.unreadable
    faults: list = []
    source = open_images(made.folder, faults=faults)
    assert [fault.reason for fault in faults] == made.unreadable
    assert "a/04" not in source.ids
    assert "2 that could not be read left out" in source.describe()
    rows = open_images(made.folder, id_rule="row_index").ids
    assert len(rows) == 10
    assert rows[-1] == 10  # the rows of the source, of which the last was one pixel
    with pytest.raises(InputError, match="`most_unreadable` as a share from 0 to below 1, got 1"):
        packed(photos, tmp_path / "other", most_unreadable=1)


def test_arrays_keep_their_rows(tmp_path) -> None:
    np.savez(tmp_path / "set.npz", images=random_images(5, 40, 24), labels=[0, 2, 1, 1, 0])
    made = packed(tmp_path / "set.npz", tmp_path / "pack", side=12, format="raw")
    source = open_images(made.folder)
    assert list(source.ids) == [0, 1, 2, 3, 4]
    assert source.labels.tolist() == [0, 2, 1, 1, 0]
    assert source.read(0).shape == (20, 12, 3)
    with pytest.raises(InputError, match="these images have no file names"):
        open_images(made.folder, id_rule="file_stem")
    np.savez(tmp_path / "tiny.npz", images=random_images(5, 4, 4), labels=[0, 2, 1, 1, 0])
    with pytest.raises(HardyError, match="at least 8 pixels per side, got 4 x 4"):
        packed(tmp_path / "tiny.npz", tmp_path / "tiny")


def test_images_without_labels_and_labels_beside_them(tmp_path) -> None:
    np.save(tmp_path / "set.npy", random_images(3, 16, 16))
    np.save(tmp_path / "labels.npy", np.array([1, 0, 1]))
    plain = packed(tmp_path / "set.npy", tmp_path / "plain")
    assert open_images(plain.folder).labels is None
    labelled = packed(tmp_path / "set.npy", tmp_path / "pack", labels=tmp_path / "labels.npy")
    assert open_images(labelled.folder).labels.tolist() == [1, 0, 1]
    with pytest.raises(InputError, match="brings its own labels"):
        open_images(labelled.folder, labels=tmp_path / "labels.npy")


def test_what_cannot_be_packed(photos, tmp_path) -> None:
    out = tmp_path / "pack"
    with pytest.raises(InputError, match='unknown format of packs "png"'):
        packed(photos, out, format="png")
    for side in (7, 5000):
        with pytest.raises(InputError, match=f"expected `side` from 8 to 4,096 pixels, got {side}"):
            packed(photos, out, side=side)
    with pytest.raises(InputError, match="lie one within the other"):
        packed(photos, photos / "pack")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"expected a folder to pack into, got .*file"):
        packed(photos, tmp_path / "file")
    (photos / "c").mkdir()
    with pytest.raises(InputError, match=r"the class folder .*c has no image files"):
        packed(photos, out)
    assert not out.exists()
    (photos / "c").rmdir()
    packed(photos, out)
    with pytest.raises(InputError, match=r"holds another pack: side is 32 and was 48; ask for"):
        packed(photos, out, side=32)
    (photos / "b/01.png").rename(photos / "b/99.png")
    with pytest.raises(InputError, match="the images or labels are not those"):
        packed(photos, out)
    with pytest.raises(InputError, match="holds other things than a pack"):
        packed(out, photos / "a/..")


def test_a_folder_is_packed_into_by_one_process(photos, tmp_path) -> None:
    def busy(items, total, unit, amount):
        with pytest.raises(InputError, match="another process is packing into"):
            packed(photos, tmp_path / "pack")
        return items

    packed(photos, tmp_path / "pack", track=busy)


def test_the_header_says_how(photos, tmp_path) -> None:
    packed(photos, tmp_path / "pack")
    header = json.loads((tmp_path / "pack/pack.json").read_text())
    assert header["recipe"].endswith("JPEG of quality 95")
    assert header["source"] == f"11 images of 2 classes, class folders in {photos}"
    assert "Pillow" in header["decoder"]
    assert header["in_shard"] == pack_files.FEWEST_IN_SHARD


@pytest.mark.usefixtures("small_shards")
def test_shards_stay_few(photos, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(packing, "MOST_SHARDS", 2)
    assert (
        json.loads((packed(photos, tmp_path / "p").folder / "pack.json").read_text())["in_shard"]
        == 6
    )


def test_the_command(run, photos, tmp_path) -> None:
    code, out, err = run("pack", str(photos), "--out", "small", "--side", "64", "--format", "raw")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "packed 11 images in small",
        "next: hardy train METHOD --data small --side 56 --out NET",
    ]
    assert "11 were there" in run("pack", str(photos), "--out", "small", "--side", "64",
                                  "--format", "raw")[1]  # fmt: skip
    (photos / "a/00.jpg").write_bytes(b"no image")
    code, _, err = run("pack", str(photos), "--out", "other", "--most-unreadable", "10%")
    assert code == 1
    assert "1 image could not be read" in err
    assert "a/00.jpg" in err
