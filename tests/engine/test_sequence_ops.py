"""The primitives of sequences, one by one, against plain NumPy and the mathematics."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hardy.engine.ops import cpu_ops
from hardy.engine.portable import cos_sin
from tests.photos import flat_images, photos, random_images

OPS = cpu_ops()
IDENTITY = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0)


def test_cosine_and_sine():
    for degrees in np.arange(-360, 361, 0.75):
        cosine, sine = cos_sin(math.radians(degrees))
        assert cosine == pytest.approx(math.cos(math.radians(degrees)), rel=1e-15, abs=1e-32)
        assert sine == pytest.approx(math.sin(math.radians(degrees)), rel=1e-15, abs=1e-32)
    assert cos_sin(0.0) == (1.0, 0.0)
    # The double nearest to -2/3 pi is not -120 degrees.
    assert cos_sin(math.pi * -120 / 180)[0] == -0.4999999999999998


def test_the_identity_is_exact():
    images = np.concatenate([photos(40, 33), random_images(2, 40, 33)])
    window = (0, 0, 40, 33)
    canvas = OPS.canvas(images)
    np.testing.assert_array_equal(OPS.affine(canvas, IDENTITY, window), images)
    np.testing.assert_array_equal(OPS.slide(images, 0, window), images)
    projected = OPS.perspective(canvas, (*IDENTITY, 0.0, 0.0, 1.0), window)
    np.testing.assert_array_equal(projected, images)


@pytest.mark.parametrize("window", [(0, 0, 20, 30), (3, 5, 11, 7), (19, 29, 1, 1)])
def test_a_window_is_a_part(window):
    images = random_images(3, 20, 30)
    top, left, height, width = window
    part = (slice(None), slice(top, top + height), slice(left, left + width))
    whole = (0, 0, 20, 30)
    canvas = OPS.canvas(images)
    turn = (0.8, 0.6, -4.0, -0.6, 0.8, 11.0)
    lean = (0.9, 0.1, 2.0, -0.1, 0.9, 2.0, 0.001, 0.002, 1.0)
    for made in (
        lambda w: OPS.affine(canvas, turn, w),
        lambda w: OPS.perspective(canvas, lean, w),
        lambda w: OPS.slide(images, 4, w),
        lambda w: OPS.slide(images, -40, w),
    ):
        np.testing.assert_array_equal(made(window), made(whole)[part])


def test_what_lies_outside():
    """Outside an affine map's image is black at once; a perspective one fades over a pixel."""
    white = np.full((1, 9, 9, 3), 255, np.uint8)
    canvas, window = OPS.canvas(white), (0, 0, 9, 9)
    shift = (1.0, 0.0, 0.4, 0.0, 1.0, 0.0)
    row = OPS.affine(canvas, shift, window)[0, 4, :, 0]
    assert row.tolist() == [255] * 9  # the last place, 8.9, is inside: the edge pixel stands in
    row = OPS.affine(canvas, (1.0, 0.0, 0.5, 0.0, 1.0, 0.0), window)[0, 4, :, 0]
    assert row.tolist() == [255] * 8 + [0]
    row = OPS.perspective(canvas, (*shift, 0.0, 0.0, 1.0), window)[0, 4, :, 0]
    assert row.tolist() == [255] * 8 + [153]  # 0.6 * 255


def test_running_mean_is_float32():
    frames = [*random_images(5, 12, 10), *photos(12, 10)]
    total, plain = np.zeros((1, 12, 10, 3), np.float32), np.zeros((12, 10, 3), np.float32)
    for count, frame in enumerate(frames, start=1):
        mean = OPS.running_mean(frame[None], total, count)[0][0]
        plain = plain + frame.astype(np.float32) / np.float32(255)
        expected = (plain / np.float32(count) * np.float32(255)).astype(np.uint8)
        np.testing.assert_array_equal(mean, expected)
    white = flat_images(8, 8)[255:]
    total = np.zeros((1, 8, 8, 3), np.float32)
    assert all((OPS.running_mean(white, total, k)[0] == 255).all() for k in range(1, 32))


def test_run_down():
    fields = np.random.default_rng(0).normal(size=(2, 12, 5))
    taps = (0.05, 0.1, 0.15, 0.7)
    padded = np.pad(fields, ((0, 0), (2, 1), (0, 0)))
    expected = sum(tap * padded[:, 3 - k : 15 - k] for k, tap in enumerate(taps))
    np.testing.assert_allclose(OPS.run_down(fields, taps, 1), expected, rtol=0, atol=1e-14)


def test_blur_may_be_cut_elsewhere():
    image = np.zeros((1, 9, 31, 3), np.uint8)
    image[:, :, 15] = 255
    for truncate, reach in ((2.0, 2), (3.0, 3)):
        seen = OPS.blur(image, 1.0, truncate)[0, 4, :, 0]
        assert np.flatnonzero(seen).tolist() == list(range(15 - reach, 16 + reach))
