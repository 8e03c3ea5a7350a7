"""Stores that are damaged, or not as Hardy writes them: the file at fault is named."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hardy.errors import InputError
from hardy.store.parts import COLUMNS
from hardy.store.reader import find_runs, open_run
from hardy.store.worst_images import read_worst
from tests.records import read_unsealed
from tests.store.stores import CELLS, WIDTH, contents_hash, extend, files, opened

FLOATS = pa.array([float("nan"), float("-inf"), -0.5, 1.5], pa.float32())

pytestmark = pytest.mark.usefixtures("many_files")


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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"store": 3}', "expected a store of version 2, got 3; read it with"),
        ("[]", "expected a store of version 2, got None"),
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
        ({"suite": "c" * 5000}, "suite: expected the name of a suite, up to 200 letters"),
        ({"suite": "../c"}, "suite: expected the name of a suite, .* without slashes, got '../c'"),
        ({"seed": -1}, "seed: expected a whole number from 0 or null, got -1"),
        ({"seed": True}, "seed: .*got True"),
        ({"suite_version": "1"}, "suite_version: expected a whole number above 0, got '1'"),
        ({"labels": []}, 'labels: expected "suite" or "own"'),
        ({"classes": "cat"}, "classes: expected a list of texts or null, got 'cat'"),
        ({"classes": ["cat", None]}, "classes: expected a list of texts or null"),
        ({"width": 0}, "width: expected a whole number above 0 or null, got 0"),
        ({"frames": {"tilt:1": None}}, "frames: expected a table of whole numbers, from 1"),
        ({"frames": []}, "frames: expected a table"),
        ({"sessions": None}, "sessions: expected a list of tables.*, got None"),
        ({"sessions": [1]}, "sessions: expected a list of tables.*, got .1."),
        ({"store": True}, "expected a store of version 2, got True"),
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
    whole = read_unsealed(path)
    for name in whole.keys() - {"store", "defence", "batches"}:
        path.write_text(json.dumps({key: whole[key] for key in whole if key != name}))
        with pytest.raises(InputError, match=f"{path}: {name}: expected .*, got nothing; restore"):
            find_runs(tmp_path)


pytestmark = pytest.mark.usefixtures("many_files")


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
        ("log_prob", FLOATS[:1], "log_prob cannot be nan where there is a label"),
        ("log_prob", FLOATS[1:2], "log_prob cannot be -inf"),
        ("log_prob", FLOATS[3:], "log_prob cannot be 1.5"),
        ("square_sum", FLOATS[:1], "square_sum cannot be nan"),
        ("square_sum", FLOATS[2:3], "square_sum cannot be -0.5"),
        ("prob_5", FLOATS[:1], "prob_5 cannot be nan"),
        ("prob_1", FLOATS[3:], "prob_1 cannot be 1.5"),
        ("zipf_2", FLOATS[1:2], "zipf_2 cannot be -inf"),
        ("rank", pa.array([7], pa.int32()), "expected rank below 7, got 7"),
        ("class_2", pa.array([8], pa.int32()), "expected class_2 below 7, got 8"),
    ],
)
def test_a_part_of_the_wrong_kind(
    column: str, value: pa.Array, message: str, tmp_path: Path
) -> None:
    run = extend(tmp_path, range(30))
    with opened(tmp_path, range(30)) as writer:
        writer.set_width(WIDTH)
    path = files(run)[-1]
    rows = pq.read_table(path)
    values = value.take(pa.array([0] * len(rows)))
    pq.write_table(rows.set_column(rows.schema.get_field_index(column), column, values), path)
    named = rf"^{path} is damaged \({message}\); delete it, and the same `hardy eval` makes what"
    with pytest.raises(InputError, match=named):
        open_run(run.folder).read(CELLS, tuple(COLUMNS))


@pytest.mark.parametrize("column", ["image", "corruption", "severity", "label"])
def test_a_part_without_a_column(column: str, tmp_path: Path) -> None:
    run = extend(tmp_path, range(3), CELLS[:1])
    (path,) = files(run)
    pq.write_table(pq.read_table(path).drop([column]), path)
    with pytest.raises(InputError, match=rf"is damaged \(there is no column {column}\); delete"):
        _ = open_run(run.folder).cells


def test_labels_that_are_not_those_of_the_images(tmp_path: Path) -> None:
    run = extend(tmp_path, range(30))
    path = files(run)[-1]
    rows = pq.read_table(path)
    place = rows.schema.get_field_index("label")
    pq.write_table(rows.set_column(place, "label", pa.array([5] * len(rows), pa.int32())), path)
    named = rf"^{path} is damaged \(image \d+ has label 5, and \d in images.parquet\); delete it"
    with pytest.raises(InputError, match=named):
        _ = open_run(run.folder).cells
    with pytest.raises(InputError, match=named):
        opened(tmp_path, range(30))


def test_a_file_in_place_of_the_parts(tmp_path: Path) -> None:
    run = extend(tmp_path, range(3), CELLS[:1])
    shutil.rmtree(run.folder / "parts")
    (run.folder / "parts").touch()
    with pytest.raises(
        InputError, match="parts: expected a folder of predictions, got a file; del"
    ):
        _ = open_run(run.folder).cells


@pytest.mark.parametrize("name", ["parts", "images.parquet", "worst.parquet"])
def test_pipes_are_not_waited_for(name: str, tmp_path: Path) -> None:
    run = extend(tmp_path, range(5), CELLS[:1])
    path = files(run)[0] if name == "parts" else run.folder / name
    path.unlink(missing_ok=True)
    os.mkfifo(path)
    with pytest.raises(InputError, match=rf"{path}.*it is no file.*delete it"):
        read_worst(run.folder) if "worst" in name else contents_hash(open_run(run.folder))
