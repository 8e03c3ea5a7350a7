"""Pixel formulas in Triton give the bytes of the CPU engine's fused passes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine import triton_device  # noqa: F401, isort: skip

from hardy.engine.ops import cpu_ops
from hardy.engine.triton import points
from tests.engine.torch_device import BATCHES, assert_same, moved
from tests.photos import random_images

CPU = cpu_ops()
every_batch = pytest.mark.parametrize("batch", BATCHES)


def arguments(name: str, images: np.ndarray) -> list[tuple]:
    """What the formula takes besides the images, some of it extreme."""
    generator = np.random.default_rng(3)
    shape = images.shape[:3]
    layer = random_images(*shape, seed=4)[..., 0]
    layer[0, : shape[1] // 2] = 0
    amount = generator.random(shape).astype(np.float32)
    amount[:, ::2] = 0
    amount[:, 1::4] = 1
    colour = np.array([63, 42, 20], np.float32) / np.float32(255)
    cloud = generator.random((shape[0], 64, 64))
    return {
        "haze": [(cloud, 1.5), (cloud, 3.0)],
        "whiten": [(layer, 0.95), (layer, 0.55)],
        "blanket": [(layer, 0.95), (layer, 0.7)],
        "frosted": [(random_images(*shape, seed=5), 1.0, 0.4), (images, 0.6, 0.75)],
        "splash": [(amount, colour)],
        "cover": [(amount, colour)],
        "stretch": [(CPU.channel_means(images), 0.4), (CPU.channel_means(images), 0.05)],
        "recolour": [(0.1, 1.0, 0.0), (-0.3, 1.0, 0.0), (0.0, 0.1, 0.0), (0.0, 20.0, 0.2)],
    }[name]


@every_batch
@pytest.mark.parametrize("name", points.FUSED)
def test_formula(name, batch):
    images = BATCHES[batch]
    for given in arguments(name, images):
        on_device = [moved(a) if isinstance(a, np.ndarray) else a for a in given]
        result = points.FUSED[name](moved(images), *on_device)
        assert_same(result, CPU.fused[name](images, *given))


def test_greys_that_come_out_whole():
    """Where the true value is a grey level, the order of additions decides which byte it is."""
    ramp = np.repeat(np.arange(256, dtype=np.uint8), 3).reshape(1, 16, 16, 3)
    flakes = random_images(1, 16, 16)[..., 0] // 4
    none, air = np.zeros_like(flakes), np.zeros((1, 16, 16))
    cases = {
        "whiten": [(none, 0.95), (none, 0.8), (flakes, 1.0)],
        "blanket": [(none, 0.95), (none, 0.8), (flakes, 1.0)],
        "haze": [(air, 1.5), (air + 0.25, 3.0)],
    }
    for name, all_given in cases.items():
        for field, number in all_given:
            result = points.FUSED[name](moved(ramp), moved(field), number)
            assert_same(result, CPU.fused[name](ramp, field, number))


def test_colours_where_hues_are_decided():
    levels = np.array([0, 1, 51, 102, 127, 128, 153, 254, 255], np.uint8)
    colours = np.stack(np.meshgrid(levels, levels, levels), -1).reshape(1, 81, 9, 3)
    for given in arguments("recolour", colours):
        assert_same(points.recolour(moved(colours), *given), CPU.fused["recolour"](colours, *given))


@every_batch
def test_channel_means(batch):
    images = BATCHES[batch]
    assert_same(points.channel_means(moved(images)), CPU.channel_means(images))


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_to_bytes(dtype):
    unit = np.random.default_rng(0).normal(0.5, 0.5, (3, 20, 30)).astype(dtype)
    unit[0] = np.linspace(0, 1, 256 * 5)[:600].reshape(20, 30)
    assert_same(points.to_bytes(moved(unit)), CPU.to_bytes(unit))


def test_an_empty_batch():
    none = moved(np.empty((0, 8, 8, 3), np.uint8))
    assert points.recolour(none, 0.1, 1.0, 0.0).shape == none.shape
    assert points.channel_means(none).shape == (0, 3)


@every_batch
def test_looked_up(batch):
    table = np.random.default_rng(5).random((3, 256), np.float32)
    images = BATCHES[batch]
    expected = table[np.arange(3), images]
    assert_same(points.looked_up(moved(images), moved(table)), expected)
