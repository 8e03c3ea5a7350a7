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

from hardy.errors import HardyError
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
