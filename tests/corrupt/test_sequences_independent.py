"""The frames are those of an independent implementation, on photographs and noise.

The references are in `sequence_references.py`. Where the arithmetic is followed to the last bit no
value may differ; elsewhere a few, by one grey level.
"""

from __future__ import annotations

import cv2
import numpy as np
import pytest

import hardy
from hardy.corrupt import PERTURBATIONS
from hardy.engine.ops import cpu_ops
from hardy.engine.rng import Draws, derive_key
from hardy.suites import edition, editions
from tests.corrupt.sequence_references import REFERENCES
from tests.photos import photos, random_images

NOISES = {"gaussian_noise", "shot_noise", "speckle_noise"}
# The share of values that may be off by one.
ROUNDED = {
    "snow": 1e-5,  # OpenCV's grey value has fused operations
    # SciPy weighs the four pixels in another order; at 0 degrees places are simple fractions and
    # halves to round are common.
    "tilt": 5e-4,
    "spatter": 1e-5,  # a sum of four products in another order
}


def expected(image: np.ndarray, name: str, chosen: str, frame: int) -> np.ndarray:
    params = edition(chosen).steps(name).params(1)
    key = derive_key(0, chosen, f"p/{name}", 1)
    draws = Draws(cpu_ops(), key, np.array([7], np.uint64))
    fields = PERTURBATIONS[name].draw(draws, image.shape[:2], frame, **params)
    return REFERENCES[name](image, {k: v[0] for k, v in fields.items()}, frame, **params)


def assert_agreement(image: np.ndarray, name: str, chosen: str) -> None:
    frames = hardy.perturb(image, name, id=7, edition=chosen)
    for k in sorted({0, 1, 2, 11, len(frames) // 2, len(frames) - 1}):
        off = np.abs(frames[k].astype(int) - expected(image, name, chosen, k))
        share = np.count_nonzero(off) / off.size
        message = f"frame {k}: {share:.2e} of the values differ, by up to {off.max()}"
        assert share <= ROUNDED.get(name, 0.0), message
        assert off.max() <= (1 if name in ROUNDED else 0), message


def test_every_perturbation_has_a_reference():
    assert set(PERTURBATIONS.names()) == set(REFERENCES) | NOISES


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("chosen", editions("tilt"))
def test_photographs(chosen, name):
    for image in photos(edition(chosen).side)[:2]:
        assert_agreement(image, name, chosen)


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("size", [(45, 37), (96, 131), (8, 50)])
def test_odd_sizes_and_noise(size, name):
    for image in (photos(*size)[0], random_images(1, *size)[0]):
        assert_agreement(image, name, "cifar")
        assert_agreement(image, name, "224")


@pytest.mark.parametrize("frame", [0, 8, 15, 22, 30])
def test_tilt_is_what_opencv_warps(frame):
    """warpPerspective is exact to its grid of 1/32 pixel (OpenCV 4) or nearly so (5)."""
    image = cv2.GaussianBlur(photos(256, 320)[3], (0, 0), 3)
    height, width = image.shape[:2]
    corners = np.float64([[0, 0], [width, 0], [width, height], [0, height]])
    f, u = np.hypot(width, height), np.radians(frame - 15)
    x, y = corners[:, 0] - width / 2, corners[:, 1] - height / 2
    x1, z1 = x * np.cos(u) - np.sin(u), x * np.sin(u) + np.cos(u)
    y2, z2 = y * np.cos(u) - z1 * np.sin(u), y * np.sin(u) + z1 * np.cos(u)
    goals = np.stack([f * x1 / (z2 + f) + width / 2, f * y2 / (z2 + f) + height / 2], -1)
    matrix = cv2.getPerspectiveTransform(corners.astype(np.float32), goals.astype(np.float32))
    warped = cv2.warpPerspective(image, matrix, (width, height))
    off = np.abs(hardy.perturb(image, "tilt", edition="224")[frame].astype(int) - warped)
    # The rim, where the picture meets black, is steep.
    assert np.quantile(off, 0.98) <= 1
    assert off.mean() < 0.15
