"""Every corruption by Triton's kernels gives the CPU engine's bytes, from draws to bytes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.engine import triton_device  # noqa: F401, isort: skip

from hardy.corrupt import CORRUPTIONS
from hardy.engine.noc_ops import StampOps
from hardy.engine.ops import Array, Ops, cpu_ops
from hardy.engine.rng import Draws, derive_key
from hardy.engine.triton.ops import TritonOps, triton_ops
from hardy.suites import edition, editions
from tests.cells import middle
from tests.engine.torch_device import DEVICE, assert_same, moved
from tests.photos import photos

IDS = np.array([7, 2**63 + 11], np.uint64)
# Of ImageNet-NOC; they run in torch's own steps.
PLAIN = {"brighten", "mix", "fade", "turn_hue"}
every_corruption = pytest.mark.parametrize("name", CORRUPTIONS.names())


def corrupted(ops: Ops, images: Array, name: str) -> Array:
    chosen, severity = editions(name)[0], middle(name)
    params = edition(chosen).params(name, severity)
    draws = Draws(ops, derive_key(0, chosen, name, severity), IDS[: len(images)])
    fields = CORRUPTIONS[name].draw(draws, tuple(images.shape[1:3]), **params)
    return CORRUPTIONS[name].apply(ops, images, fields, **params)


class Fused(dict):
    def get(self, name):
        return self[name]


def without_plain_steps(device: torch.device) -> TritonOps:
    """What it has no kernel for is an error, not torch's own steps."""
    ops = TritonOps(device)
    ops.fused = Fused(ops.fused)
    for primitive in vars(StampOps):
        if not primitive.startswith("_"):
            setattr(ops, primitive, None)
    return ops


@every_corruption
def test_corruption(name):
    """Those that are said to have kernels need nothing else; the engine gives them more images."""
    images = np.array(photos(17, 26)[1:3])
    made_by = without_plain_steps if CORRUPTIONS[name].kernels else TritonOps
    result = corrupted(made_by(torch.device(DEVICE)), moved(images), name)
    assert_same(result, corrupted(cpu_ops(), images, name))


def test_every_formula_of_the_cpu_engine_is_there():
    assert set(TritonOps.fused) == set(cpu_ops().fused) - PLAIN


def test_one_backend_for_a_device():
    device = torch.device(DEVICE)
    assert triton_ops(device) is triton_ops(device)
    assert triton_ops(device).device == device
