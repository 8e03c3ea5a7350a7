"""Files of a run that can be read, but are not as they were written."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from hardy.errors import InputError
from hardy.models.weight_files import SUM
from hardy.train import loop
from hardy.train.checkpoint import read_tensors, write_tensors
from hardy.train.loop import run_training
from hardy.train.trained_model import trained_net
from tests.train.small import NARROW, narrow, small_data
from tests.train.test_loop import killed_in

__all__ = ["narrow"]

pytestmark = pytest.mark.usefixtures("narrow")

CHECKPOINT, MODEL = "checkpoint.safetensors", "model.safetensors"


@pytest.fixture(autouse=True)
def _save_every_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)


def flip(path: Path, at: int) -> None:
    """The lowest bit of a byte."""
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def without_sum(path: Path) -> None:
    """As earlier versions wrote it."""
    with safe_open(path, "pt") as file:
        notes = {name: note for name, note in file.metadata().items() if name != SUM}
    # Beside it first: tensors that were read may still lie in the file.
    save_file(load_file(path), path.with_name("other"), metadata=notes)
    path.with_name("other").replace(path)


def test_weights_with_a_flipped_bit_are_no_model(tmp_path) -> None:
    data, out = small_data(tmp_path), tmp_path / "run"
    run_training("standard", data, out, NARROW)
    flip(out / MODEL, (out / MODEL).stat().st_size // 2)
    message = r"model\.safetensors is damaged .*; bring back the file, or train anew in another"
    with pytest.raises(InputError, match=message):
        trained_net(out)
    with pytest.raises(InputError, match=message):
        run_training("standard", data, out, NARROW)


def test_weights_with_a_flipped_bit_are_no_start(tmp_path) -> None:
    data, out = small_data(tmp_path), tmp_path / "run"
    run_training("standard", data, out, NARROW)
    flip(out / MODEL, (out / MODEL).stat().st_size // 2)
    with pytest.raises(InputError, match=r"is damaged .*; take another copy of it"):
        run_training("standard", data, tmp_path / "on", NARROW, init=out / MODEL)


def test_a_checkpoint_with_a_flipped_bit_is_not_gone_on_with(tmp_path) -> None:
    data, out = small_data(tmp_path), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", data, out, NARROW, track=killed_in(2))
    flip(out / CHECKPOINT, (out / CHECKPOINT).stat().st_size // 2)
    with pytest.raises(
        InputError, match=r"checkpoint\.safetensors is damaged .*; delete it to begin anew"
    ):
        run_training("standard", data, out, NARROW)
    (out / CHECKPOINT).unlink()
    assert run_training("standard", data, out, NARROW).epochs == 2


def test_files_of_earlier_versions_are_still_read(tmp_path) -> None:
    data, out = small_data(tmp_path), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", data, out, NARROW, track=killed_in(2))
    without_sum(out / CHECKPOINT)
    assert run_training("standard", data, out, NARROW).epochs == 1
    trained = load_file(out / MODEL)
    without_sum(out / MODEL)
    found = trained_net(out)[0].state_dict()
    assert all(torch.equal(found[name], trained[name]) for name in found)


SOME = {
    "a": torch.arange(6.0).view(2, 3),
    "b": torch.tensor(7),
    "c": torch.zeros(0, 4),
    "d": torch.tensor([1.5, -2.0]).bfloat16(),
    "e": torch.arange(24.0).view(1, 2, 3, 4).contiguous(memory_format=torch.channels_last),
}


def test_what_was_written_is_read(tmp_path) -> None:
    write_tensors(tmp_path / "file", SOME, {"log": "[]", "more": "é"})
    tensors, notes = read_tensors(tmp_path / "file")
    assert notes == {"log": "[]", "more": "é"}
    assert tensors.keys() == SOME.keys()
    for name, tensor in SOME.items():
        assert tensors[name].dtype == tensor.dtype
        assert torch.equal(tensors[name], tensor)


@pytest.mark.parametrize(
    ("changed", "notes"),
    [
        ({"b": torch.tensor(8)}, {}),
        ({"a": SOME["a"].view(3, 2)}, {}),
        ({"a": SOME["a"].view(torch.int32)}, {}),
        ({"f": torch.ones(1)}, {}),
        ({}, {"log": "[1]"}),
    ],
    ids=["value", "shape", "type", "name", "note"],
)
def test_the_sum_is_of_all_that_a_file_holds(tmp_path, changed, notes) -> None:
    path = tmp_path / "file"
    write_tensors(path, SOME, {"log": "[]"})
    with safe_open(path, "pt") as file:
        written = file.metadata()
    plain = {name: tensor.contiguous() for name, tensor in {**SOME, **changed}.items()}
    save_file(plain, path, metadata={**written, **notes})
    with pytest.raises(InputError, match="is damaged"):
        read_tensors(path)


@pytest.mark.parametrize(
    ("name", "spoilt"),
    [
        ("method.history", lambda tensor: tensor[0]),
        ("method.kept", lambda tensor: tensor.float()),
    ],
)
def test_a_method_s_own_tensors_are_neither_stretched_nor_cast(tmp_path, name, spoilt) -> None:
    data, out, recipe = small_data(tmp_path), tmp_path / "run", replace(NARROW, epochs=3)
    few = {"restart_steps": "1"}
    with pytest.raises(KeyboardInterrupt):
        run_training("ant", data, out, recipe, settings=few, track=killed_in(3))
    tensors, notes = read_tensors(out / CHECKPOINT)
    write_tensors(out / CHECKPOINT, tensors | {name: spoilt(tensors[name])}, notes)
    with pytest.raises(InputError, match=r"no checkpoint of this run .*(history|kept) is .* inst"):
        run_training("ant", data, out, recipe, settings=few)


@pytest.mark.parametrize("name", ["run.json", "log.jsonl"])
def test_a_pipe_is_not_waited_for(name, tmp_path) -> None:
    data, out = small_data(tmp_path), tmp_path / "out"
    run_training("standard", data, out, NARROW)
    (out / name).unlink()
    os.mkfifo(out / name)
    with pytest.raises(InputError, match=rf"{name}.*it is no file"):
        run_training("standard", data, out, NARROW)
