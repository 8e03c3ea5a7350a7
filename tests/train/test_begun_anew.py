"""A training that saved nothing yet may be begun anew otherwise, and nothing else may."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hardy.errors import InputError
from hardy.train.loop import run_training
from hardy.train.training_data import Data
from tests.train.small import NARROW, narrow, small_data
from tests.train.test_loop import killed_in

__all__ = ["narrow"]


def only_begun(data: Data, out: Path) -> None:
    """A run that was stopped before it saved anything."""
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", data, out, NARROW, track=killed_in(1))
    assert [path.name for path in out.iterdir()] == ["run.json"]


def test_a_run_that_saved_nothing_yet_may_be_begun_anew_otherwise(tmp_path, narrow) -> None:
    data, out = small_data(tmp_path), tmp_path / "run"
    only_begun(data, out)
    (out / ".abc.hardy-unfinished").write_bytes(b"")
    corrected = replace(NARROW, lr=0.01, epochs=1)
    assert run_training("gauss_single", data, out, corrected, settings={"sigma": "0.2"}).epochs == 1
    found = json.loads((out / "run.json").read_text())
    assert found["method"] == {"name": "gauss_single", "sigma": 0.2}
    assert (found["recipe"]["lr"], found["recipe"]["epochs"]) == (0.01, 1)
    assert not list(out.glob(".*"))
    with pytest.raises(InputError, match=r"holds another run: recipe\.lr is 0\.05 and was 0\.01"):
        run_training(
            "gauss_single", data, out, replace(corrected, lr=0.05), settings={"sigma": "0.2"}
        )


@pytest.mark.parametrize(
    "name", ["checkpoint.safetensors", "model.safetensors", "log.jsonl", "log.csv", "notes.txt"]
)
def test_but_not_where_anything_else_lies(tmp_path, narrow, name) -> None:
    data, out = small_data(tmp_path), tmp_path / "run"
    only_begun(data, out)
    (out / name).write_bytes(b"work")
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(InputError, match=r"holds another run: recipe\.lr is 0\.01 and was 0\.05"):
        run_training("standard", data, out, replace(NARROW, lr=0.01))
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_nor_over_what_is_no_record_of_a_training(tmp_path, narrow) -> None:
    (tmp_path / "run").mkdir()
    record = tmp_path / "run" / "run.json"
    record.write_text('{"format": 1, "model": "onnx:model.onnx"}')
    with pytest.raises(InputError, match="holds another run"):
        run_training("standard", small_data(tmp_path), tmp_path / "run", NARROW)
    assert json.loads(record.read_text())["model"] == "onnx:model.onnx"


def test_nor_over_a_record_whose_method_and_recipe_are_something_else(tmp_path, narrow) -> None:
    (tmp_path / "run").mkdir()
    record = tmp_path / "run" / "run.json"
    record.write_text('{"format": 1, "method": "my precious", "recipe": "two eggs", "data": {}}')
    before = record.read_bytes()
    with pytest.raises(InputError, match="holds another run"):
        run_training("standard", small_data(tmp_path), tmp_path / "run", NARROW)
    assert [path.name for path in record.parent.iterdir()] == ["run.json"]
    assert record.read_bytes() == before


def test_the_record_of_what_was_begun_before_is_kept(tmp_path, narrow) -> None:
    """Its net may be finished, and lie elsewhere."""
    data, out = small_data(tmp_path), tmp_path / "run"
    run_training("standard", data, out, NARROW)
    first = (out / "run.json").read_bytes()
    for name in ("model.safetensors", "log.csv", "log.jsonl"):
        (out / name).rename(tmp_path / name)
    for recipe in (NARROW, replace(NARROW, lr=0.01), replace(NARROW, lr=0.02)):
        with pytest.raises(KeyboardInterrupt):
            run_training("standard", data, out, recipe, track=killed_in(1))
    assert {path.name for path in out.iterdir()} == {"run.json", "run.json.old1", "run.json.old2"}
    assert (out / "run.json.old1").read_bytes() == first
    assert json.loads((out / "run.json.old2").read_text())["recipe"]["lr"] == 0.01


def test_a_folder_instead_of_the_record(tmp_path, narrow) -> None:
    (tmp_path / "run" / "run.json").mkdir(parents=True)
    with pytest.raises(InputError, match=r"run\.json: expected JSON, but it is no file; train"):
        run_training("standard", small_data(tmp_path), tmp_path / "run", NARROW)


def test_nor_while_it_trains(tmp_path, narrow) -> None:
    data, out = small_data(tmp_path), tmp_path / "run"
    refused = []

    def meanwhile(steps, total, unit):
        with pytest.raises(InputError, match="another process is training in") as raised:
            run_training("standard", data, out, replace(NARROW, lr=0.01))
        refused.append(raised.value)
        return steps

    run_training("standard", data, out, NARROW, track=meanwhile)
    assert len(refused) == NARROW.epochs
    assert json.loads((out / "run.json").read_text())["recipe"]["lr"] == NARROW.lr
