"""A run that is stopped within an epoch goes on with the next batch, to the same weights."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch
from torch import nn

from hardy.errors import HardyError, InputError
from hardy.files import write_file
from hardy.models.weight_files import packed, unpacked
from hardy.train import METHODS, NETS, checkpoint
from hardy.train.loop import run_training
from tests.train.small import NARROW, narrow, small_data, write_arrays
from tests.train.test_loop import FEW, killed_in, same, weights

__all__ = ["narrow"]

pytestmark = pytest.mark.usefixtures("narrow")
OPTIONS = {"label_smoothing": 0.1, "mixup": 0.4, "ema": 0.9}


@pytest.fixture
def every_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checkpoint, "WITHIN_SECONDS", 0.0)


@pytest.mark.usefixtures("every_step")
@pytest.mark.parametrize("method", METHODS)
def test_every_method_goes_on_with_the_next_batch(method, tmp_path) -> None:
    data, recipe = small_data(tmp_path), replace(NARROW, deterministic=True, **OPTIONS)
    settings = FEW.get(method)
    whole = run_training(method, data, tmp_path / "whole", recipe, settings=settings)
    with pytest.raises(KeyboardInterrupt):
        run_training(method, data, tmp_path / "cut", recipe, settings=settings, track=killed_in(2))
    seen: list[int] = []

    def counting(steps, total, unit):
        seen.append(total)
        return steps

    last = run_training(method, data, tmp_path / "cut", recipe, settings=settings, track=counting)
    assert seen[-1] == 2  # of three steps the first was done
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
    assert [row["loss"] for row in whole.log] == [row["loss"] for row in last.log]


class Forgetful(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Dropout(0.5), nn.Linear(768, classes))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.layers(pixels)


@pytest.mark.usefixtures("every_step")
def test_dropout_draws_the_same(tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(NETS._objects, "forgetful", lambda classes, halving: Forgetful(classes))
    data, recipe = small_data(tmp_path), replace(NARROW, net="forgetful", deterministic=True)
    run_training("standard", data, tmp_path / "whole", recipe)
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", data, tmp_path / "cut", recipe, track=killed_in(2))
    run_training("standard", data, tmp_path / "cut", recipe)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))


def test_sigterm_saves_and_says_where_it_goes_on(tmp_path) -> None:
    data, recipe = small_data(tmp_path), replace(NARROW, deterministic=True)
    run_training("standard", data, tmp_path / "whole", recipe)
    before = signal.getsignal(signal.SIGTERM)

    def terminated(steps, total, unit):
        for number, step in enumerate(steps):
            if number == 1:
                os.kill(os.getpid(), signal.SIGTERM)
            yield step

    with pytest.raises(HardyError, match=r"SIGTERM; .* goes on after step 2 of 3 in epoch 1$"):
        run_training("standard", data, tmp_path / "cut", recipe, track=terminated)
    assert signal.getsignal(signal.SIGTERM) == before
    run_training("standard", data, tmp_path / "cut", recipe)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))


def test_sigterm_ends_a_run_whose_epochs_have_one_step(tmp_path) -> None:
    data, recipe = small_data(tmp_path), replace(NARROW, batch=64, epochs=3, deterministic=True)
    run_training("standard", data, tmp_path / "whole", recipe)

    def terminated(steps, total, unit):
        os.kill(os.getpid(), signal.SIGTERM)
        return steps

    with pytest.raises(HardyError, match=r"SIGTERM; .* goes on after epoch 1$"):
        run_training("standard", data, tmp_path / "cut", recipe, track=terminated)
    with pytest.raises(HardyError, match=r"SIGTERM; .* goes on after epoch 2$"):
        run_training("standard", data, tmp_path / "cut", recipe, track=terminated)
    assert run_training("standard", data, tmp_path / "cut", recipe, track=terminated).epochs == 1
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))


def test_sigterm_is_heeded_while_a_method_prepares_an_epoch(tmp_path) -> None:
    """A generator's thousand steps would outlast the grace that a cluster gives."""
    data, recipe = small_data(tmp_path), replace(NARROW, deterministic=True)
    few = {"restart_steps": "3"}
    run_training("ant", data, tmp_path / "whole", recipe, settings=few)
    used = 0

    def terminated(steps, total, unit):
        nonlocal used
        for number, step in enumerate(steps):
            if "generator for epoch 2" in unit:
                used += 1
                if number == 1:
                    os.kill(os.getpid(), signal.SIGTERM)
            yield step

    with pytest.raises(
        HardyError, match=r"SIGTERM before the first step of epoch 2; .* last check"
    ):
        run_training("ant", data, tmp_path / "cut", recipe, settings=few, track=terminated)
    assert used == 2
    run_training("ant", data, tmp_path / "cut", recipe, settings=few)
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))


# What somebody wrote into a checkpoint of a step within an epoch: tensors, or notes.
FORGED: list[dict[str, torch.Tensor | str]] = [
    {"within.feed.order": torch.zeros(3, dtype=torch.int64)},
    {"within.feed.order": torch.full((64,), 77)},
    {"within.lent.0": torch.zeros(3)},
    {"within.lent.0": torch.full((5056,), 77, dtype=torch.uint8)},
    {"within.figures.0": torch.tensor([0.0, float("inf")])},
    {"within.method.0.weight": torch.zeros(3)},
    *({"within": said} for said in ("[]", "5", '{"step": Infinity, "seconds": 0}')),
    *({"within": f'{{"step": 1, "seconds": {said}}}'} for said in ("NaN", "-1", '"q"')),
    *({"log": said} for said in ("{}", "null", "0")),
]


@pytest.mark.usefixtures("every_step")
@pytest.mark.parametrize("forged", FORGED)
def test_a_forged_checkpoint_is_refused(forged, tmp_path) -> None:
    method = "ant" if "within.method.0.weight" in forged else "standard"
    data, out, settings = small_data(tmp_path), tmp_path / "out", FEW.get(method)
    with pytest.raises(KeyboardInterrupt):
        run_training(method, data, out, NARROW, settings=settings, track=killed_in(1))
    path = out / "checkpoint.safetensors"
    tensors, notes = unpacked(path, "")
    for name, value in forged.items():
        assert name in (tensors if isinstance(value, torch.Tensor) else notes)
        tensors |= {name: value} if isinstance(value, torch.Tensor) else {}
        notes |= {name: value} if isinstance(value, str) else {}
    write_file(path, packed(tensors, notes, path))
    with pytest.raises(InputError, match=r"is no checkpoint of this run \(.*; delete it"):
        run_training(method, data, out, NARROW, settings=settings)


def test_a_checkpoint_that_lacks_a_part_of_the_epoch_is_refused(tmp_path, every_step) -> None:
    data, out = small_data(tmp_path), tmp_path / "out"
    with pytest.raises(KeyboardInterrupt):
        run_training("standard", data, out, NARROW, track=killed_in(1))
    path = out / "checkpoint.safetensors"
    tensors, notes = unpacked(path, "")
    parts = [name for name in tensors if name.startswith("within.")]
    assert len(parts) == 4
    for name in parts:
        rest = {other: tensor for other, tensor in tensors.items() if other != name}
        write_file(path, packed(rest, notes, path))
        with pytest.raises(InputError, match=r"is no checkpoint of this run \(KeyError"):
            run_training("standard", data, out, NARROW)


KILLED = """
import sys
from tests.train.small import make_narrow
from hardy.train import NETS, checkpoint
import hardy
NETS.add("narrow", make_narrow)
checkpoint.WITHIN_SECONDS = 0.0
hardy.train("standard", data=sys.argv[1], out=sys.argv[2], net="narrow", epochs=20, batch=8,
            deterministic=True, device="cpu", **({"side": 16} if sys.argv[3:] else {}))
"""


@pytest.mark.slow
@pytest.mark.parametrize("streamed", [False, True])
def test_twenty_kills(streamed, tmp_path) -> None:
    """SIGKILL and SIGTERM in turns, whenever some more steps have been saved."""
    source = write_arrays(tmp_path)
    more = ["streamed"] if streamed else []
    command = [sys.executable, "-c", KILLED, str(source)]
    subprocess.run([*command, str(tmp_path / "whole"), *more], check=True)
    saved = tmp_path / "cut/checkpoint.safetensors"
    kills = 0
    for number in range(200):
        running = subprocess.Popen([*command, str(tmp_path / "cut"), *more])
        was = saved.stat().st_mtime_ns if saved.exists() else 0
        changes = 0
        while running.poll() is None and changes < 3 and kills < 20:
            now = saved.stat().st_mtime_ns if saved.exists() else was
            changes, was = changes + (now != was), now
            time.sleep(0.002)
        if running.poll() is None and kills < 20:
            running.send_signal(signal.SIGKILL if number % 2 else signal.SIGTERM)
            kills += 1
        running.wait()
        if (tmp_path / "cut/model.safetensors").exists():
            break
    assert kills == 20
    assert same(weights(tmp_path / "whole"), weights(tmp_path / "cut"))
