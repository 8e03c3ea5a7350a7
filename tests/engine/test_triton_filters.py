"""Filters in Triton: the bits of the CPU engine's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.engine import triton_device  # noqa: F401, isort: skip

import triton
import triton.language as tl

from hardy.engine.ops import cpu_ops
from hardy.engine.tables import filter_weights as tables
from hardy.engine.triton import filters, frames, smears
from hardy.engine.triton.launch import launch
from hardy.engine.triton.levels import byte_of, unit32, unit64, whole64
from tests.engine.torch_device import BATCHES, assert_same, moved
from tests.photos import flat_images

OPS = cpu_ops()
# The interpreter takes a millisecond or more for a program, so there are few.
every_batch = pytest.mark.parametrize("batch", ["extremes", "smallest", "narrow"])
SIZES = [(1, 8, 8), (2, 9, 40)]


def _batch(name):
    return BATCHES[name][-2:]


def _fields(size):
    return np.random.default_rng(0).normal(0.6, 0.3, size)


@triton.jit
def _convert(levels_in, single, double, back, whole, BLOCK: tl.constexpr):
    place = tl.arange(0, BLOCK)
    level = tl.load(levels_in + place)
    tl.store(single + place, unit32(level))
    tl.store(double + place, unit64(level))
    tl.store(back + place, byte_of(unit64(level)))
    # Up to the largest that 32 bits hold.
    tl.store(whole + place, whole64(level.to(tl.uint32) * 16843009))


def test_levels():
    """A quotient without a division, for all 256 levels."""
    byte = np.arange(256, dtype=np.uint8)
    single, double = np.empty(256, np.float32), np.empty(256)
    out = [moved(single), moved(double), moved(np.zeros(256, np.uint8)), moved(double)]
    launch(_convert, 1, out[0].device, moved(byte), *out, BLOCK=256)
    assert_same(out[0], byte.astype(np.float32) / np.float32(255))
    assert_same(out[1], byte / 255.0)
    assert_same(out[2], OPS.to_bytes(byte / 255.0))
    assert_same(out[3], byte * 16843009.0)


@every_batch
# From reach 13 on the window of rows no longer fits in registers.
@pytest.mark.parametrize(("sigma", "truncate"), [(0.0, 4.0), (0.4, 4.0), (1.5, 4.0), (3.3, 4.0)])
def test_blur(batch, sigma, truncate):
    images = _batch(batch)
    result = filters.blur(moved(images), sigma, truncate)
    assert_same(result, OPS.blur(images, sigma, truncate))


@pytest.mark.parametrize("sigma", [0.5, 1.1])
def test_blur_of_flat_areas(sigma):
    images = np.ascontiguousarray(flat_images(8, 9)[::17])
    assert_same(filters.blur(moved(images), sigma), OPS.blur(images, sigma))


@every_batch
# One pixel left over, no ring at all, a ring in fours.
@pytest.mark.parametrize(("radius", "alias"), [(0.5, 0.6), (3, 0.1), (8, 0.5)])
def test_disk(batch, radius, alias):
    images = _batch(batch)
    assert_same(smears.disk(moved(images), radius, alias), OPS.disk(images, radius, alias))


def test_disk_at_its_widest():
    images = BATCHES["extremes"][:1]
    assert_same(smears.disk(moved(images), 10, 0.5), OPS.disk(images, 10, 0.5))


def _offsets(images, taps):
    """Trails in all directions, as the formula has them."""
    angles = np.random.default_rng(0).uniform(-np.pi, np.pi, (len(images), 1))
    rows, columns = (
        np.ceil(np.arange(taps) * part - 0.5).astype(np.int64)
        for part in (np.sin(angles), np.cos(angles))
    )
    return rows, columns


@every_batch
@pytest.mark.parametrize(("radius", "sigma"), [(1, 0.5), (20, 15)])
def test_trail(batch, radius, sigma):
    images = _batch(batch)
    weights = tables.trail_weights(radius, sigma)
    rows, columns = _offsets(images, len(weights))
    for channels in (images, images[..., :1]):
        channels = np.ascontiguousarray(channels)
        result = smears.trail(moved(channels), weights, moved(rows), moved(columns))
        assert_same(result, OPS.trail(channels, weights, rows, columns))


def test_trail_never_reads_outside():
    images, weights = BATCHES["random"][:2], tables.trail_weights(3, 2)
    wild = np.full((len(images), len(weights)), 10**6)
    result = smears.trail(moved(images), weights, moved(wild), moved(-wild))
    reach = np.full_like(wild, len(weights) - 1)
    assert_same(result, OPS.trail(images, weights, reach, -reach))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("sigma", "truncate", "border"),
    [
        (0.0, 4.0, "nearest"),
        (4.0, 4.0, "nearest"),
        (2.44, 3.0, "reflect"),
        (12.8, 3.0, "reflect"),  # further than a field is wide
        (11.0, 4.0, "nearest"),  # as matrix products, in order
    ],
)
def test_smooth(size, sigma, truncate, border):
    fields = _fields(size)
    result = filters.smooth(moved(fields), sigma, truncate, border)
    assert_same(result, OPS.smooth(fields, sigma, truncate, border))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("sigma", [19.52, 170.8])
def test_smooth_by_matrix_products(size, sigma):
    """They have an order of their own, which elastic_transform may have."""
    fields = _fields(size)
    result = filters.smooth(moved(fields), sigma, 3.0, "reflect")
    expected = OPS.smooth(fields, sigma, 3.0, "reflect")
    np.testing.assert_allclose(result.cpu().numpy(), expected, rtol=0, atol=3e-15)
    alone = filters.smooth(moved(fields[:1]), sigma, 3.0, "reflect")
    assert_same(alone[0], result[0].cpu().numpy())


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("taps", "first"), [((0.05, 0.1, 0.0, 0.7), 1), ((0.3,) * 12, -2)])
def test_run_down(size, taps, first):
    fields = _fields(size)
    assert_same(frames.run_down(moved(fields), taps, first), OPS.run_down(fields, taps, first))


@every_batch
def test_running_mean(batch):
    images = _batch(batch)
    shown = [images, 255 - images, images // 2]
    total = torch.zeros_like(moved(shown[0]), dtype=torch.float32)
    plain = np.zeros(shown[0].shape, np.float32)
    for count, frame in enumerate(shown, start=1):
        mean, total = frames.running_mean(moved(frame), total, count)
        expected, plain = OPS.running_mean(frame, plain, count)
        assert_same(mean, expected)
        assert_same(total, plain)
