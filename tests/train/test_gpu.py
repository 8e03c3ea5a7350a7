"""Training on a GPU, where steps are recorded and replayed; `make test-gpu` runs these."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from hardy.train.data import read_data
from hardy.train.graphs import WARM_UP, Recorded, own_stream
from hardy.train.loop import train
from hardy.train.methods import METHODS
from tests.train.small import NARROW, narrow, write_arrays

__all__ = ["narrow"]

pytestmark = [
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA"),
    # torch's compiler imports what torch itself has deprecated.
    pytest.mark.filterwarnings("ignore:.*torch.jit.script_method:DeprecationWarning"),
]
GPU = torch.device("cuda")
# What would take minutes at its default.
QUICK = {"ant": {"restart_steps": "5"}, "ant3x3": {"restart_steps": "5"}}
NEEDED = {"corrupted": {"suite": "cifar10_c", "corruption": "fog"}}


def walk(calls: int, *, recorded: bool) -> torch.Tensor:
    """A random walk with the steps of `calls` inputs."""
    generator = torch.Generator(GPU).manual_seed(1)
    place = torch.zeros(8, device=GPU)

    def move(by: torch.Tensor) -> None:
        place.add_(by * torch.rand(8, generator=generator, device=GPU))

    with own_stream(GPU):
        step = Recorded(move, generator) if recorded else move
        for number in range(calls):
            step(torch.full((8,), float(number), device=GPU))
    torch.cuda.synchronize()
    return place


@pytest.mark.parametrize("calls", [WARM_UP, WARM_UP + 1, WARM_UP + 9])
def test_what_is_replayed_is_what_would_have_been_done(calls) -> None:
    assert torch.equal(walk(calls, recorded=True), walk(calls, recorded=False))


def test_a_recorded_run_learns_as_a_plain_one(tmp_path, narrow) -> None:
    data = read_data(str(write_arrays(tmp_path, count=24 * 12 + 7)), GPU)
    recipe = replace(NARROW, epochs=4)
    losses = {}
    for deterministic in (False, True):
        out = tmp_path / f"run-{deterministic}"
        chosen = replace(recipe, deterministic=deterministic)
        log = train("standard", data, out, chosen, device=GPU).log
        losses[deterministic] = [row["loss"] for row in log]
    assert losses[False] == pytest.approx(losses[True], rel=0.05)
    assert losses[True][-1] < 0.5 * losses[True][0]


@pytest.mark.parametrize("name", sorted(METHODS.names()))
def test_every_method_can_be_recorded(tmp_path, narrow, name) -> None:
    data = read_data(str(write_arrays(tmp_path, count=24 * 6 + 5)), GPU)
    recipe = replace(NARROW, precision="bfloat16")
    settings = QUICK.get(name, NEEDED.get(name, {}))
    log = train(name, data, tmp_path / "run", recipe, settings=settings, device=GPU).log
    assert len(log) == 2
    assert (tmp_path / "run" / "model.safetensors").exists()
