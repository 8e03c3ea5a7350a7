"""Filters of the torch engine: the bits of the CPU engine's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hardy.engine.ops import cpu_ops
from hardy.engine.tables import filter_weights as tables
from hardy.engine.torch import filters as torch_filters
from tests.engine.torch_device import BATCHES, assert_same, moved
from tests.photos import flat_images

OPS = cpu_ops()
SIZES = [(1, 8, 8), (3, 9, 40), (3, 33, 26), (1, 47, 45)]


def _fields(size, seed=0):
    return np.random.default_rng(seed).normal(0.6, 0.3, size)


@pytest.mark.parametrize("divisor", [3.0, 6.0, 7.0, 255.0, 31.0])
def test_quotient_is_rounded_once(divisor):
    for dtype in (np.float32, np.float64):
        numbers = np.arange(1, 4000).astype(dtype)
        assert_same(torch_filters.quotient(moved(numbers), divisor), numbers / dtype(divisor))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(
    ("sigma", "truncate"), [(0.0, 4.0), (0.4, 4.0), (1, 4.0), (6, 4.0), (2, 3)]
)
def test_blur(batch, sigma, truncate):
    images = BATCHES[batch]
    result = torch_filters.blur(moved(images), sigma, truncate)
    assert_same(result, OPS.blur(images, sigma, truncate))


@pytest.mark.parametrize("sigma", [0.5, 1.1, 2.5])
def test_blur_of_flat_areas(sigma):
    images = flat_images(8, 9)
    assert_same(torch_filters.blur(moved(images), sigma), OPS.blur(images, sigma))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("radius", "alias"), [(0.5, 0.6), (3, 0.1), (8, 0.5), (12, 0.5)])
def test_disk(batch, radius, alias):
    images = BATCHES[batch]
    result = torch_filters.disk(moved(images), radius, alias)
    assert_same(result, OPS.disk(images, radius, alias))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("radius", "sigma"), [(1, 0.5), (10, 3), (20, 15)])
def test_trail(batch, radius, sigma):
    images = BATCHES[batch]
    weights = tables.trail_weights(radius, sigma)
    # Some of the offsets lie further out than taps can reach.
    rows, columns = np.random.default_rng(0).integers(-60, 60, (2, len(images), len(weights)))
    for channels in (images, images[..., :1]):
        channels = np.ascontiguousarray(channels)
        result = torch_filters.trail(moved(channels), weights, moved(rows), moved(columns))
        assert_same(result, OPS.trail(channels, weights, rows, columns))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("sigma", "truncate", "border"),
    [
        (0.6, 4.0, "nearest"),
        (4.0, 4.0, "nearest"),
        (2.44, 3.0, "reflect"),
        (12.8, 3.0, "reflect"),  # still tap by tap, further than a field is wide
        (19.52, 3.0, "reflect"),  # as matrix products from here on
        (170.8, 3.0, "reflect"),
        (11.0, 4.0, "nearest"),
    ],
)
def test_smooth(size, sigma, truncate, border):
    fields = _fields(size)
    result = torch_filters.smooth(moved(fields), sigma, truncate, border)
    assert_same(result, OPS.smooth(fields, sigma, truncate, border))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("taps", "first"), [((0.05, 0.1, 0.15, 0.7), 1), ((0.3,) * 12, -2)])
def test_run_down(size, taps, first):
    fields = _fields(size)
    assert_same(
        torch_filters.run_down(moved(fields), taps, first), OPS.run_down(fields, taps, first)
    )


@pytest.mark.parametrize("batch", BATCHES)
def test_running_mean(batch):
    frames = [BATCHES[batch], 255 - BATCHES[batch], BATCHES[batch] // 2, BATCHES[batch]]
    total = torch.zeros_like(moved(frames[0]), dtype=torch.float32)
    plain = np.zeros(frames[0].shape, np.float32)
    for count, frame in enumerate(frames, start=1):
        mean, total = torch_filters.running_mean(moved(frame), total, count)
        expected, plain = OPS.running_mean(frame, plain, count)
        assert_same(mean, expected)
        assert_same(total, plain)
