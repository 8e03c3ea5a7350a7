"""Flat areas: the true value is a whole grey level, so the last bit of the sums decides the byte.

The counts are the published recipes', run with the original libraries; any other order of the same
sums, or float32 for float64, gives other counts. Skies and white backgrounds are such areas.
"""

from __future__ import annotations

import numpy as np
import pytest

import hardy
from hardy.engine.ops import cpu_ops
from hardy.suites import edition
from tests.photos import flat_images

# sigma: how many of the 256 levels come out one lower, and what 255 becomes.
BLURRED = {
    0.05: (0, 255),
    0.1: (0, 255),
    0.25: (0, 255),
    0.4: (56, 255),
    0.5: (66, 255),
    0.6: (1, 255),
    0.7: (0, 255),
    0.75: (30, 255),
    0.8: (0, 255),
    0.9: (10, 255),
    1: (4, 255),
    1.1: (96, 254),
    1.2: (23, 255),
    1.25: (0, 255),
    1.5: (7, 255),
    1.6: (0, 255),
    2: (0, 255),
    2.5: (245, 254),
    3: (7, 255),
    3.5: (0, 255),
    4: (0, 255),
    4.5: (96, 255),
    6: (1, 255),
    6.5: (13, 255),
}


def lost(result: np.ndarray) -> np.ndarray:
    """Which of 256 flat images came out flat and one level lower; no other change is allowed."""
    levels = result[:, 0, 0, 0].astype(int)
    np.testing.assert_array_equal(
        result, np.broadcast_to(levels[:, None, None, None], result.shape)
    )
    fallen = np.arange(256) - levels
    assert set(fallen) <= {0, 1}
    return fallen == 1


@pytest.mark.parametrize("sigma", BLURRED)
def test_gaussian_filter(sigma):
    fallen = lost(cpu_ops().blur(flat_images(12, 9), sigma))
    count, white = BLURRED[sigma]
    assert (np.count_nonzero(fallen), 255 - fallen[255]) == (count, white)


# The float32 weights of these disks sum to just below 1: every level but black falls by one.
FALLING = {("224", 1), ("224", 2), ("224", 3), ("299", 1), ("64", 5)}
BRIGHTENED = {  # where the disk touches its grid: the kernel's sum, left above 1
    ("224", 4): 1.012975, ("224", 5): 1.010786,
    ("299", 3): 1.002859, ("299", 4): 1.010786, ("299", 5): 1.007753,
}  # fmt: skip


@pytest.mark.parametrize("severity", range(1, 6))
@pytest.mark.parametrize("name", ["224", "299", "64", "cifar"])
def test_defocus(name, severity):
    result = hardy.corrupt(flat_images(14, 17), "defocus_blur", severity, edition=name)
    cell = (name, severity)
    if cell in BRIGHTENED:
        brighter = np.minimum(np.arange(256) * BRIGHTENED[cell], 255).astype(np.uint8)
        np.testing.assert_array_equal(
            result, np.broadcast_to(brighter[:, None, None, None], result.shape)
        )
    else:
        assert np.count_nonzero(lost(result)) == (255 if cell in FALLING else 0)


@pytest.mark.parametrize(("name", "count"), [("224", 158), ("64", 114), ("cifar", 121)])
def test_contrast(name, count):
    side = edition(name).side
    # One column is enough: the mean is a running sum over as many pixels as the image has.
    shape = (side * side // 8, 8)
    for severity in (1, 5):
        levels = []
        for start in range(0, 256, 16):
            flats = np.arange(start, start + 16, dtype=np.uint8)[:, None, None, None]
            images = np.ascontiguousarray(np.broadcast_to(flats, (16, *shape, 3)))
            levels.append(hardy.corrupt(images, "contrast", severity, edition=name))
        assert np.count_nonzero(lost(np.concatenate(levels))) == count


@pytest.mark.parametrize(("severity", "count"), list(enumerate([63, 71, 59, 63, 59], start=1)))
def test_zoom_blur(severity, count):
    result = hardy.corrupt(flat_images(40, 32), "zoom_blur", severity, edition="224")
    levels = result[:, 0, 0, 0].astype(int)
    assert np.all(result == levels[:, None, None, None])
    fallen = np.arange(256) - levels
    assert set(fallen) <= {-1, 0, 1}
    assert np.count_nonzero(fallen) == count
