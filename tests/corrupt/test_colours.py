"""Brightness and saturate equal scikit-image's float64 route through HSV, colour by colour."""

from __future__ import annotations

import numpy as np
import pytest
from skimage import color

import hardy
from hardy.suites import SEVERITIES, edition, editions

# Each distinct setting of all editions, by one cell that has it: 7 shifts and 9 (gain, offset).
SETTINGS = {
    (name, *edition(chosen).params(name, severity).values()): (chosen, severity)
    for name in ("brightness", "saturate")
    for chosen in editions(name)
    for severity in SEVERITIES
}


def hsv_route(hsv: np.ndarray, name: str, *numbers: float) -> np.ndarray:
    changed = hsv.copy()
    if name == "brightness":
        changed[..., 2] = np.clip(hsv[..., 2] + numbers[0], 0, 1)
    else:
        changed[..., 1] = np.clip(hsv[..., 1] * numbers[0] + numbers[1], 0, 1)
    return (np.clip(color.hsv2rgb(changed), 0, 1) * 255).astype(np.uint8)


def differing(colours: np.ndarray) -> dict[tuple[object, ...], int]:
    """Values that differ, by setting, for an image of colours."""
    hsv = color.rgb2hsv(colours / 255.0)
    assert hsv.dtype == np.float64
    wrong = {}
    for setting, (chosen, severity) in SETTINGS.items():
        result = hardy.corrupt(colours, setting[0], severity, edition=chosen)
        wrong[setting] = np.count_nonzero(result != hsv_route(hsv, *setting))
    return {setting: count for setting, count in wrong.items() if count}


def from_numbers(numbers: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """24-bit numbers as an image of RGB colours."""
    return np.stack([numbers >> 16, numbers >> 8, numbers], -1).astype(np.uint8).reshape(*size, 3)


def test_the_settings():
    assert len(SETTINGS) == 7 + 9


def test_half_a_million_colours():
    # All greys, all pairs of equal channels on a lattice, and colours at random.
    grey = np.arange(256) * 0x010101
    a, b = (side.reshape(-1) for side in np.mgrid[:256:5, :256:5])
    pairs = [a << 16 | a << 8 | b, a << 16 | b << 8 | a, b << 16 | a << 8 | a]
    anything = np.random.default_rng(0).integers(0, 2**24, 2**19)
    numbers = np.concatenate([grey, *pairs, anything])[: 2**19]
    assert differing(from_numbers(numbers, (512, 1024))) == {}


@pytest.mark.slow
@pytest.mark.parametrize("part", range(16))
def test_all_colours(part):
    assert differing(from_numbers(np.arange(2**20) + (part << 20), (1024, 1024))) == {}
