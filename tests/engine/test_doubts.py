"""Bytes that float32 leaves in doubt are those of the float64 sums, written out plainly here."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from hardy.engine.cpu.ops import OPS
from hardy.engine.portable import cos_sin_degrees
from hardy.engine.tables.filter_weights import disk_kernel, gaussian_weights, trail_weights

UInt8 = NDArray[np.uint8]
Float64 = NDArray[np.float64]


def images() -> dict[str, UInt8]:
    rng = np.random.default_rng(7)
    ramp = np.arange(40, dtype=np.uint8)[:, None, None] + np.arange(50, dtype=np.uint8)[:, None]
    two_levels = (rng.random((40, 50, 3)) < 0.5) * np.uint8(255)
    spots = np.full((40, 50, 3), 255, np.uint8)
    spots[rng.random((40, 50)) < 0.01] = 254  # flat but for a few: both ways to settle a doubt
    return {
        "flat": np.full((40, 50, 3), 255, np.uint8),
        "ramp": np.broadcast_to(ramp, (40, 50, 3)).copy(),
        "two levels": two_levels.astype(np.uint8),
        "spots": spots,
        "noise": rng.integers(0, 256, (40, 50, 3), np.uint8),
    }


def correlated(unit: Float64, weights: Float64, axis: int) -> Float64:
    """SciPy's order of sums: the centre, then pairs from the outermost inwards."""
    reach = len(weights) - 1
    places = np.arange(unit.shape[axis])
    total = unit * weights[0]
    for j in range(reach, 0, -1):
        before = np.take(unit, np.maximum(places - j, 0), axis)
        after = np.take(unit, np.minimum(places + j, len(places) - 1), axis)
        total = total + (before + after) * weights[j]
    return total


@pytest.mark.parametrize("what", images())
@pytest.mark.parametrize("sigma", [0.4, 0.7, 1.0, 1.5, 2.0, 3.0])
def test_a_blur(what: str, sigma: float) -> None:
    image, weights = images()[what], gaussian_weights(sigma)
    unit = correlated(correlated(image / 255.0, weights, 0), weights, 1)
    expected = (np.clip(unit, 0, 1) * 255).astype(np.uint8)
    np.testing.assert_array_equal(OPS.blur(image[None], sigma)[0], expected)


@pytest.mark.parametrize("what", images())
@pytest.mark.parametrize("degrees", [-45.0, 10.0])
def test_a_trail(what: str, degrees: float) -> None:
    image, weights = images()[what], trail_weights(10, 3)
    cosine, sine = cos_sin_degrees(np.array([degrees]))
    taps = np.arange(len(weights))
    columns = np.ceil(taps * cosine - 0.5).astype(np.int64)
    rows = np.ceil(taps * sine - 0.5).astype(np.int64)
    height, width, _ = image.shape
    total = np.zeros(image.shape)
    for weight, row, column in zip(weights, rows, columns, strict=True):
        y = np.clip(np.arange(height) + row, 0, height - 1)
        x = np.clip(np.arange(width) + column, 0, width - 1)
        total = total + 257.0 * image[y][:, x] * weight
    quantum = np.floor(total + 0.5).astype(np.int64) + 128
    expected = ((quantum - (quantum >> 8)) >> 8).astype(np.uint8)
    made = OPS.trail(image[None], weights, rows[None], columns[None])[0]
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize("what", images())
@pytest.mark.parametrize(("radius", "alias"), [(3, 0.1), (4, 0.5), (6, 0.5), (8, 0.5), (10, 0.5)])
def test_a_disk(what: str, radius: float, alias: float) -> None:
    image, kernel = images()[what], disk_kernel(radius, alias)
    reach = len(kernel) // 2
    padded = np.pad(image, ((reach, reach), (reach, reach), (0, 0)), mode="reflect")
    total = np.zeros(image.shape)
    for (row, column), weight in np.ndenumerate(kernel):
        total += np.float64(weight) * padded[row : row + 40, column : column + 50]
    expected = np.minimum(total, 255).astype(np.uint8)
    np.testing.assert_array_equal(OPS.disk(image[None], radius, alias)[0], expected)
