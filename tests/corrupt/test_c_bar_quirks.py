"""Peculiarities of the C-bar benchmarks: each test fails when one of them is put right."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from scipy import ndimage, stats

import hardy
from hardy.corrupt.c_bar.distortions import refract
from hardy.engine.ops import cpu_ops
from hardy.suites import edition
from tests.photos import photos

BLACK, WHITE = (np.full((32, 32, 3), level, np.uint8) for level in (0, 255))


def test_blue_noise_blackens_whole_pixels_evenly_spread():
    image = np.full((224, 224, 3), (90, 120, 150), np.uint8)
    for severity, threshold in enumerate((-2.26, -2.02, -1.78, -1.3, -0.82), start=1):
        black = ~hardy.corrupt(image, "blue_noise_sample", severity).any(-1)
        changed = hardy.corrupt(image, "blue_noise_sample", severity) != image
        np.testing.assert_array_equal(changed.all(-1), black)
        np.testing.assert_array_equal(changed.any(-1), black)
        assert black.mean() == pytest.approx(stats.norm.cdf(threshold), rel=0.1)
        # Noise would have about black.mean() ** 2 of neighbouring pairs.
        assert np.mean(black[1:] & black[:-1]) < 0.7 * black.mean() ** 2 + 1e-4


def test_brownish_noise_keeps_its_mean():
    # Its spectrum has the frequency 0, so a noise is not about 0; its deviation is 1.
    grey = np.full((64, 64, 64, 3), 128, np.uint8)
    noise = hardy.corrupt(grey, "brownish_noise", 1, edition="c_bar").astype(float) - 127.5
    means, deviations = noise.mean((1, 2)), noise.std((1, 2))
    np.testing.assert_allclose(deviations, 6.4, atol=0.1)
    assert np.abs(means).max() > 3
    assert not np.allclose(noise[..., 0], noise[..., 1])


def test_plasma_weakens_the_image():
    # White can only lose: 255 (1 - I / 255) + I is its most.
    for severity, strength in ((1, 30.4), (5, 64.0)):
        result = hardy.corrupt(np.full((64, 64, 3), 255, np.uint8), "plasma_noise", severity)
        assert 255 - 2 * strength - 1 <= result.min() < 255 - strength
        assert 255 - strength < result.max() <= 255


def test_half_the_share_is_chequered():
    image = np.full((40, 64, 64, 3), (1, 2, 3), np.uint8)
    for severity in (1, 5):
        share = edition("c_bar").params("checkerboard_cutout", severity)["share"]
        result = hardy.corrupt(image, "checkerboard_cutout", severity, edition="c_bar")
        grey = (result == 128).all(-1)
        np.testing.assert_array_equal(result[~grey], image[~grey])
        assert grey.mean() == pytest.approx(share / 2, abs=0.04)


def test_a_cell_is_a_pixel_at_least():
    fields = hardy.draw("checkerboard_cutout", 5, (8, 8), ids=range(2), edition="c_bar")
    images = np.zeros((2, 8, 8, 3), np.uint8)
    small, least = dict(fields), dict(fields)
    small["cell"], least["cell"] = np.full(2, 0.3), np.full(2, 1.0)
    np.testing.assert_array_equal(
        hardy.replay(images, "checkerboard_cutout", 5, small, edition="c_bar"),
        hardy.replay(images, "checkerboard_cutout", 5, least, edition="c_bar"),
    )


def test_rings_are_sawteeth():
    fields = hardy.draw("cocentric_sine_waves", 1, (32, 32))
    fields |= {"row": np.zeros(1), "column": np.zeros(1), "wobble": np.zeros(1)}
    fields["width"] = np.full(1, 8.0)
    grey = np.full((32, 32, 3), 128, np.uint8)
    row = hardy.replay(grey, "cocentric_sine_waves", 1, fields)[0, :, 0].astype(int)
    np.testing.assert_array_equal(row, np.floor(128 + 38.4 * (np.arange(32) % 8 / 8 - 0.5)))


def test_the_second_frequency_is_the_smaller():
    # f_1 = 2, f_2 = 0: along one axis nothing changes, along the other a wave runs.
    fields = hardy.draw("single_frequency_greyscale", 3, (32, 32))
    fields |= {"frequency": np.full(1, 2.0), "ratio": np.zeros(1), "phase": np.zeros(1)}
    wave = np.floor(128 + 39.2 * np.sin(2.0 * np.arange(32)))
    grey = np.full((32, 32, 3), 128, np.uint8)
    for swapped, axis in ((0, 1), (1, 0)):
        fields["swapped"] = np.full(1, swapped)
        result = hardy.replay(grey, "single_frequency_greyscale", 3, fields)[..., 0]
        np.testing.assert_array_equal(
            result, np.broadcast_to(wave if axis else wave[:, None], (32, 32))
        )


def test_perlin_clouds_are_never_dark():
    # Turbulence adds absolute values, so the veil lies between half and full brightness.
    for severity in (1, 5):
        weight = edition("c_bar").params("perlin_noise", severity)["weight"]
        veil = hardy.corrupt(BLACK, "perlin_noise", severity)
        assert veil.min() >= int(255 * weight * 0.5)
        assert veil.max() <= 255 * weight
        assert (veil == veil[..., :1]).all()


def test_stars_lighten_and_are_small():
    photo = photos(224)[0]
    for severity in (1, 5):
        result = hardy.corrupt(photo, "sparkles", severity)
        assert (result >= photo).all()
        assert (result == 255).all(-1).sum() >= 5
    # Rays are a pixel long at least, however small the image.
    fields = hardy.draw("sparkles", 1, (32, 32), edition="c_bar_cifar")
    fields["lengths"][:] = -9.0
    dark = hardy.replay(BLACK, "sparkles", 1, fields, edition="c_bar_cifar")
    assert dark.max() > 100


def test_inverse_sparkles_are_a_window():
    result = hardy.corrupt(np.zeros((224, 224, 3), np.uint8), "inverse_sparkles", 5)
    fields = hardy.draw("inverse_sparkles", 5, (224, 224))
    y, x = int(fields["row"][0, 0]), int(fields["column"][0, 0])
    assert result[y, x].max() == 0
    # About a circle of a quarter of the side is seen in full.
    assert 0.1 < np.mean(result < 5) < 0.25
    assert (hardy.corrupt(WHITE, "inverse_sparkles", 3) == 255).all()


def test_level_water_moves_nothing():
    # No slope, no displacement and no light: a net without contrast leaves the image alone.
    photo = photos(32)[:2]
    net = np.zeros((2, 32, 32))
    np.testing.assert_array_equal(refract(cpu_ops(), photo, net, 100.0, 1.0), photo)
    # A slope of less than 0.999 in cosine lights, and moves nothing.
    net += 0.01 * np.arange(32)
    lit = refract(cpu_ops(), photo, net, 100.0, 0.5)[:, :, 1:-1]
    unit = photo[:, :, 1:-1] / 255 - 0.5 * 0.02
    inside = np.s_[:, 1:-1]
    np.testing.assert_allclose(lit[inside], np.clip(unit[inside], 0, 1) * 255, rtol=0, atol=1)


def test_circular_blur_leaves_flat_areas_and_blackens_corners():
    grey = np.full((32, 32, 3), 77, np.uint8)
    for severity in range(1, 6):
        result = hardy.corrupt(grey, "circular_motion_blur", severity)
        assert (result[6:-6, 6:-6] == 77).all()
        assert result[0, 0].max() < 60
    half_turned = hardy.corrupt(photos(32)[0][::-1, ::-1], "circular_motion_blur", 5)
    straight = hardy.corrupt(photos(32)[0], "circular_motion_blur", 5)
    np.testing.assert_array_equal(half_turned[::-1, ::-1], straight)


def test_the_number_of_lines():
    for severity, count in enumerate((1, 3, 4, 6, 8), start=1):
        assert hardy.draw("lines", severity, (32, 32))["turn"].shape == (1, count)


def test_lines_are_a_pixel_wide_and_end_at_whole_pixels():
    fields = hardy.draw("lines", 1, (32, 32))
    fields |= {"row": np.full((1, 1), 10.9), "column": np.zeros((1, 1)), "turn": np.zeros((1, 1))}
    fields["angle"] = np.full((1, 1), np.pi / 2)
    result = hardy.replay(BLACK, "lines", 1, fields)[..., 0]
    assert (result[10] == 128).all()
    assert not np.delete(result, 10, axis=0).any()
    # Ends are truncated towards 0, from -20.5 + 32.
    fields["column"] = np.full((1, 1), -20.5)
    assert np.flatnonzero(hardy.replay(BLACK, "lines", 1, fields)[10, :, 0]).max() == 11


def test_levels_are_cut_after_every_line():
    # So three lines at once are one line three times.
    fields = hardy.draw("lines", 2, (32, 32))
    count = fields["turn"].shape[1]
    fields |= {"row": np.full((1, count), 16.0), "column": np.full((1, count), 16.0)}
    fields |= {"angle": np.full((1, 1), 0.3), "turn": np.zeros((1, count))}
    one = {**fields, **{name: fields[name][:, :1] for name in ("row", "column", "turn")}}
    image = photos(32)[0]
    for _ in range(count):
        image = hardy.replay(image, "lines", 1, one)
    np.testing.assert_array_equal(hardy.replay(photos(32)[0], "lines", 2, fields), image)


def test_the_channel_that_keeps_its_size_is_blurred():
    photo = photos(32)[0]
    blurred = ndimage.correlate1d(photo.astype(float), [1 / 6, 4 / 6, 1 / 6], 0, mode="mirror")
    blurred = ndimage.correlate1d(blurred, [1 / 6, 4 / 6, 1 / 6], 1, mode="mirror")
    for order in permutations(range(3)):
        fields = {"order": np.array([order])}
        result = hardy.replay(photo, "transverse_chromatic_abberation", 3, fields)
        same = [bool((abs(result[..., c] - blurred[..., c]) < 0.51).all()) for c in range(3)]
        assert same == [place == 0 for place in order]


def test_whirls_leave_the_edges_of_their_tiles():
    # Discs are about (5, 5) of 10 x 10 pixels; two rows and columns are in no tile.
    image = photos(32)[0]
    changed = (hardy.corrupt(image, "pinch_and_twirl", 5) != image).any(-1)
    assert not changed[30:].any()
    assert not changed[:, 30:].any()
    for top in range(0, 30, 10):
        for left in range(0, 30, 10):
            tile = changed[top : top + 10, left : left + 10]
            assert not tile[0].any()
            assert not tile[:, 0].any()
            assert not tile[5, 5]
            assert tile[3:8, 3:8].any()


def test_ripples_run_along_their_own_axis():
    # Columns of one colour stay columns: rows move by the row alone.
    bands = np.repeat(np.arange(32, dtype=np.uint8)[:, None] * 8, 32, 1)[..., None].repeat(3, -1)
    result = hardy.corrupt(bands, "ripple", 5)[:, 2:-2]
    assert (result == result[:, :1]).all()
