"""Warps in Triton: the bits of the CPU engine's."""

from __future__ import annotations

from math import cos, nan, sin

import numpy as np
import pytest

from tests.engine import triton_device  # noqa: F401, isort: skip

from hardy.engine.ops import cpu_ops
from hardy.engine.tables import filter_weights as tables
from hardy.engine.triton import frames, warps
from tests.engine.torch_device import BATCHES, assert_same, moved
from tests.photos import flat_images

OPS = cpu_ops()
# The interpreter takes a millisecond or more for a program, so there are few.
every_batch = pytest.mark.parametrize("batch", ["extremes", "smallest", "narrow"])


def _batch(name):
    return BATCHES[name][-2:]


@every_batch
@pytest.mark.parametrize("factors", [tables.zoom_factors(1.31, 0.03), (1.0,)])
def test_zoom_mean(batch, factors):
    images = _batch(batch)
    assert_same(warps.zoom_mean(moved(images), factors), OPS.zoom_mean(images, factors))


def test_zoom_mean_of_flat_areas():
    images = np.ascontiguousarray(flat_images(8, 9)[::17])
    factors = tables.zoom_factors(1.25, 0.02)
    assert_same(warps.zoom_mean(moved(images), factors), OPS.zoom_mean(images, factors))


@pytest.mark.parametrize("size", [(8, 8), (33, 26), (32, 45)])
@pytest.mark.parametrize("factor", [1, 1.25, 3, 4.5])
def test_zoom(size, factor):
    crop = [tables.clipped_zoom(side, factor).crop for side in size]
    fields = np.random.default_rng(0).normal(size=(2, *crop))
    assert_same(warps.zoom(moved(fields), factor, size), OPS.zoom(fields, factor, size))


def _warp(images, jitter, amount):
    n, height, width, _ = images.shape
    rng = np.random.default_rng(0)
    inverses = np.array([[1.0, 0.1, -2.0], [-0.05, 0.97, 3.0]]) + rng.normal(0, jitter, (n, 2, 3))
    down, along = rng.normal(0, amount, (2, n, height, width)).astype(np.float32)
    return inverses, down, along


@every_batch
# Beyond one reflection: in some rows, then in all.
@pytest.mark.parametrize(("jitter", "amount"), [(0.8, 9.0), (9.0, 300.0)])
def test_elastic(batch, jitter, amount):
    images = _batch(batch)
    fields = _warp(images, jitter, amount)
    assert_same(warps.elastic(moved(images), *map(moved, fields)), OPS.elastic(images, *fields))


def test_a_row_is_shifted_as_a_whole():
    """One place far outside makes the others of its row round before the fraction does."""
    images = BATCHES["random"][:1]
    inverses, down, along = _warp(images, 0.0, 0.0)
    inverses[:] = np.eye(2, 3)
    tie = 2.0**-25 + 2.0**-50  # just above the middle of two float32 fractions
    along[:, :, 1], down[:, :, 1] = -1.25 + tie, -1.25 + tie
    along[:, ::2, -1], down[:, ::3, -1] = 300.75, -200.5
    fields = (inverses, down, along)
    assert_same(warps.elastic(moved(images), *map(moved, fields)), OPS.elastic(images, *fields))


# The interpreter's NumPy says what it makes of such a number.
@pytest.mark.filterwarnings("ignore:invalid value encountered")
def test_displacements_that_are_no_numbers():
    """They may give any colour, but must not read outside the image."""
    images = BATCHES["random"][:1]
    inverses, down, along = _warp(images, 0.02, 2.0)
    down[0, 3, 4], along[0, 2, 5], along[0, 6, 7] = nan, np.inf, -np.inf
    result = warps.elastic(moved(images), moved(inverses), moved(down), moved(along))
    others = [i for i in range(len(images[0])) if i not in (2, 3, 6)]
    expected = OPS.elastic(images, inverses, down, along)
    assert_same(result[:, others], expected[:, others])


def _windows(images):
    height, width = images.shape[1:3]
    return [(0, 0, height, width), (3, 2, height - 5, width - 4), (height - 1, width - 1, 1, 1)]


@every_batch
@pytest.mark.parametrize(("angle", "scale"), [(0.0, 1.0), (0.02, 0.4), (1.3, 1.75)])
def test_affine(batch, angle, scale):
    images = _batch(batch)
    a, b = cos(angle) / scale, sin(angle) / scale
    inverse = (a, b, 0.3, -b, a, 1.5)
    for window in _windows(images):
        result = frames.affine(frames.canvas(moved(images)), inverse, window)
        assert_same(result, OPS.affine(OPS.canvas(images), inverse, window))


@every_batch
@pytest.mark.parametrize("tilt", [0.0, 0.001, -0.004])
def test_perspective(batch, tilt):
    images = _batch(batch)
    inverse = (1.02, 0.1, -0.7, -0.05, 0.9, 1.5, tilt, -tilt / 2, 1.1)
    for window in _windows(images):
        result = frames.perspective(frames.canvas(moved(images)), inverse, window)
        assert_same(result, OPS.perspective(OPS.canvas(images), inverse, window))


@every_batch
@pytest.mark.parametrize("right", [0, 3, -5, 60])
def test_slide(batch, right):
    images = _batch(batch)
    for window in _windows(images):
        assert_same(frames.slide(moved(images), right, window), OPS.slide(images, right, window))


@pytest.mark.parametrize("at_once", [1, 10**9])
def test_many_frames_are_those_that_are_made_one_by_one(at_once, monkeypatch):
    monkeypatch.setattr(frames, "_PIXELS_AT_ONCE", at_once)
    images = np.ascontiguousarray(BATCHES["extremes"][:2, :9, :12])
    turns = [(0.9, 0.1 * k, -1.0, -0.1, 0.8, 0.5 * k) for k in range(3)]
    leans = [(*turn, 0.001, 0.0, 1.1) for turn in turns]
    window = (1, 2, 7, 9)
    canvas, there = OPS.canvas(images), frames.canvas(moved(images))
    for made, expected in (
        (frames.affines(there, turns, window), OPS.affines(canvas, turns, window)),
        (frames.perspectives(there, leans, window), OPS.perspectives(canvas, leans, window)),
        (frames.slides(moved(images), [-3, 0, 2], window), OPS.slides(images, [-3, 0, 2], window)),
    ):
        for one, other in zip(made, expected, strict=True):
            assert_same(one, other)
