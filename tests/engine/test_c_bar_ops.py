"""Mathematics and primitives of the C-bar benchmarks: against libraries, and with the same bits."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hardy.engine import portable
from hardy.engine.cpu import c_bar_noise, maths
from hardy.engine.ops import cpu_ops
from hardy.engine.tables.c_bar_waves import turn_table, wave_plan

OPS = cpu_ops()
RNG = np.random.default_rng(7)
ANGLES = np.concatenate([
    RNG.uniform(-400, 400, 20_000), RNG.uniform(-1e5, 1e5, 2000), np.arange(-40, 41) * np.pi / 8,
])  # fmt: skip


def ulps(result: np.ndarray, exact: list[float]) -> float:
    """Off by how many units of a number of size 1, or of the result's own if it is larger."""
    size = np.spacing(np.maximum(np.abs(exact), 1.0))
    return float(np.max(np.abs(result - np.array(exact)) / size))


def test_sine_and_cosine():
    # The C library's are right to within an ulp here; with exact reduction, so are ours nearly.
    assert ulps(portable.sine(ANGLES), [math.sin(x) for x in ANGLES]) <= 2
    assert ulps(portable.cosine(ANGLES), [math.cos(x) for x in ANGLES]) <= 2
    assert portable.sine(np.zeros(1))[0] == 0.0
    assert portable.cosine(np.zeros(1))[0] == 1.0
    small = np.array([1e-3, 1e-9, 1e-300])
    np.testing.assert_allclose(portable.sine(small), np.sin(small), rtol=3e-16)


def test_arctan2_in_all_octants():
    y, x = RNG.normal(size=(2, 20_000))
    edges = np.array([[0, 1], [1, 1], [1, 0], [1, -1], [0, -1], [-1, -1], [-1, 0], [-1, 1], [0, 0]])
    y, x = np.append(y, edges[:, 0]), np.append(x, edges[:, 1])
    exact = [math.atan2(a, b) for a, b in zip(y, x, strict=True)]
    assert ulps(portable.arctan2(OPS, y, x), exact) <= 3


@pytest.mark.parametrize("exponent", [1.4, 0.13, 1.3, -0.32, -0.5])
def test_power(exponent):
    base = np.concatenate([np.exp(RNG.uniform(-60, 25, 20_000)), RNG.uniform(0.2, 1.5, 2000)])
    exact = [x**exponent for x in base.tolist()]
    np.testing.assert_allclose(OPS.power(base, exponent), exact, rtol=2e-14)
    near = base[(base > 0.1) & (base < 2)]
    np.testing.assert_allclose(OPS.power(near, exponent), near**exponent, rtol=4e-15)
    assert OPS.power(np.ones((2, 3)), exponent).tolist() == [[1.0] * 3] * 2


def test_kernels_have_the_bits_of_the_arrays():
    y, x = RNG.normal(size=(2, 5000))
    cosines, sines = np.empty_like(ANGLES), np.empty_like(ANGLES)
    c_bar_noise.cosines_and_sines(ANGLES, cosines, sines)
    np.testing.assert_array_equal(sines, portable.sine(ANGLES))
    np.testing.assert_array_equal(cosines, portable.cosine(ANGLES))
    angles = [maths.arctan2(a, b) for a, b in zip(y, x, strict=True)]
    np.testing.assert_array_equal(angles, portable.arctan2(OPS, y, x))


def test_order_is_a_stable_sort():
    words = RNG.integers(0, 2**32, (5, 40), np.uint32)
    words[:, ::3] = words[:, :1]
    order = OPS.order(words)
    np.testing.assert_array_equal(order, np.argsort(words.astype(np.int64), axis=1, kind="stable"))


@pytest.mark.parametrize("step", [(1, 0), (-1, 0), (0, 1), (0, -2), (2, -3), (0, 0)])
def test_shifted(step):
    fields = RNG.normal(size=(2, 9, 11))
    padded = np.pad(fields, ((0, 0), (4, 4), (4, 4)))
    rolled = np.roll(padded, step, (1, 2))[:, 4:-4, 4:-4]
    np.testing.assert_array_equal(OPS.shifted(fields, *step), rolled)


@pytest.mark.parametrize("size", [(32, 32), (224, 224), (21, 34), (26, 17), (8, 8), (13, 101)])
@pytest.mark.parametrize("colour", ["blue", "brownish"])
def test_waves_are_those_of_numpys_transform(colour, size):
    height, width = size
    phases = RNG.uniform(0, 2 * np.pi, (2, 3, height, -(-width // 2)))
    plan = wave_plan(colour, *size)
    flat = phases.reshape(2, 3, -1)
    first = plan.first_weight * np.exp(1j * flat[..., plan.first])
    second = plan.second_weight * np.exp(1j * flat[..., plan.second])
    noise = np.fft.irfft2(first + second.conj(), s=size)
    noise /= noise.std((2, 3), keepdims=True)
    np.testing.assert_allclose(OPS.wave_noise(phases, plan, width), noise, rtol=0, atol=1e-12)


def test_the_weights_of_waves():
    plan = wave_plan("blue", 8, 8)
    # Frequency 0 first; the largest distance is that of the corner of the spectrum.
    assert plan.first_weight[0, 0] == 0.0
    assert plan.first_weight[0, 1] == plan.first_weight[1, 0] == 1.0
    assert plan.first_weight.max() == pytest.approx(math.sqrt(32))
    assert wave_plan("brownish", 8, 8).first_weight[0, 0] == 1.0
    assert wave_plan("brownish", 8, 8).first_weight[1, 1] == pytest.approx(1 / 3)
    # Half of the phases of a spectrum are drawn, and all of those are used.
    used = np.unique([plan.first, plan.second])
    np.testing.assert_array_equal(used, np.arange(8 * 4))


def test_turns():
    table = turn_table(9.0)
    s = np.linspace(-1, 1, 21)
    np.testing.assert_allclose(table[:, 0], np.cos(np.radians(9 * s)), rtol=0, atol=1e-15)
    np.testing.assert_allclose(table[:, 1], np.sin(np.radians(9 * s)), rtol=0, atol=1e-15)
    np.testing.assert_allclose(table[:, 2], np.exp(-2 * s**2) / np.exp(-2 * s**2).sum(), rtol=1e-14)
    assert table[10].tolist()[:2] == [1.0, 0.0]
