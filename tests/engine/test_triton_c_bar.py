"""ImageNet-C-bar in Triton: mathematics to the bit, formulas to the byte of the CPU engine."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.engine import triton_device  # noqa: F401, isort: skip

import triton
import triton.language as tl

from hardy.engine import portable
from hardy.engine.ops import cpu_ops
from hardy.engine.tables import frozen
from hardy.engine.tables.c_bar_waves import fringe_taps, turn_table, wave_plan
from hardy.engine.triton import c_bar_noise, c_bar_shapes, c_bar_warps, maths
from hardy.engine.triton.launch import launch
from tests.engine.torch_device import BATCHES, assert_same, moved
from tests.photos import random_images

CPU = cpu_ops()
FUSED = c_bar_noise.FUSED | c_bar_shapes.FUSED | c_bar_warps.FUSED
every_batch = pytest.mark.parametrize("batch", ["photos", "extremes", "narrow"])


@triton.jit
def _mathematics(x, y, out, count, exponent: tl.float64, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    a, b = tl.load(x + place), tl.load(y + place)
    tl.store(out + place, maths.sine(a))
    tl.store(out + count + place, maths.cosine(a))
    tl.store(out + 2 * count + place, maths.arctan2(b, a))
    tl.store(out + 3 * count + place, maths.power(tl.abs(a), exponent))
    tl.store(out + 4 * count + place, maths.quotient(b, tl.abs(a)))


def test_mathematics():
    generator = np.random.default_rng(5)
    x, y = generator.uniform(-500, 500, (2, 2048))
    x[:200] = np.pi * np.arange(-100, 100) / 2 + 1e-9
    y[:100] = x[:100]
    x[200:300] *= 1e-9
    y[300:310] = 0
    for exponent in (1.4, 0.13, -0.5):
        out = moved(np.empty((5, len(x))))
        launch(
            _mathematics, 1, out.device,
            moved(x), moved(y), out, len(x), exponent, BLOCK=len(x),
        )  # fmt: skip
        assert_same(out[0], portable.sine(x))
        assert_same(out[1], portable.cosine(x))
        assert_same(out[2], portable.arctan2(CPU, y, x))
        assert_same(out[3], CPU.power(abs(x), exponent))
        assert_same(out[4], y / abs(x))


def few_turns(degrees: float) -> np.ndarray:
    """The interpreter would take minutes for all 21."""
    turns = turn_table(degrees)[::5].copy()
    turns[:, 2] /= turns[:, 2].sum()
    return frozen(turns)


def arguments(name: str, images: np.ndarray) -> list[tuple]:
    """What the formula takes besides the images."""
    generator = np.random.default_rng(3)
    n, height, width, _ = images.shape
    side = min(height, width)

    def uniform(low: float, high: float, *shape: int) -> np.ndarray:
        return generator.uniform(low, high, (n, *shape))

    noise = generator.normal(size=(n, 3, height, width))
    rows, columns = uniform(-4, height + 4, height, width), uniform(-4, width + 4, height, width)
    rows[:, :, ::2] = np.arange(height)[:, None]
    columns[:, ::3] = -1e12
    # A tenth of the way is a whole level in one of ten places, or lacks a last bit of it.
    tenths = np.arange(height)[:, None] + uniform(0, 9, 1, width).round() * 0.1
    ahead = np.arange(width) + uniform(0, 9, height, 1).round() * 0.1
    net = uniform(0, 1, height, width)
    net[:, height // 2 :] = 1
    arrows = generator.normal(size=(n, 256, 2))
    stars = (uniform(0, height, 5), uniform(0, width, 5), generator.integers(50, 200, (n, 5)))
    return {
        "blacken": [(noise[:, 0], -1.3), (noise[:, 1], noise[0, 1, 2, 3])],
        "add_noises": [(noise, 12.8), (noise, 300.0)],
        "stir": [
            (uniform(0, 18), np.array([4, 6, 5])[:n], uniform(0.5, 1), uniform(0.1, 0.2) * side, s)
            for s in (30.4, 64.0)
        ],
        "cloud": [(uniform(0, 1, 256).argsort(1), arrows, w) for w in (0.23, 0.9)],
        "chequer": [
            (uniform(0, 6.28), uniform(0.1, 0.25) * side, uniform(0, 1, 40, 40), 0.4),
            (uniform(0, 6.28), uniform(0.02, 0.05) * side, uniform(0, 1, 40, 40), 0.8),
        ],
        "ring": [
            (uniform(0, height), uniform(0, width), uniform(0, 10), *uniform(0.1, 4, 2).T, 115.2),
            (np.full(n, 3.0), np.full(n, 3.0), uniform(0, 10), *uniform(0.1, 4, 2).T, 38.4),
        ],
        "stripe": [(uniform(-3, 3), uniform(-3, 3), uniform(0, 6.28), s) for s in (19.6, 98.0)],
        "sparkle": [(*stars, uniform(1, 9, 5, 199))],
        "window": [(*(a[:, 0].copy() for a in stars), uniform(-1, 9, 199), e) for e in (0.13, 4.0)],
        "rule": [(np.trunc(uniform(-side, 2 * side, 9, 4)),), (np.zeros((n, 2, 4)),)],
        "displace": [
            (rows, columns, False),
            (rows, columns, True),
            (tenths, ahead, False),
            (tenths, ahead, True),
        ],
        "fringe": [
            (uniform(0, 1, 3).argsort(1), *fringe_taps(height, s), *fringe_taps(width, s))
            for s in (0.025, 0.25)
        ],
        "caustics": [(uniform(0.5, 2), uniform(0.75, 1.25) * side)],
        "refract": [(net, 0.3 * side, 0.4), (net * 0.05, 0.1 * side, 0.1)],
        "spin": [(few_turns(40.0),)],
    }[name]


@every_batch
@pytest.mark.parametrize("name", FUSED)
def test_formula(name, batch):
    images = BATCHES[batch] if name != "spin" else BATCHES[batch][:1, :20]
    for given in arguments(name, images):
        # Host tables, which nobody can write to, go there by themselves.
        drawn = [isinstance(a, np.ndarray) and a.flags.writeable for a in given]
        on_device = [moved(a) if own else a for a, own in zip(given, drawn, strict=True)]
        assert_same(FUSED[name](moved(images), *on_device), CPU.fused[name](images, *given))


def test_displace_one_channel():
    images = random_images(2, 9, 20)[..., :1]
    rows, columns, single = arguments("displace", images)[0]
    result = c_bar_warps.displace(moved(images), moved(rows), moved(columns), single)
    assert_same(result, CPU.fused["displace"](images, rows, columns, single))


def test_spin_leaves_flat_areas_flat():
    images = np.full((1, 12, 16, 3), [255, 77, 3], np.uint8)
    result = c_bar_warps.spin(moved(images), few_turns(5.0))
    assert_same(result, CPU.fused["spin"](images, few_turns(5.0)))
    assert_same(result[:, 3:9, 4:12], images[:, 3:9, 4:12])


@pytest.mark.parametrize("size", [(32, 32), (26, 17), (21, 34)])
@pytest.mark.parametrize("colour", ["blue", "brownish"])
def test_wave_noise(colour, size, monkeypatch):
    phases = np.random.default_rng(8).uniform(0, 2 * np.pi, (2, 3, size[0], -(-size[1] // 2)))
    plan = wave_plan(colour, *size)
    expected = CPU.wave_noise(phases, plan, size[1])
    for at_once in (1, 4 * size[0] * size[1], 10**9):
        monkeypatch.setattr(c_bar_noise, "_WAVES_AT_ONCE", at_once)
        result = c_bar_noise.wave_noise(moved(phases), plan, size[1]).cpu().numpy()
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-12)


def test_an_empty_batch():
    none = moved(np.empty((0, 8, 8, 3), np.uint8))
    number = torch.empty(0, dtype=torch.float64, device=none.device)
    assert c_bar_shapes.stripe(none, number, number, number, 10.0).shape == none.shape
    assert c_bar_warps.caustics(none, number, number).shape == (0, 8, 8)
