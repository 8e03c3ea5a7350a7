"""Primitives of the CPU engine that no byte of a corrupted image shows directly."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import ndimage

from hardy.engine.cpu import maths
from hardy.engine.ops import cpu_ops
from hardy.suites import edition, editions

OPS = cpu_ops()
ELASTIC = [row for e in editions("fog") for row in edition(e).corruptions["elastic_transform"]]
WARPS = {(row["base"] * row["sigma"], 3.0, "reflect") for row in ELASTIC}
WARPS |= {(sigma, 4.0, "nearest") for sigma in (0.5, 1.8, 4.0, 9.0, 30.0)}


@pytest.mark.parametrize("size", [(8, 8), (9, 40), (64, 33), (97, 130)])
@pytest.mark.parametrize(("sigma", "truncate", "border"), sorted(WARPS))
def test_smooth(sigma, truncate, border, size):
    # Up to kernels many times as wide as the field, folded at its borders again and again.
    fields = np.random.default_rng(0).uniform(-1, 1, (2, *size))
    fields[1, 0] = 5.0  # a border that counts
    result = OPS.smooth(fields, sigma, truncate, border)
    expected = [ndimage.gaussian_filter(f, sigma, truncate=truncate, mode=border) for f in fields]
    np.testing.assert_allclose(result, expected, rtol=0, atol=5e-15)


@pytest.mark.parametrize(("side", "factor"), [(64, 1.75), (32, 2.25), (32, 1.25), (45, 3), (64, 1)])
def test_zoom(side, factor):
    crop = -int(-side // factor)
    field = np.random.default_rng(0).standard_normal((1, crop, crop))
    whole = ndimage.zoom(field[0], factor, order=1)
    trim = (len(whole) - side) // 2
    expected = whole[trim : trim + side, trim : trim + side]
    np.testing.assert_allclose(OPS.zoom(field, factor, (side, side))[0], expected, atol=2e-15)


def test_units_without_a_division_are_those_of_a_division():
    levels = np.arange(256, dtype=np.uint8)
    assert [maths.unit(level) for level in levels] == (levels / 255.0).tolist()
    single = [maths.single_unit(level) for level in levels]
    np.testing.assert_array_equal(np.array(single, np.float32), levels / np.float32(255))


def test_byte_conversions():
    levels = np.arange(256, dtype=np.uint8).reshape(1, 16, 16, 1)
    for dtype in ("float32", "float64"):
        unit = OPS.unit(levels, dtype)
        assert unit.dtype == dtype
        np.testing.assert_array_equal(OPS.to_bytes(unit), levels)
    wild = np.array([-1.0, -1e-9, 0.0, 0.5, 1 - 1e-12, 1.0, 7.0])
    assert OPS.to_bytes(wild).tolist() == [0, 0, 0, 127, 254, 255, 255]
    assert OPS.to_levels(wild * 255).tolist() == [0, 0, 0, 127, 254, 255, 255]


def test_crops():
    sources = [np.random.default_rng(k).integers(0, 256, (20, 30, 3), np.uint8) for k in range(2)]
    which, rows, columns = np.array([1, 0]), np.array([3, 12]), np.array([0, 22])
    result = OPS.crops(sources, which, rows, columns, (8, 8))
    np.testing.assert_array_equal(result[0], sources[1][3:11, :8])
    np.testing.assert_array_equal(result[1], sources[0][12:, 22:])
