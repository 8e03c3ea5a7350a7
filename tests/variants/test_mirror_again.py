"""`hardy.corrupt_files` where something is there already: resuming, no overwriting."""

from __future__ import annotations

import errno
import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.errors import HardyError, InputError
from hardy.files import UNFINISHED
from hardy.variants import file_lines
from hardy.variants.mirror_manifest import CORRUPTED
from tests.variants.mirrored import coco, lines, stamps, tree

__all__ = ["coco"]


def test_the_same_work_is_resumed() -> None:
    hardy.corrupt_files("coco", "whole", "contrast:1-2")

    def stop(items, *_):
        yield from list(items)[:2]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        hardy.corrupt_files("coco", "out", "contrast:1-2", track=stop)
    before = stamps("out")
    assert len(before) == 6  # two images under two severities, their lines, and that there is more
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
