"""`hardy.corrupt_files` on a tree like COCO's: several corruptions, resuming, no overwriting."""

from __future__ import annotations

import errno
import io
import json
import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps

import hardy
from hardy.errors import HardyError, InputError
from hardy.files import UNFINISHED
from hardy.variants import file_lines
from hardy.variants.cell_words import typed_cells
from hardy.variants.mirror import Mirrored
from hardy.variants.mirror_manifest import CORRUPTED

DRAWS = np.random.default_rng(2)


def pixels(path: str | Path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB"))


def tree(folder: str) -> list[str]:
    return sorted(p.relative_to(folder).as_posix() for p in Path(folder).rglob("*") if p.is_file())


def lines(folder: str = "out") -> list[dict[str, object]]:
    return [json.loads(line) for line in Path(folder, CORRUPTED).read_text().splitlines()]


def stamps(folder: str) -> dict[str, int]:
    return {name: Path(folder, name).stat().st_mtime_ns for name in tree(folder)}


@pytest.fixture(autouse=True)
def coco(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nested folders, JPEG and PNG, several sizes, grey ones, and annotations."""
    monkeypatch.chdir(tmp_path)
    for name, shape in {
        "train/0001.jpg": (48, 64, 3),
        "train/0002.JPG": (33, 40),
        "val/deep/0001.png": (64, 31, 3),
    }.items():
        path = Path("coco/images", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(DRAWS.integers(0, 256, shape, dtype=np.uint8)).save(path)
    Path("coco/annotations").mkdir()
    Path("coco/annotations/instances.json").write_text('{"images": []}')


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


def test_the_fifteen_that_count_and_the_other_four_have_names() -> None:
    fifteen, four = (typed_cells(f"{word}:3", None) for word in ("counted", "validation"))
    assert [cell.name for cell in fifteen] == list(hardy.corruptions()[:15])
    assert [*fifteen, *four] == typed_cells("all:3", None)
    assert len(typed_cells("counted", None)) == 75


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("fog,snow:3", "fog:3 snow:3"),
        ("fog,snow", "fog:3 snow:3"),
        ("fog,snow:1-2", "fog:1-2 snow"),
    ],
)
def test_a_list_with_commas_is_told_how_to_write_it(typed: str, meant: str) -> None:
    with pytest.raises(InputError, match=f'such as "{meant}.*got "{typed}"'):
        hardy.corrupt_files("coco", "out", typed)


def test_the_same_work_is_resumed() -> None:
    hardy.corrupt_files("coco", "whole", "contrast:1-2")

    def stop(items, *_):
        yield from list(items)[:2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hardy.corrupt_files("coco", "out", "contrast:1-2", track=stop)
    before = stamps("out")
    assert len(before) == 5
    # A kill between a line and its file, and one within a line.
    Path("out/contrast/2/images/train/0002.png").unlink()
    with Path("out", CORRUPTED).open("a") as file:
        file.write('{"source": "ima')
    made = hardy.corrupt_files("coco", "out", "contrast:1-2")
    assert (made.done, made.kept) == (3, 3)
    after = stamps("out")
    assert all(after[name] == before[name] for name in before if "0001" in name)
    assert sorted(map(str, lines())) == sorted(map(str, lines("whole")))


@pytest.mark.parametrize("place", ["hold", "open_inside"])
def test_a_full_disk_is_told_with_what_to_do(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(file_lines, place, full)
    with pytest.raises(HardyError, match=r"cannot write to out \(No space left .* see to the disk"):
        hardy.corrupt_files("coco", "out", "contrast:1,3")


class _Hesitant(io.FileIO):
    def write(self, data: Any) -> int:
        return super().write(memoryview(data)[: max(1, len(data) // 2)])


def test_a_line_that_the_disk_takes_in_pieces_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    hesitant = lambda handle, *_, **__: _Hesitant(handle, "ab")  # noqa: E731
    monkeypatch.setattr(file_lines, "open", hesitant, raising=False)
    hardy.corrupt_files("coco", "out", "contrast:1,3")
    assert len(lines()) == 6


def test_what_a_kill_left_unfinished_is_removed() -> None:
    Path("out/contrast/3/images/train").mkdir(parents=True)
    left = [Path("out", name, f".0123{UNFINISHED}") for name in (".", "contrast/3/images/train")]
    for path in left:
        path.write_bytes(b"half of")
    hardy.corrupt_files("coco", "out", "contrast:1,3")
    assert not any(path.exists() for path in left)


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


@pytest.mark.parametrize("change", ["seed", "severity", "source", "output", "stranger"])
def test_nothing_is_overwritten_unasked(change: str) -> None:
    hardy.corrupt_files("coco", "out", "contrast", 2)
    wanted = {"name": "contrast", "severity": 2}
    if change == "seed":
        wanted["seed"] = 1
    elif change == "severity":
        wanted["severity"] = 3
    elif change == "source":
        Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save("coco/images/train/0001.jpg")
    elif change == "output":
        Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save("out/images/train/0001.png")
    else:  # as 0.1.0 left it, or another program
        Path("out", CORRUPTED).unlink()
    before = stamps("out")
    with pytest.raises(hardy.InputError, match=r"0001.png is there already.*`overwrite=True`"):
        hardy.corrupt_files("coco", "out", **wanted)
    assert stamps("out") == before
    hardy.corrupt_files("coco", "out", **wanted, overwrite=True)
    assert hardy.corrupt_files("coco", "out", **wanted).kept == 3
    assert len(lines()) == 3


def test_one_file_is_not_overwritten_either() -> None:
    clean = "coco/images/train/0001.jpg"
    assert hardy.corrupt_files(clean, "out.png", "contrast", 2).done == 1
    assert hardy.corrupt_files(clean, "out.png", "contrast", 2).kept == 1
    with pytest.raises(hardy.InputError, match=r"out\.png is there already"):
        hardy.corrupt_files(clean, "out.png", "contrast", 3)
    assert hardy.corrupt_files(clean, "out.png", "contrast", 3, overwrite=True).done == 1
    assert hardy.corrupt_files(clean, ".", "contrast", 3, keep_format=True).written.name[4:] == (
        ".jpg"
    )


def test_somebody_elses_lines_are_refused() -> None:
    Path("out").mkdir()
    Path("out", CORRUPTED).write_text('{"mine": 1}\n')
    with pytest.raises(hardy.InputError, match="expected the lines that `hardy corrupt` writes"):
        hardy.corrupt_files("coco", "out", "contrast", 2)


def test_one_process_at_a_time_writes_into_a_folder() -> None:
    def second(items, *_):
        with pytest.raises(InputError, match="another process is writing to out"):
            hardy.corrupt_files("coco", "out", "brightness:1")
        yield from items

    assert hardy.corrupt_files("coco", "out", "contrast:1", track=second).done == 3
    assert len(lines()) == 3
    assert [name for name in tree("out") if not name.endswith(".png")] == [CORRUPTED]


def test_a_source_that_is_gone_is_listed_and_its_output_kept() -> None:
    hardy.corrupt_files("coco", "out", "contrast:1")
    before = lines()
    source = Path("coco/images/train/0001.jpg")
    source.unlink()
    source.symlink_to("nowhere.jpg")
    made = hardy.corrupt_files("coco", "out", "contrast:1")
    assert (made.done, made.kept) == (0, 2)
    assert made.bad == [f"cannot read {source}: No such file or directory"]
    assert lines() == before


def test_the_same_images_in_two_formats_are_not_mixed() -> None:
    hardy.corrupt_files("coco", "out", "contrast:1-2")
    before = stamps("out")
    what = {"keep_format": True}
    with pytest.raises(InputError, match=r"0001\.png is there already, and 3 more are"):
        hardy.corrupt_files("coco", "out", "contrast:1-2", **what)
    assert stamps("out") == before
    assert hardy.corrupt_files("coco", "out", "contrast:1-2", **what, overwrite=True).done == 4
    hardy.corrupt_files("coco", "kept", "contrast:1-2", **what)
    assert tree("out") == tree("kept")
    assert sorted(map(str, lines())) == sorted(map(str, lines("kept")))


def test_what_is_there_is_compared_under_the_eyes_of_the_track() -> None:
    seen: list[tuple[str, int]] = []

    def track(items, total, unit, *_):
        seen.append((unit, total))
        return items

    hardy.corrupt_files("coco", "out", "contrast:1-2", track=track)
    hardy.corrupt_files("coco", "out", "contrast:1-2", track=track)
    assert seen[-2:] == [("images compared", 3), ("images", 3)]


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
