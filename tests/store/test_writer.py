"""What a store refuses, and what it does not lose."""

from __future__ import annotations

import os
import time
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from hardy.errors import InputError
from hardy.store import sessions, writer
from hardy.store.parts import part_name
from hardy.store.reader import find_runs, open_run
from hardy.suites.cells import Cell
from tests.store.stores import CELLS, TILT, extend, identity, opened, pixels_of, predict


@pytest.mark.parametrize(
    ("ids", "other", "message"),
    [
        (
            range(5, 15),
            {},
            r"5 of its 10 images, such as 0, .* 10 given, and 5 of those, such as 1",
        ),
        (["a"], {}, 'an id is 0 there, and "a" now'),
        (range(3), {"labels": np.array([3, 3, 4])}, "image 2 has label 3 there, and label 4 now"),
        (range(3), {"labels": np.array([3, 3, -1])}, "label 3 there, and no label now"),
        (range(3), {"frames": {TILT: 6}}, "the number of frames of tilt:1 is 6 and was 5"),
        (range(3), {"classes": ("cat", "<b>")}, "class 1 is '<b>' and was 'dog'"),
    ],
)
def test_other_predictions_are_refused(
    ids: Any, other: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with opened(tmp_path, range(10), classes=("cat", "dog")) as first:
        first.add(np.arange(2), CELLS[0], predict(range(2), CELLS[0]))
    before = {path: path.read_bytes() for path in first.folder.rglob("*.*")}
    with pytest.raises(InputError, match=f"holds another run: .*{message}") as raised:
        opened(tmp_path, ids, **other)
    assert str(raised.value).endswith("; ask for the same to resume it, or name another store")
    assert {path: path.read_bytes() for path in first.folder.rglob("*.*")} == before
    extend(tmp_path, range(10))  # the lock is free


def test_class_names_may_become_more(tmp_path: Path) -> None:
    for classes in (None, ("cat",), ("cat", "dog"), ("cat",), None):
        with opened(tmp_path, range(3), classes=classes):
            pass
    assert find_runs(tmp_path)[0].classes == ("cat", "dog")


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, "a"], "ids of one kind, got names and whole numbers"),
        ([], "ids of one kind, got none"),
        ([1, 2, 1], "an id per image, got 2 for 3 images"),
    ],
)
def test_ids_that_cannot_be(ids: list[Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        opened(tmp_path, ids)
    with pytest.raises(InputError, match="expected 2 labels"):
        opened(tmp_path, [1, 2], labels=np.zeros(3, int))
    assert not list(tmp_path.iterdir())


def test_the_same_id_with_other_pixels(tmp_path: Path) -> None:
    extend(tmp_path, ["a", "b", "c"], CELLS[:1])
    rows, message = np.array([2, 1]), 'image "b" has the same id as before, and other pixels'
    with opened(tmp_path, ["c", "a", "b"]) as again:
        again.check_pixels(rows, pixels_of(["b", "a"]))
        again.check_pixels(rows, np.zeros(2, np.uint64))  # unknown
        for attempt in (
            lambda: again.check_pixels(rows, pixels_of(["x", "a"])),
            lambda: again.add(rows, CELLS[1], predict("ba", CELLS[1]), pixels_of(["x", "a"])),
        ):
            with pytest.raises(InputError, match=message):
                attempt()
        again.add(rows, CELLS[2], predict("ba", CELLS[2]), np.zeros(2, np.uint64))
        with pytest.raises(InputError, match=message):  # unknown once is not unknown for good
            again.check_pixels(rows, pixels_of(["x", "a"]))
    assert find_runs(tmp_path)[0].cells == (CELLS[0], CELLS[2])


def test_a_part_of_other_pixels_is_not_taken_over(tmp_path: Path) -> None:
    extend(tmp_path, range(3), CELLS[:1])
    part = f"{7:032x}.parquet"
    with opened(tmp_path, range(3)) as again:
        with pytest.raises(InputError, match="image 1 has the same id as before, and other pixels"):
            again.add_part(part, np.array([1]), np.array([99], np.uint64))
        again.add_part(part, np.array([1]), pixels_of([1]))
    assert part in {name for one in sessions.read_sessions(again.folder) for name in one.parts}
    assert find_runs(tmp_path)[0].cells == (CELLS[0],), "it is listed, and not there"


def test_a_part_of_a_worker_counts_from_the_next_checkpoint(tmp_path: Path) -> None:
    """Teams have it made before they wait, since the next part may come in hours."""
    with opened(tmp_path, range(3), shared=True) as busy:
        for one in (part_name("of a worker"), part_name("of another")):
            busy.add_part(one, np.arange(3), pixels_of(range(3)))
            busy.checkpoint()
            listed = {part for some in sessions.read_sessions(busy.folder) for part in some.parts}
            assert one in listed


@pytest.mark.parametrize(("hours", "kept"), [(23, True), (25, False)])
def test_a_part_that_nobody_lists_is_removed_after_a_day(
    hours: int, kept: bool, tmp_path: Path
) -> None:
    folder = extend(tmp_path, range(3), CELLS[:1]).folder
    left = folder / "parts" / part_name("left")
    left.touch()
    then = time.time() - hours * 3600
    os.utime(left, (then, then))
    sessions.sweep(folder)
    assert left.exists() == kept


def test_the_number_of_classes(tmp_path: Path) -> None:
    with opened(tmp_path, range(3)) as first:
        assert first.width is None
        first.set_width(10)
        first.set_width(10)
        with pytest.raises(InputError, match="for 10 classes, the model now gives 1,000; name"):
            first.set_width(1000)
    with opened(tmp_path, range(3)) as second:
        assert second.width == 10


def test_have(tmp_path: Path) -> None:
    extend(tmp_path, range(4, 8), CELLS[:2])
    with opened(tmp_path, range(10)[::-1]) as more:
        wanted = np.zeros((10, 3), bool)
        wanted[2:6, :2] = True
        np.testing.assert_array_equal(more.have(CELLS[:3]), wanted)
        more.add(np.array([0, 9]), CELLS[2], predict([9, 0], CELLS[2]))
        wanted[[0, 9], 2] = True
        np.testing.assert_array_equal(more.have(CELLS[:3]), wanted)


def test_sessions_are_kept(tmp_path: Path) -> None:
    for device in ("cpu", "cuda:0"):
        with opened(tmp_path, range(3)) as opened_again:
            opened_again.add_session({"device": device})
    sessions = find_runs(tmp_path)[0].details["sessions"]
    assert [session["device"] for session in sessions] == ["cpu", "cuda:0"]


def test_a_run_is_not_a_store(tmp_path: Path) -> None:
    folder = extend(tmp_path, range(3), CELLS[:1]).folder
    with pytest.raises(InputError, match="is a run itself; name the folder above"):
        opened(folder, range(3))


def test_columns_that_do_not_fit_are_not_taken(tmp_path: Path) -> None:
    with opened(tmp_path, range(3)) as first:
        with pytest.raises(ValueError, match="expected 10 rows of"):
            first.add(np.arange(2), TILT, predict(range(2), TILT, 4))
        first.add(np.arange(2), TILT, predict(range(2), TILT, 5))
    assert find_runs(tmp_path)[0].complete([TILT]).tolist() == [True, True, False]


@pytest.mark.parametrize("error", [KeyboardInterrupt, InputError])
def test_what_was_added_is_kept(error: type[BaseException], tmp_path: Path) -> None:
    with pytest.raises(error), opened(tmp_path, range(3)) as first:  # noqa: PT012
        first.add(np.arange(2), CELLS[0], predict(range(2), CELLS[0]))
        raise error
    assert find_runs(tmp_path)[0].complete(CELLS[:1]).tolist() == [True, True, False]
    extend(tmp_path, range(3))


def test_written_every_few_seconds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    with opened(tmp_path, range(9)) as first:
        written = []
        for row in range(9):
            first.add(np.array([row]), CELLS[0], predict([row], CELLS[0]))
            written.append(len(list((first.folder / "parts").iterdir())))
            now += 2.0
    assert written == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert len(list((first.folder / "parts").iterdir())) == 3


def test_memory_is_flat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "GROUP", 2000)
    made = predict(range(200), CELLS[0])
    before = pa.total_allocated_bytes()
    with opened(tmp_path, range(200)) as first:
        tracemalloc.start()
        peaks = []
        for level in range(120):
            first.add(np.arange(200), Cell("fog", level), made)
            if level % 40 == 39:
                peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[-1] < 1.2 * peaks[0]
    assert pa.total_allocated_bytes() - before < 1e6
    assert len(list((first.folder / "parts").iterdir())) == 12


def test_a_name_can_be_printed(tmp_path: Path) -> None:
    with opened(tmp_path, range(3), identity=identity(model="\udcff\n🦊")) as first:
        pass
    assert open_run(first.folder).model == r"\udcff\n🦊"
