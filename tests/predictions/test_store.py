"""What was written comes back, whatever order and however many sessions it took."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hardy.errors import InputError
from hardy.predictions import parts, writer
from hardy.predictions.store import StoredRun, contents_hash, find_runs, open_run
from hardy.suites.cells import CLEAN, Cell
from hardy.whole import UNFINISHED
from tests.predictions.stores import (
    CELLS,
    TILT,
    WIDTH,
    extend,
    identity,
    labels_of,
    opened,
    pixels_of,
    predict,
)

NAMES = ["b/2", "a/1", "naïve", "<b>bold</b>", "back\\slash", "\udcff\udc80", "\\udcff", "🦊"]


@pytest.fixture(autouse=True)
def many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each addition is a file, and of every three one is made."""
    monkeypatch.setattr(writer, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(parts, "MERGED", 3)


def files(run: StoredRun) -> list[Path]:
    return sorted((run.folder / "parts").iterdir())


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
    run = extend(tmp_path, range(30), CELLS[:3])  # nine files
    assert [path.name for path in files(run)] == [
        "000001-000003.parquet",
        "000004-000006.parquet",
        "000007-000009.parquet",
    ]
    check(run, CELLS[:3])


def test_killed_while_merged_files_were_removed(tmp_path: Path) -> None:
    run = extend(tmp_path, range(20), CELLS[:1])
    kept = {path: path.read_bytes() for path in files(run)}
    run = extend(tmp_path, range(30), CELLS[:1])
    assert [path.name for path in files(run)] == ["000001-000003.parquet"]
    before = contents_hash(run)
    for path, data in kept.items():
        path.write_bytes(data)
    (run.folder / "parts" / f".000004.parquet{UNFINISHED}").write_bytes(b"half a part")
    (run.folder / f".run.json{UNFINISHED}").write_bytes(b"{")
    (run.folder / f".images.parquet{UNFINISHED}").write_bytes(b"PAR")
    (run.folder / ".mine.json").touch()
    (run.folder / "parts" / ".mine.parquet").touch()
    assert contents_hash(open_run(run.folder)) == before
    run = extend(tmp_path, range(30), CELLS[:1])
    assert [path.name for path in files(run)] == [".mine.parquet", "000001-000003.parquet"]
    assert sorted(path.name for path in run.folder.iterdir()) == [
        ".mine.json",
        "images.parquet",
        "lock",
        "parts",
        "run.json",
    ]
    assert contents_hash(run) == before


def test_merged_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from hardy.predictions import store

    run = extend(tmp_path, range(20), CELLS[:1])
    list_parts = store.list_parts

    def merge_after(folder: Path) -> Any:
        found = list_parts(folder)
        monkeypatch.setattr(store, "list_parts", list_parts)
        extend(tmp_path, range(30), CELLS[:1])
        return found

    monkeypatch.setattr(store, "list_parts", merge_after)
    check(run, CELLS[:1])


@pytest.mark.parametrize("damage", ["truncate", "empty", "foreign"])
def test_a_damaged_file_is_named_and_can_be_made_again(damage: str, tmp_path: Path) -> None:
    run = extend(tmp_path, range(50), CELLS)
    before, path = contents_hash(run), files(run)[1]
    damaged = {
        "truncate": path.read_bytes()[:-100],
        "empty": b"",
        "foreign": (run.folder / "images.parquet").read_bytes(),
    }
    path.write_bytes(damaged[damage])
    message = rf"{path} is damaged \(.*\); delete it, and the same `hardy eval` makes"
    with pytest.raises(InputError, match=message):
        run.read(CELLS[:1], ["rank"])
    with pytest.raises(InputError, match=message):
        extend(tmp_path, range(50), CELLS)
    path.unlink()
    assert contents_hash(extend(tmp_path, range(50), CELLS)) == before


def test_a_flipped_bit_never_gives_other_numbers(tmp_path: Path) -> None:
    run = extend(tmp_path, range(10), CELLS[:1])
    before, (path,) = contents_hash(run), files(run)
    data = path.read_bytes()
    found = 0
    for place in range(4, len(data), 37):
        path.write_bytes(data[:place] + bytes([data[place] ^ 16]) + data[place + 1 :])
        try:
            now = contents_hash(open_run(run.folder))
        except InputError:
            found += 1
        else:
            assert now == before, "it was a bit that means nothing"
    assert found > len(data) / 37 / 3


def test_finding_runs(tmp_path: Path) -> None:
    store = tmp_path / "store"
    with pytest.raises(InputError, match="which is not there; `hardy eval` with --store"):
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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"store": 2}', "expected a store of version 1, got 2; read it with"),
        ("[]", "expected a store of version 1, got None"),
        ('{"store', "expected JSON, but"),
        ("[" * 100_000, "expected JSON, but"),
    ],
)
def test_another_version(text: str, message: str, tmp_path: Path) -> None:
    run = extend(tmp_path, range(3), CELLS[:1])
    (run.folder / "run.json").write_text(text)
    for attempt in (lambda: find_runs(tmp_path), lambda: opened(tmp_path, range(3))):
        with pytest.raises(InputError, match=message):
            attempt()
    assert (run.folder / "run.json").read_text() == text


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": 5}, "model: expected text, got 5"),
        ({"seed": -1}, "seed: expected a whole number from 0 or null, got -1"),
        ({"seed": True}, "seed: .*got True"),
        ({"suite_version": "1"}, "suite_version: expected a whole number above 0, got '1'"),
        ({"labels": []}, 'labels: expected "suite" or "own"'),
        ({"classes": "cat"}, "classes: expected a list of texts or null, got 'cat'"),
        ({"classes": ["cat", None]}, "classes: expected a list of texts or null"),
        ({"width": 0}, "width: expected a whole number above 0 or null, got 0"),
        ({"frames": {"tilt:1": None}}, "frames: expected a table of whole numbers above 0"),
        ({"frames": []}, "frames: expected a table"),
        ({"sessions": None}, "sessions: expected a list of tables, got None"),
        ({"sessions": [1]}, "sessions: expected a list of tables, got .1."),
        ({"store": True}, "expected a store of version 1, got True"),
    ],
)
def test_a_field_of_the_wrong_kind(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    run = extend(tmp_path, range(3), CELLS[:1])
    path = run.folder / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    for attempt in (lambda: find_runs(tmp_path), lambda: opened(tmp_path, range(3))):
        with pytest.raises(InputError, match=rf"^{path}: {message}.*another store$"):
            attempt()


def test_a_field_that_is_missing(tmp_path: Path) -> None:
    run = extend(tmp_path, range(3), CELLS[:1])
    path = run.folder / "run.json"
    whole = json.loads(path.read_text())
    for name in whole.keys() - {"store", "defence", "batches"}:
        path.write_text(json.dumps({key: whole[key] for key in whole if key != name}))
        with pytest.raises(InputError, match=f"{path}: {name}: expected .*, got nothing; restore"):
            find_runs(tmp_path)


def test_a_run_from_before_there_were_defences(tmp_path: Path) -> None:
    run = extend(tmp_path, range(3), CELLS[:1])
    path = run.folder / "run.json"
    whole = json.loads(path.read_text())
    del whole["defence"], whole["batches"]
    path.write_text(json.dumps(whole))
    (again,) = find_runs(tmp_path)
    assert (again.defence, again.adapted) == (None, False)
    assert again.identity.hash() == whole["identity"]


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("image", pa.array(["x"]), "expected image as int64, got string"),
        ("image", pa.array([1.5]), "expected image as int64 or string, got double"),
        ("corruption", pa.array([None], pa.string()), r"\d+ rows have no corruption"),
        ("corruption", pa.array([1]), "expected corruption as string, got int64"),
        ("severity", pa.array([-3], pa.int8()), "expected severity from 0, got -3"),
        ("severity", pa.array(["1"]), "expected severity as int8, got string"),
        ("severity", pa.array([None], pa.int8()), r"\d+ rows have no severity"),
        ("frame", pa.array([-1], pa.int16()), "expected frame from 0, got -1"),
        ("frame", pa.array([1], pa.int16()), "expected frame below 1, got 1"),
        ("rank", pa.array([-7], pa.int32()), "expected rank from -1, got -7"),
        ("log_prob", pa.array([0.0]), "expected log_prob as float, got double"),
    ],
)
def test_a_part_of_the_wrong_kind(
    column: str, value: pa.Array, message: str, tmp_path: Path
) -> None:
    run = extend(tmp_path, range(30))
    path = files(run)[-1]
    rows = pq.read_table(path)
    values = value.take(pa.array([0] * len(rows)))
    pq.write_table(rows.set_column(rows.schema.get_field_index(column), column, values), path)
    named = rf"^{path} is damaged \({message}\); delete it, and the same `hardy eval` makes what"
    with pytest.raises(InputError, match=named):
        open_run(run.folder).read(CELLS, ["rank", "log_prob"])


def test_a_file_in_place_of_the_parts(tmp_path: Path) -> None:
    run = extend(tmp_path, range(3), CELLS[:1])
    shutil.rmtree(run.folder / "parts")
    (run.folder / "parts").touch()
    with pytest.raises(
        InputError, match="parts: expected a folder of predictions, got a file; del"
    ):
        _ = open_run(run.folder).cells


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
    assert details["frames"] == {"tilt:1": 5}
    assert max(row["class_5"] for row in rows) < WIDTH
