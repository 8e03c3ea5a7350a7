"""`hardy.corrupt_files` on a tree like COCO's: layouts, names, formats, orientation."""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

import hardy
from hardy.errors import InputError
from hardy.suites.cells import Cell
from hardy.variants.cell_words import typed_cells
from hardy.variants.mirror import Mirrored
from hardy.variants.mirror_manifest import CORRUPTED
from tests.variants.mirrored import DRAWS, coco, lines, pixels, stamps, tree

__all__ = ["coco"]


def test_several_corruptions_each_mirror_the_tree() -> None:
    made = hardy.corrupt_files("coco", "out", ["contrast:1,3", "fog:5"], seed=4)
    names = ["images/train/0001.png", "images/train/0002.png", "images/val/deep/0001.png"]
    folders = ["contrast/1", "contrast/3", "fog/5"]
    assert tree("out") == sorted([CORRUPTED, *(f"{one}/{n}" for one in folders for n in names)])
    assert made == Mirrored(Path("out"), 9, [], 1, 0)
    clean = pixels("coco/images/val/deep/0001.png")
    foggy = hardy.corrupt(clean, "fog", 5, seed=4, ids="images/val/deep/0001")
    np.testing.assert_array_equal(pixels("out/fog/5/images/val/deep/0001.png"), foggy)
    grey = hardy.corrupt(pixels("coco/images/train/0002.JPG"), "contrast", 3)
    np.testing.assert_array_equal(pixels("out/contrast/3/images/train/0002.png"), grey)


def test_each_image_has_a_line() -> None:
    hardy.corrupt_files("coco", "out", "fog:1-2", seed=4, keep_format=True)
    assert sorted(str(line["output"]) for line in lines()) == [
        name for name in tree("out") if name != CORRUPTED
    ]
    (line,) = (one for one in lines() if one["output"] == "fog/2/images/train/0002.JPG")
    source, output = Path("coco/images/train/0002.JPG"), Path("out/fog/2/images/train/0002.JPG")
    assert line == {
        "source": "images/train/0002.JPG",
        "source_sha256": sha256(source.read_bytes()).hexdigest(),
        "corruption": "fog",
        "severity": 2,
        "seed": 4,
        "edition": "auto",
        "output": "fog/2/images/train/0002.JPG",
        "sha256": sha256(output.read_bytes()).hexdigest(),
    }


def test_names_and_formats_are_kept_on_request() -> None:
    Image.fromarray(np.zeros((9, 9), np.uint8)).save("coco/images/still.gif")
    made = hardy.corrupt_files("coco", "out", "contrast", 2, keep_format=True)
    found = [name for name in tree("out") if name != CORRUPTED]
    assert found == ["images/train/0001.jpg", "images/train/0002.JPG", "images/val/deep/0001.png"]
    with Image.open("out/images/train/0001.jpg") as image:
        assert image.format == "JPEG"
    assert (made.done, len(made.bad)) == (3, 1)
    assert "still.gif: Hardy reads this format, but cannot write it" in made.bad[0]


def test_all_are_the_corruptions_of_imagenet_c() -> None:
    Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save("cat.png")
    names = [name for name in hardy.corruptions()[:19] if name != "frost"]
    assert hardy.corrupt_files("cat.png", "some", [f"{name}:3" for name in names]).done == 18
    assert tree("some") == sorted([CORRUPTED, *(f"{name}/3/cat.png" for name in names)])
    assert len(typed_cells("all:3", None)) == 19
    assert len(typed_cells("all fog:1 fog", None)) == 95
    assert typed_cells("noc_rotation", None) == [Cell("noc_rotation", 1)]  # it has but one
    for word in ("fog 3", "fog:", "fog,,snow:1"):
        with pytest.raises(InputError, match=r"fog:3, fog:1-5|for none, such as \"fog:1 snow:1\""):
            typed_cells(word, None)


def test_the_fifteen_that_count_and_the_other_four_have_names() -> None:
    fifteen, four = (typed_cells(f"{word}:3", None) for word in ("counted", "validation"))
    assert [cell.name for cell in fifteen] == list(hardy.corruptions()[:15])
    assert [*fifteen, *four] == typed_cells("all:3", None)
    assert len(typed_cells("counted", None)) == 75


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("fog,snow", "fog snow"),
        ("fog:3,snow:2", "fog:3 snow:2"),
        ("fog:1,3,snow:1-2,frost:5", "fog:1,3 snow:1-2 frost:5"),
        ("fog:1, snow:2", "fog:1 snow:2"),
    ],
)
def test_commas_stand_between_names_as_in_other_lists(typed: str, meant: str) -> None:
    assert typed_cells(typed, None) == typed_cells(meant, None)


def test_commas_stand_between_names_that_share_a_severity() -> None:
    assert typed_cells("fog,snow", 2) == [Cell("fog", 2), Cell("snow", 2)]


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("fog,snow:3", "fog:3 snow:3"),
        ("fog,snow:1-2", "fog:1-2 snow:1-2"),
        ("fog:1,3,snow", "fog:1,3 snow:1,3"),
    ],
)
def test_a_list_with_severities_for_some_is_told_how_to_write_it(typed: str, meant: str) -> None:
    with pytest.raises(InputError, match=f'such as "{meant}.*got "{typed}"'):
        hardy.corrupt_files("coco", "out", typed)


def test_further_corruptions_are_added() -> None:
    hardy.corrupt_files("coco", "out", "contrast:1-2")
    made = hardy.corrupt_files("coco", "out", "contrast:1-2 brightness:1")
    assert (made.done, made.kept, len(lines())) == (3, 6, 9)


@pytest.mark.parametrize("source", ["coco", "coco/images/val/deep/0001.png"])
def test_a_single_further_corruption_gets_its_folder_too(source: str) -> None:
    first = hardy.corrupt_files(source, "out", "contrast:1-2")
    before = tree("out")
    made = hardy.corrupt_files(source, "out", "brightness:3")
    assert (made.done, made.kept) == (first.done / 2, 0)
    added = {name.replace("contrast/1", "brightness/3") for name in before if "contrast/1" in name}
    assert set(tree("out")) == {*before, *added}
    assert len(lines()) == len(tree("out")) - 1
    assert hardy.corrupt_files(source, "out", "contrast:2").kept == first.done / 2


def test_several_do_not_go_beside_one_that_has_no_folder() -> None:
    hardy.corrupt_files("coco", "out", "contrast:1")
    before = stamps("out")
    for overwrite in (False, True):
        with pytest.raises(InputError, match=r"the images in out are of one corruption, without a"):
            hardy.corrupt_files("coco", "out", "brightness:1-2", overwrite=overwrite)
    assert stamps("out") == before


@pytest.mark.parametrize(
    ("first", "then", "reason"),
    [
        ({"keep_format": True}, {}, r"keep their names and formats; say `keep_format=True`, or"),
        ({}, {"keep_format": True}, r"are PNG files; leave `keep_format` out, or name another"),
        ({"edition": "224"}, {}, r"are of the edition 224, not auto; say `edition=224`, or"),
    ],
)
def test_a_folder_has_one_format_and_one_edition(
    first: dict[str, Any], then: dict[str, Any], reason: str
) -> None:
    hardy.corrupt_files("coco", "out", "contrast:1-2", **first)
    before = stamps("out")
    for overwrite in (False, True):
        for cells in ("brightness:3", "contrast:2-3"):
            with pytest.raises(InputError, match=reason):
                hardy.corrupt_files("coco", "out", cells, **then, overwrite=overwrite)
    assert stamps("out") == before
    # What is replaced, or gone, is not beside anything.
    assert hardy.corrupt_files("coco", "out", "contrast:1-2", **then, overwrite=True).done > 3
    shutil.rmtree("out/contrast")
    assert hardy.corrupt_files("coco", "out", "brightness:3", **first).done == 3


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "webp"])
@pytest.mark.parametrize("alone", [True, False])
def test_viewers_turn_a_corrupted_image_as_they_do_the_clean_one(suffix: str, alone: bool) -> None:
    """Its pixels lie as they did: the note of EXIF is kept, and not applied."""
    exif = Image.Exif()
    exif[0x0112] = 6
    image = Image.fromarray(DRAWS.integers(0, 256, (16, 24, 3), dtype=np.uint8))
    Path("turned").mkdir()
    image.save("turned/photo.jpg", exif=exif)
    if alone:
        made = hardy.corrupt_files("turned/photo.jpg", f"photo.{suffix}", "contrast", 1).written
    else:
        image.save(f"turned/photo2.{suffix}", exif=exif)
        hardy.corrupt_files("turned", "out", "contrast", 1, keep_format=True)
        made = Path(f"out/photo2.{suffix}")
    with Image.open(made) as corrupted:
        assert ImageOps.exif_transpose(corrupted).size == (16, 24)
        if suffix == "png" and alone:
            clean = pixels("turned/photo.jpg")
            expected = hardy.corrupt(clean, "contrast", 1, ids="photo")
            np.testing.assert_array_equal(np.asarray(corrupted), expected)


def test_a_broken_note_of_exif_is_no_orientation() -> None:
    Image.new("RGB", (16, 16)).save("photo.jpg", exif=b"Exif\x00\x00broken beyond repair")
    hardy.corrupt_files("photo.jpg", "out.jpg", "contrast", 1)
    with Image.open("out.jpg") as image:
        assert "exif" not in image.info


@pytest.mark.parametrize("keep_format", [False, True])
def test_images_that_differ_by_suffix_alone_are_kept_apart(keep_format: bool) -> None:
    names = ("val/deep/0001.jpg", "val/deep/0001.png")
    Image.fromarray(pixels("coco/images/val/deep/0001.png")).save("coco/images/val/deep/0001.jpg")
    for _ in range(2):  # the second time all is there
        hardy.corrupt_files("coco/images", "out", "fog", 1, keep_format=keep_format)
        made = {line["source"]: line["output"] for line in lines()}
        ends = [name if keep_format else f"{name}.png" for name in names]
        assert [made[name] for name in names] == ends
        usual = "train/0001.jpg" if keep_format else "train/0001.png"
        assert made["train/0001.jpg"] == usual
        assert set(tree("out")) == {*map(str, made.values()), CORRUPTED}
    clean = pixels("coco/images/val/deep/0001.png")
    by_id = hardy.corrupt(clean, "fog", 1, ids="val/deep/0001.png")
    assert np.array_equal(pixels(Path("out", ends[1])), by_id)


def test_a_twin_that_comes_later_is_not_taken_for_the_same_work() -> None:
    """Its id is then another, and so is what is drawn for it."""
    hardy.corrupt_files("coco/images", "out", "fog", 1, keep_format=True)
    Image.fromarray(pixels("coco/images/val/deep/0001.png")).save("coco/images/val/deep/0001.bmp")
    with pytest.raises(InputError, match=r"0001.png is there already"):
        hardy.corrupt_files("coco/images", "out", "fog", 1, keep_format=True)


def test_a_name_that_a_twins_would_be_is_refused() -> None:
    for name in ("a.jpg", "a.png", "a.jpg.png"):
        Image.fromarray(np.zeros((16, 16, 3), np.uint8)).save(f"coco/images/{name}")
    with pytest.raises(InputError, match=r"a\.jpg and a file of that name with a further suffix"):
        hardy.corrupt_files("coco/images", "out", "fog", 1)
