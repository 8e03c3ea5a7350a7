"""What was written comes back, whatever order and however many sessions it took."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from hardy.errors import InputError
from hardy.files import UNFINISHED
from hardy.store import sessions
from hardy.store.reader import StoredRun, find_runs, open_run
from hardy.suites.cells import CLEAN, Cell
from tests.records import read_unsealed
from tests.store.stores import (
    CELLS,
    TILT,
    WIDTH,
    contents_hash,
    extend,
    files,
    identity,
    labels_of,
    opened,
    pixels_of,
    predict,
)

pytestmark = pytest.mark.usefixtures("many_files")

NAMES = ["b/2", "a/1", "naïve", "<b>bold</b>", "back\\slash", "\udcff\udc80", "\\udcff", "🦊"]


def check(run: StoredRun, cells: list[Cell], frames: int | None = None) -> None:
    """All columns, against what was predicted."""
    columns = ["rank", "log_prob", "square_sum", "top5", "top5_prob", "zipf", "label", "pixels"]
    got = run.read(cells, [*columns, "top1", "confidence"])
    shape = (len(run.ids), len(cells), *([frames] if frames else []))
    for column, cell in enumerate(cells):
        wanted: dict[str, Any] = predict(run.ids, cell, frames)
        wanted.setdefault("zipf", np.full((len(run.ids), 4), np.nan, np.float32))
        wanted["label"] = np.repeat(labels_of(run.ids), frames or 1)
        wanted["pixels"] = np.repeat(pixels_of(run.ids), frames or 1)
        wanted["top1"], wanted["confidence"] = wanted["top5"][:, 0], wanted["top5_prob"][:, 0]
        assert wanted.keys() == got.keys()
        for name, values in wanted.items():
            assert got[name].dtype == values.dtype
            assert got[name].shape[: len(shape)] == shape
            np.testing.assert_array_equal(
                got[name][:, column].reshape(values.shape), values, err_msg=name
            )


@pytest.mark.parametrize("ids", [list(range(25)), [f"{i:02d}" for i in range(25)], NAMES])
def test_round_trip(ids: list[Any], tmp_path: Path) -> None:
    run = extend(tmp_path, ids, [*CELLS, TILT])
    assert run.ids == sorted(ids)
    assert run.labels.tolist() == labels_of(run.ids).tolist()
    assert run.cells == tuple(sorted([*CELLS, TILT]))
    assert (run.model, run.suite, run.classes) == ("fake:7", "cifar10_c", None)
    check(run, CELLS)
    check(run, CELLS[::-2])
    check(run, [TILT], frames=5)
    with pytest.raises(InputError, match=r"one number of frames, got clean:0, tilt:1"):
        run.read([CLEAN, TILT], ["rank"])


def test_some_images(tmp_path: Path) -> None:
    extend(tmp_path, range(10, 20), CELLS[:2])
    run = extend(tmp_path, range(30), CELLS[:1])
    assert run.complete(CELLS[:1]).all()
    assert run.complete([]).all()
    assert np.flatnonzero(run.complete(CELLS[:2])).tolist() == list(range(10, 20))
    assert not run.complete(CELLS).any()
    chosen = np.array([17, 11])
    got = run.read(CELLS[:2], ["rank", "top5"], chosen)
    whole = run.read(CELLS[:2], ["rank", "top5"], np.arange(10, 20))
    assert got["top5"].shape == (2, 2, 5)
    np.testing.assert_array_equal(got["rank"], whole["rank"][[7, 1]])
    with pytest.raises(InputError, match=r"for all 30 images .* but 20 lack some; the same"):
        run.read(CELLS[:2], ["rank"])
    with pytest.raises(InputError, match='unknown column "ranks"'):
        run.read(CELLS[:1], ["ranks"])


def test_the_same_contents_in_any_order_and_number_of_sessions(tmp_path: Path) -> None:
    whole = extend(tmp_path / "whole", range(30), [*CELLS, TILT])
    extend(tmp_path / "grown", range(20, 30), CELLS[2:])
    extend(tmp_path / "grown", range(15, 30), CELLS[:1], batch=4)
    extend(tmp_path / "grown", [25, 22], CELLS)  # some of them
    grown = extend(tmp_path / "grown", range(30)[::-1], [TILT, *CELLS], batch=7)
    assert contents_hash(grown) == contents_hash(whole)
    assert grown.ids == whole.ids
    more = extend(tmp_path / "grown", range(31), CELLS[:1])
    assert contents_hash(more) != contents_hash(whole)


def test_nothing_is_added_twice(tmp_path: Path) -> None:
    run = extend(tmp_path, range(12))
    before = {path: path.read_bytes() for path in files(run)}
    assert files(extend(tmp_path, range(12))) == list(before)
    assert sum(pq.read_metadata(path).num_rows for path in before) == 12 * len(CELLS)
    assert all(path.read_bytes() == data for path, data in before.items())


def test_later_files_win(tmp_path: Path) -> None:
    run = extend(tmp_path, range(12))
    other = predict(range(100, 103), CELLS[1])
    with opened(tmp_path, range(12)) as again:
        again.add(np.arange(3), CELLS[1], other)
    got = run.read([CELLS[1]], ["log_prob", "rank", "pixels"])
    np.testing.assert_array_equal(got["log_prob"][:3, 0], other["log_prob"])
    np.testing.assert_array_equal(got["rank"][3:, 0], predict(range(3, 12), CELLS[1])["rank"])


def test_merged_files(tmp_path: Path) -> None:
    run = extend(tmp_path, range(30), CELLS[:3])  # nine parts
    assert [pq.read_metadata(path).num_rows for path in files(run)] == [30, 30, 30]
    check(run, CELLS[:3])


def test_a_part_that_no_session_lists_does_not_exist(tmp_path: Path) -> None:
    run = extend(tmp_path, range(20), CELLS[:1])
    for path in (run.folder / "sessions").iterdir():
        record = read_unsealed(path)
        path.write_text(json.dumps(record | {"parts": record["parts"][:1]}))
    assert len(files(run)) == 2
    assert open_run(run.folder).complete(CELLS[:1]).sum() == 10
    again = extend(tmp_path, range(20), CELLS[:1])
    assert files(again) == files(run), "what is made again has the same name"
    assert again.complete(CELLS[:1]).all()


def test_many_may_write_at_once(tmp_path: Path) -> None:
    whole = extend(tmp_path / "whole", range(30), [*CELLS, TILT])
    store = tmp_path / "shared"
    with (
        opened(store, range(30), shared=True) as one,
        opened(store, range(30), shared=True) as two,
    ):
        for start in range(0, 30, 5):
            for cell in (*CELLS, TILT):
                rows = np.arange(start, start + 5)
                made = predict(rows.tolist(), cell, 5 if cell == TILT else None)
                for writer in (one, two) if start == 10 else (one,) if start < 10 else (two,):
                    writer.add(rows, cell, made, pixels_of(rows.tolist()))
    shared = open_run(one.folder)
    assert one.folder == two.folder
    assert contents_hash(shared) == contents_hash(whole)


def test_what_killed_processes_left_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = extend(tmp_path, range(20), CELLS[:1])
    kept = {path: path.read_bytes() for path in files(run)}
    run = extend(tmp_path, range(30), CELLS[:1])
    with opened(tmp_path, range(30)) as writer:
        writer.commit([path.name for path in files(run)])  # three: they are merged
    (merged,) = files(run)
    before = contents_hash(run)
    for path, data in kept.items():
        path.write_bytes(data)
    (run.folder / "parts" / f".a{UNFINISHED}").write_bytes(b"half a part")
    (run.folder / f".b{UNFINISHED}").write_bytes(b"{")
    (run.folder / ".mine.json").touch()
    (run.folder / "parts" / ".mine.parquet").touch()
    assert contents_hash(open_run(run.folder)) == before
    run = extend(tmp_path, range(30), CELLS[:1])
    assert len(list(run.folder.rglob(f".*{UNFINISHED}"))) == 2, "somebody may be writing them"
    monkeypatch.setattr(sessions, "STALE_SECONDS", -1.0)
    run = extend(tmp_path, range(30), CELLS[:1])
    listed = {name for one in sessions.read_sessions(run.folder) for name in one.parts}
    assert {path.name for path in files(run)} - {".mine.parquet"} <= listed
    assert merged in files(run)
    assert sorted(path.name for path in run.folder.iterdir()) == [
        ".mine.json", "images.parquet", "lock", "parts", "run.json", "sessions",
    ]  # fmt: skip
    assert contents_hash(run) == before


@pytest.mark.parametrize("by", ["a reader", "another writer"])
def test_merged_while_it_is_read(by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hardy.store import scan as batches

    with opened(tmp_path, range(30), shared=True) as writer:
        for start in (0, 10):
            some = list(range(start, start + 10))
            writer.add(np.array(some), CELLS[0], predict(some, CELLS[0]), pixels_of(some))
        run = open_run(writer.folder)
        list_parts = batches.parts_that_count

        def merge_after(folder: Path) -> Any:
            found = list_parts(folder)
            monkeypatch.setattr(batches, "parts_that_count", list_parts)
            rest = list(range(20, 30))
            writer.add(np.array(rest), CELLS[0], predict(rest, CELLS[0]), pixels_of(rest))
            assert len(files(run)) == 1
            return found

        monkeypatch.setattr(batches, "parts_that_count", merge_after)
        if by == "another writer":
            with opened(tmp_path, range(30), shared=True) as other:
                assert other.have(CELLS[:1]).all()
        check(run, CELLS[:1])


def test_finding_runs(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with pytest.raises(InputError, match="which is not there; `hardy eval --store` makes one"):
        find_runs(store)
    (store / "unfinished" / "parts").mkdir(parents=True)
    with pytest.raises(InputError, match=r"expected predictions in .*store, found none"):
        find_runs(store)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="which is a file"):
        find_runs(tmp_path / "file")
    with pytest.raises(InputError, match="expected the folder of a run"):
        open_run(tmp_path)
    first = extend(store, range(3), CELLS[:1])
    with opened(store, ["x"], identity=identity(model="another", seed=1)) as second:
        pass
    assert [run.model for run in find_runs(store)] == ["another", "fake:7"]
    assert [run.folder for run in find_runs(first.folder)] == [first.folder]
    assert find_runs(second.folder)[0].cells == ()


def test_a_run_from_before_there_were_defences(tmp_path: Path) -> None:
    run = extend(tmp_path, range(3), CELLS[:1])
    path = run.folder / "run.json"
    whole = read_unsealed(path)
    del whole["defence"], whole["batches"]
    path.write_text(json.dumps(whole))
    (again,) = find_runs(tmp_path)
    assert (again.defence, again.adapted) == (None, False)
    assert again.identity.hash() == whole["identity"]


def test_others_can_read_it_too(tmp_path: Path) -> None:
    """A row per prediction, in plain columns."""
    run = extend(tmp_path, NAMES[:4], CELLS[:2])
    rows = pq.read_table(run.folder / "parts").to_pylist()
    assert len(rows) == 8
    first = next(row for row in rows if row["image"] == "naïve" and row["corruption"] == "fog")
    wanted = predict(["naïve"], CELLS[1])
    assert first["severity"] == 1
    assert first["class_1"] == wanted["top5"][0, 0]
    assert first["prob_5"] == wanted["top5_prob"][0, 4]
    details = json.loads((run.folder / "run.json").read_text())
    assert details["identity"] == identity().hash()
    (session,) = (run.folder / "sessions").iterdir()
    assert json.loads(session.read_text())["run"]["frames"] == {"tilt:1": 5}
    assert max(row["class_5"] for row in rows) < WIDTH
