"""Folders, checkpoints and nets that are not what a run expects: said before anything is lost."""

from __future__ import annotations

import json
import math
import multiprocessing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from hardy.errors import HardyError, InputError
from hardy.files import write_record
from hardy.train import loop
from hardy.train.checkpoint import read_tensors, write_tensors
from hardy.train.loop import run_training
from hardy.train.record import training_in
from hardy.train.run_folder import CHECKPOINT, MODEL, RUN, read_run
from hardy.train.trained_model import trained_net
from hardy.train.training_data import read_data
from tests.records import read_unsealed
from tests.train.small import CPU, NARROW, narrow, small_data
from tests.train.test_loop import killed_in

__all__ = ["narrow"]


def test_what_is_busy_elsewhere_is_not_taken_for_another_training(tmp_path, monkeypatch) -> None:
    with pytest.raises(BlockingIOError, match="busy"), training_in(tmp_path / "run"):
        raise BlockingIOError(11, "busy")

    def no_locks(*of) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr("fcntl.flock", no_locks)
    match = r"without locks \(Operation not supported\); name"
    with pytest.raises(InputError, match=match), training_in(tmp_path / "run"):
        raise AssertionError("not reached")


def _hold(folder: str, held, done) -> None:
    with training_in(Path(folder)):
        held.set()
        done.wait(600)


def test_one_process_at_a_time(tmp_path, narrow) -> None:
    context = multiprocessing.get_context("spawn")
    held, done = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(str(tmp_path / "run"), held, done))
    other.start()
    assert held.wait(600)
    try:
        with pytest.raises(InputError, match="another process is training in"):
            run_training("standard", small_data(tmp_path), tmp_path / "run", NARROW)
    finally:
        done.set()
        other.join()
    run_training("standard", small_data(tmp_path), tmp_path / "run", NARROW)


def test_what_a_kill_in_the_first_instant_leaves_is_no_run(tmp_path, narrow) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / ".abc.hardy-unfinished").write_bytes(b"")
    assert run_training("standard", small_data(tmp_path), tmp_path / "run", NARROW).epochs == 2


def test_a_kill_after_the_last_save_leaves_no_checkpoint_for_ever(
    tmp_path, monkeypatch, narrow
) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    data, out = small_data(tmp_path), tmp_path / "out"

    def killed(path: Path, **_: bool) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", killed)
        with pytest.raises(KeyboardInterrupt):
            run_training("standard", data, out, NARROW)
    assert {MODEL, CHECKPOINT} <= {path.name for path in out.iterdir()}
    assert run_training("standard", data, out, NARROW).epochs == 0
    assert CHECKPOINT not in {path.name for path in out.iterdir()}
    assert MODEL in {path.name for path in out.iterdir()}


def test_a_method_that_would_never_begin(tmp_path, narrow) -> None:
    def begun_in(start: str) -> int:
        data, settings = small_data(tmp_path), {"start": start}
        return run_training(
            "groupwise_inhibition", data, tmp_path / start, NARROW, settings=settings
        ).epochs

    message = (
        "expected start below the 6 steps of the run, .* got 6; train for longer, or bring another"
    )
    with pytest.raises(InputError, match=message):
        begun_in("6")
    assert not (tmp_path / "6").exists()
    assert begun_in("5") == 2


def test_a_full_disk_before_anything_was_saved(tmp_path, narrow, monkeypatch) -> None:
    def full(target: Path, content: bytes, todo: str) -> None:
        raise HardyError(todo)

    monkeypatch.setattr(loop, "SAVE_SECONDS", math.inf)
    monkeypatch.setattr("hardy.train.run_folder.write_file", full)
    with pytest.raises(HardyError, match=r"nothing had been saved; .* trains from the beginning"):
        run_training("standard", small_data(tmp_path), tmp_path / "out", NARROW)


@pytest.mark.parametrize(
    "log",
    [
        *("null", "5", "[1, 2]", '[{"epoch": 2}]', "[]", '[{"epoch": "a"}]', '[{"epoch": 1}]'),
        '[{"epoch": 1, "loss": "?", "lr": 1, "seconds": 1, "images_per_second": 1}]',
        pytest.param("[" * 100_000, id="deep"),
    ],
)
def test_a_checkpoint_with_another_log(tmp_path, narrow, monkeypatch, log) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    data, out = small_data(tmp_path), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", data, out, NARROW, track=killed_in(2))
    path = out / "checkpoint.safetensors"
    tensors, notes = read_tensors(path)
    write_tensors(path, tensors, {**notes, "log": log})
    with pytest.raises(InputError, match="is no checkpoint of this run"):
        run_training("standard", data, out, NARROW)


def test_a_checkpoint_of_another_run(tmp_path, narrow, monkeypatch) -> None:
    """It is of the same net; what that has seen would not be told."""
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    data = small_data(tmp_path)
    for method in ("gauss_mult", "standard"):
        with pytest.raises(KeyboardInterrupt):
            run_training(method, data, tmp_path / method, NARROW, track=killed_in(2))
    noisy, plain = (tmp_path / method / CHECKPOINT for method in ("gauss_mult", "standard"))
    plain.write_bytes(noisy.read_bytes())
    with pytest.raises(InputError, match=r"no checkpoint of this run .*saved by another.*delete"):
        run_training("standard", data, tmp_path / "standard", NARROW)
    assert run_training("gauss_mult", data, tmp_path / "gauss_mult", NARROW).epochs == 1


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("no memory"),
        RuntimeError("DefaultCPUAllocator: no memory"),
        RuntimeError("OutOfMemoryError: CUDA out of memory"),  # as torch's compiler says it
    ],
)
@pytest.mark.parametrize("followed", [False, True], ids=["alone", "and the recording failed"])
def test_too_little_memory(tmp_path, narrow, monkeypatch, error, followed) -> None:
    def full(*arguments) -> None:
        try:
            raise error
        finally:
            if followed:
                raise RuntimeError("a previous error during capture")

    monkeypatch.setattr(loop.Training, "_update", full)
    with pytest.raises(HardyError, match="memory on cpu to train narrow in batches of 24"):
        run_training("standard", small_data(tmp_path), tmp_path / "out", NARROW)


def test_other_errors_are_not_taken_for_it(tmp_path, narrow, monkeypatch) -> None:
    def broken(*arguments) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(loop.Training, "_update", broken)
    with pytest.raises(RuntimeError, match="a bug"):
        run_training("standard", small_data(tmp_path), tmp_path / "out", NARROW)


@pytest.mark.parametrize(
    ("name", "spoilt"),
    [
        ("momentum.head.bias", lambda tensor: tensor[:1]),
        ("net.head.weight", lambda tensor: tensor.to(torch.int8)),
    ],
)
def test_a_checkpoint_with_other_tensors(tmp_path, narrow, monkeypatch, name, spoilt) -> None:
    monkeypatch.setattr(loop, "SAVE_SECONDS", 0.0)
    data, out = small_data(tmp_path), tmp_path / "run"
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", data, out, NARROW, track=killed_in(2))
    path = out / "checkpoint.safetensors"
    tensors, notes = read_tensors(path)
    write_tensors(path, tensors | {name: spoilt(tensors[name])}, notes)
    with pytest.raises(InputError, match=r"no checkpoint of this run .*head\.\w+ is .* instead of"):
        run_training("standard", data, out, NARROW)


@pytest.mark.parametrize(
    "content",
    [None, b"{", b"\xff\xfe", b"[" * 100_000, b"", b'{"epoch": 1}\n'],
    ids=["missing", "cut off", "no text", "deep", "empty", "columns"],
)
def test_a_finished_run_whose_log_was_damaged(tmp_path, narrow, content) -> None:
    data, out = small_data(tmp_path), tmp_path / "run"
    run_training("standard", data, out, NARROW)
    (out / "log.jsonl").unlink()
    if content is not None:
        (out / "log.jsonl").write_bytes(content)
    with pytest.raises(InputError, match=r"has finished, .* its log .*log\.jsonl cannot be read"):
        run_training("standard", data, out, NARROW)


def test_a_finished_net_that_was_damaged_is_not_called_finished(tmp_path, narrow) -> None:
    data, out = small_data(tmp_path), tmp_path / "run"
    run_training("standard", data, out, NARROW)
    content = (out / "model.safetensors").read_bytes()
    (out / "model.safetensors").write_bytes(content[:1000])
    with pytest.raises(InputError, match=r"model\.safetensors"):
        run_training("standard", data, out, NARROW)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (("recipe",), None, "recipe: expected a table, got None"),
        (("recipe", "net"), 3, "recipe: net: expected text, got 3"),
        (("data", "classes"), "four", "data: classes: expected a whole number from 1 to 100,000"),
        (("data", "classes"), 10**9, "data: classes: expected a whole number from 1 to 100,000"),
        (("preprocessing", "std"), [10**400] * 3, "preprocessing: std: expected three numbers"),
        (("preprocessing", "mean"), [True] * 3, "preprocessing: mean: expected three numbers"),
        (("recipe", "blur_after_conv"), "no", "blur_after_conv: expected true or false, got 'no'"),
        (("preprocessing", "mean"), ["a", 1, 2], "preprocessing: mean: expected three numbers"),
        (
            ("seen_corruptions",),
            [1],
            r"seen_corruptions: expected a list of texts or null, got \[1\]",
        ),
        (("input",), ["clahe"], "input: expected text or null"),
    ],
)
def test_a_record_that_was_edited(tmp_path, narrow, place, value, message) -> None:
    run_training("standard", small_data(tmp_path), tmp_path / "run", NARROW)
    path = tmp_path / "run" / "run.json"
    run = read_unsealed(path)
    inner = run[place[0]] if len(place) == 2 else run
    inner[place[-1]] = value
    path.write_text(json.dumps(run))
    with pytest.raises(InputError, match=message):
        trained_net(tmp_path / "run")


def test_a_label_far_out(tmp_path) -> None:
    np.savez(tmp_path / "far.npz", images=np.zeros((4, 8, 8, 3), np.uint8), labels=[0, 1, 2, 10**9])
    with pytest.raises(InputError, match="expected labels below 100,000, got 1,000,000,000"):
        read_data(str(tmp_path / "far.npz"), CPU)


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("deterministic", [True, False])
def test_other_threads_are_told_of_where_they_would_give_other_weights(
    deterministic: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, out = small_data(tmp_path / "data"), tmp_path / "out"
    recipe = replace(NARROW, epochs=1, deterministic=deterministic)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 1)
    run_training("standard", data, out, recipe, device=CPU)
    assert read_run(out)["threads"] == 1
    run_training("standard", data, out, recipe, device=CPU)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    if deterministic:
        with pytest.raises(InputError, match="holds another run: threads is 2 and was 1"):
            run_training("standard", data, out, recipe, device=CPU)
    else:
        run_training("standard", data, out, recipe, device=CPU)
    before = {name: value for name, value in read_run(out).items() if name != "threads"}
    write_record(out / RUN, before)
    said: list[str] = []
    run_training("standard", data, out, recipe, device=CPU, say=said.append)
    assert any("how many threads" in line for line in said) == deterministic
