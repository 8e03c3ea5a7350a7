"""Every corruption by Triton's kernels gives the CPU engine's bytes, from draws to bytes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.engine import triton_device  # noqa: F401, isort: skip

from hardy.corrupt import CORRUPTIONS
from hardy.engine.ops import Array, Ops, cpu_ops
from hardy.engine.rng import Draws, derive_key
from hardy.engine.triton.ops import TritonOps, triton_ops
from hardy.suites import edition, editions
from tests.cells import middle
from tests.engine.torch_device import DEVICE, assert_same, moved
from tests.photos import photos

IDS = np.array([7, 2**63 + 11], np.uint64)
# Of layers, and of ImageNet-NOC; they run in torch's own steps.
PLAIN = {"flakes", "glisten", "brighten", "mix", "fade", "turn_hue"}
every_corruption = pytest.mark.parametrize("name", CORRUPTIONS.names())


def corrupted(ops: Ops, images: Array, name: str) -> Array:
    chosen, severity = editions(name)[0], middle(name)
    params = edition(chosen).params(name, severity)
    draws = Draws(ops, derive_key(0, chosen, name, severity), IDS[: len(images)])
    fields = CORRUPTIONS[name].draw(draws, tuple(images.shape[1:3]), **params)
    return CORRUPTIONS[name].apply(ops, images, fields, **params)


class Watched(TritonOps):
    """Notes which of its kernels ran."""

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self.ran: set[str] = set()
        self.fused = {name: self.watched(name, kernel) for name, kernel in self.fused.items()}
        for name in self.kernels - set(self.fused):
            assert name in vars(TritonOps), f"{name} is torch's own"
            setattr(self, name, self.watched(name, getattr(self, name)))

    def watched(self, name, kernel):
        def call(*arguments):
            self.ran.add(name)
            return kernel(*arguments)

        return call


@every_corruption
def test_corruption(name):
    """A kernel makes images of it if its formula names one: the engine counts on it."""
    images = np.array(photos(17, 26)[1:3])
    ops = Watched(torch.device(DEVICE))
    result = corrupted(ops, moved(images), name)
    assert_same(result, corrupted(cpu_ops(), images, name))
    named = ops.kernels & CORRUPTIONS[name].steps
    assert bool(ops.ran) == bool(named) == (not name.startswith("noc_"))


def test_every_formula_of_the_cpu_engine_is_there():
    assert set(TritonOps.fused) == set(cpu_ops().fused) - PLAIN


def test_one_backend_for_a_device():
    device = torch.device(DEVICE)
    assert triton_ops(device) is triton_ops(device)
    assert triton_ops(device).device == device
