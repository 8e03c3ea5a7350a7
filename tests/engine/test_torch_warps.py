"""Warps of the torch engine: the bits of the CPU engine's."""

from __future__ import annotations

from math import cos, nan, sin

import numpy as np
import pytest

from hardy.engine.cpu import warps
from hardy.engine.ops import cpu_ops
from hardy.engine.tables import filter_weights as tables
from hardy.engine.torch import warps as torch_warps
from tests.engine.torch_device import BATCHES, assert_same, moved
from tests.photos import flat_images

OPS = cpu_ops()


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(("stop", "step"), [(1.11, 0.01), (1.33, 0.03), (1.06, 0.01)])
def test_zoom_mean(batch, stop, step):
    images, factors = BATCHES[batch], tables.zoom_factors(stop, step)
    assert_same(torch_warps.zoom_mean(moved(images), factors), OPS.zoom_mean(images, factors))


def test_zoom_mean_of_flat_areas():
    images, factors = flat_images(8, 9), tables.zoom_factors(1.25, 0.02)
    assert_same(torch_warps.zoom_mean(moved(images), factors), OPS.zoom_mean(images, factors))


@pytest.mark.parametrize("size", [(8, 8), (33, 26), (32, 45)])
@pytest.mark.parametrize("factor", [1, 1.25, 1.75, 3, 4.5])
def test_zoom(size, factor):
    crop = [tables.clipped_zoom(side, factor).crop for side in size]
    for n in (1, 3):
        fields = np.random.default_rng(0).normal(size=(n, *crop))
        assert_same(torch_warps.zoom(moved(fields), factor, size), OPS.zoom(fields, factor, size))


def _warp(images, jitter, amount):
    n, height, width, _ = images.shape
    rng = np.random.default_rng(0)
    inverses = np.array([[1.0, 0.1, -2.0], [-0.05, 0.97, 3.0]]) + rng.normal(0, jitter, (n, 2, 3))
    down, along = rng.normal(0, amount, (2, n, height, width)).astype(np.float32)
    return inverses, down, along


@pytest.mark.parametrize("batch", BATCHES)
# The last two reach beyond one reflection: in some rows, then in all.
@pytest.mark.parametrize(("jitter", "amount"), [(0.0, 0.0), (0.02, 2.0), (0.8, 9.0), (9.0, 300.0)])
def test_elastic(batch, jitter, amount):
    images = BATCHES[batch]
    fields = _warp(images, jitter, amount)
    result = torch_warps.elastic(moved(images), *map(moved, fields))
    assert_same(result, OPS.elastic(images, *fields))


def test_displacements_that_are_no_numbers():
    """They may give any colour, but must not read outside the image."""
    images = BATCHES["random"]
    inverses, down, along = _warp(images, 0.02, 2.0)
    down[0, 3, 4], along[1, 2, 5], along[2, 6, 7] = nan, np.inf, -np.inf
    result = torch_warps.elastic(moved(images), moved(inverses), moved(down), moved(along))
    assert result.shape == images.shape


@pytest.mark.parametrize("first", [0.0, -1.0])
def test_taps(first):
    """A row with a place far outside is shifted as a whole, and rounds before the fraction does."""
    side = 32
    tie = 2.0**-25 + 2.0**-50  # just above the middle of two float32 fractions
    near = np.array([-0.25 + tie, 4.25, 31.5 + tie, 40.125, -30.0])
    for place in (near, np.append(near[1:], 200.75), np.append(near[:-1], -65.0)):
        low, high = np.empty((2, len(place)), np.int64)
        fraction = np.empty(len(place), np.float32)
        result = torch_warps._taps(moved(place[None, None]), side, first)
        warps._taps(place, side, first, 1, low, high, fraction)
        for seen, expected in zip(result, (low, high, fraction), strict=True):
            assert_same(seen[0, 0], expected)


def _windows(images):
    height, width = images.shape[1:3]
    return [(0, 0, height, width), (3, 2, height - 5, width - 4), (height - 1, width - 1, 1, 1)]


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("angle", [0.0, 0.02, 1.3])
@pytest.mark.parametrize("scale", [1.0, 0.4, 1.75])
def test_affine(batch, angle, scale):
    images = BATCHES[batch]
    a, b = cos(angle) / scale, sin(angle) / scale
    inverse = (a, b, 0.3, -b, a, 1.5)
    for window in _windows(images):
        result = torch_warps.affine(torch_warps.canvas(moved(images)), inverse, window)
        assert_same(result, OPS.affine(OPS.canvas(images), inverse, window))


@pytest.mark.parametrize("batch", BATCHES)
def test_affine_at_whole_places(batch):
    """Tenths add up to whole places but for a last bit, which truncation shows."""
    images, inverse = BATCHES[batch], (0.7, 0.1, 0.2, 0.3, 0.8, -0.6)
    window = (0, 0, *images.shape[1:3])
    result = torch_warps.affine(torch_warps.canvas(moved(images)), inverse, window)
    assert_same(result, OPS.affine(OPS.canvas(images), inverse, window))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize(
    "inverse",
    [
        (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
        (0.9, 0.1, 2.0, -0.1, 0.9, 2.0, 0.001, 0.002, 1.0),
        (3.1, 0.3, -20.0, -0.1, 2.9, -11.0, -0.004, 0.003, 1.1),
    ],
)
def test_perspective(batch, inverse):
    images = BATCHES[batch]
    for window in _windows(images):
        result = torch_warps.perspective(torch_warps.canvas(moved(images)), inverse, window)
        assert_same(result, OPS.perspective(OPS.canvas(images), inverse, window))


@pytest.mark.parametrize("batch", BATCHES)
@pytest.mark.parametrize("right", [0, 3, -5, 60, -60])
def test_slide(batch, right):
    images = BATCHES[batch]
    for window in _windows(images):
        expected = OPS.slide(images, right, window)
        assert_same(torch_warps.slide(moved(images), right, window), expected)
