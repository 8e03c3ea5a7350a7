"""Primitives of the C-bar benchmarks on torch tensors: the CPU engine's bits."""

from __future__ import annotations

import numpy as np
import pytest

from hardy.engine import portable
from hardy.engine.ops import cpu_ops, ops_for
from hardy.engine.tables.c_bar_waves import wave_plan
from tests.engine.torch_device import assert_same, moved

CPU = cpu_ops()
OPS = ops_for(moved(0))
RNG = np.random.default_rng(8)


def test_mathematics():
    x, y = RNG.uniform(-500, 500, (2, 5, 700))
    assert_same(portable.sine(moved(x)), portable.sine(x))
    assert_same(portable.cosine(moved(x)), portable.cosine(x))
    assert_same(portable.arctan2(OPS, moved(y), moved(x)), portable.arctan2(CPU, y, x))
    assert_same(OPS.sqrt(moved(abs(x))), np.sqrt(abs(x)))
    for exponent in (1.4, 0.13, -0.5):
        assert_same(OPS.power(moved(abs(x)), exponent), CPU.power(abs(x), exponent))


def test_order():
    words = RNG.integers(0, 2**32, (4, 256), np.uint32)
    words[:, ::5] = words[:, :1]
    assert_same(OPS.order(moved(words)), CPU.order(words))


@pytest.mark.parametrize("step", [(1, 0), (-1, 0), (0, 1), (0, -1), (2, -3)])
def test_shifted(step):
    fields = RNG.normal(size=(2, 9, 11))
    assert_same(OPS.shifted(moved(fields), *step), CPU.shifted(fields, *step))


@pytest.mark.parametrize("size", [(32, 32), (26, 17), (21, 34)])
def test_wave_noise(size):
    phases = RNG.uniform(0, 2 * np.pi, (2, 3, size[0], -(-size[1] // 2)))
    for colour in ("blue", "brownish"):
        plan = wave_plan(colour, *size)
        result = OPS.wave_noise(moved(phases), plan, size[1]).cpu().numpy()
        expected = CPU.wave_noise(phases, plan, size[1])
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12)
