"""The benchmark's peculiarities: each test fails when one of them is put right.

Elsewhere: un-renormalised disks and the last bits of flat areas (test_flat_areas), lengths of the
zoom lists and clipped zooms (engine/test_tables), borders of the warps (test_independent).
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import hardy
from hardy.engine import textures
from hardy.engine.ops import cpu_ops
from hardy.suites import edition
from tests.corrupt.legacy import legacy_fields
from tests.corrupt.references import jpeg_compression, plasma
from tests.photos import photos

BLACK = np.zeros((32, 32, 3), np.uint8)
GREY = np.full((32, 32, 3), 128, np.uint8)


def dot(side: int, y: int, x: int) -> np.ndarray:
    image = np.zeros((side, side, 3), np.uint8)
    image[y, x] = 255
    return image


def test_bytes_are_truncated_not_rounded():
    normal = np.zeros((1, 32, 32, 3))
    normal[0, 0, 0, 0] = 0.999 / 255 / 0.08  # 0.999 of a level at sigma 0.08
    normal[0, 0, 1, 0] = 1.001 / 255 / 0.08
    normal[0, 0, 2, 0] = -0.001 / 255 / 0.08
    result = hardy.replay(GREY, "gaussian_noise", 1, {"normal": normal}, edition="224")
    assert result[0, :4, 0].tolist() == [128, 129, 127, 128]


GLASS = {  # side, reach: the rows that one pass of seed 0 changes
    (6, 1): {2: "12 13 8 9 16 16", 3: "18 19 14 20 21 16", 4: "24 25 19 26 22 29",
             5: "30 31 32 33 28 34"},
    (8, 2): {3: "24 25 26 10 11 20 20 31", 4: "32 33 34 50 50 29 20 39",
             5: "40 41 42 27 50 44 36 47", 6: "48 49 50 60 61 36 60 55"},
}  # fmt: skip


@pytest.mark.parametrize(("side", "reach"), GLASS)
def test_glass_copies_and_does_not_swap(side, reach):
    expected = np.arange(side * side).reshape(side, side)
    image = np.repeat(expected[None, ..., None], 3, -1).astype(np.uint8)
    moves = legacy_fields("glass_blur", image[0], {"reach": reach, "passes": 1})["moves"]
    for row, values in GLASS[side, reach].items():
        expected[row] = np.array(values.split(), int)
    result = cpu_ops().shuffle(image, moves, reach)
    np.testing.assert_array_equal(result, np.repeat(expected[None, ..., None], 3, -1))


def test_glass_offsets_are_half_open():
    reach = int(edition("224").params("glass_blur", 5)["reach"])
    moves = hardy.draw("glass_blur", 5, (224, 224))["moves"]
    rows, columns = np.divmod(moves.astype(int), 2 * reach)
    for offset in (rows - reach, columns - reach):
        assert sorted(set(offset.reshape(-1))) == list(range(-reach, reach))
        # So that content drifts right and down, by half a pixel a pass.
        assert offset.mean() == pytest.approx(-0.5, abs=0.05)


def test_glass_never_touches_the_first_row_and_column():
    # At this severity the Gaussian is the identity. The last row and column are targets.
    images = np.random.default_rng(0).integers(0, 256, (50, 32, 32, 3), np.uint8)
    changed = np.any(hardy.corrupt(images, "glass_blur", 1, edition="cifar") != images, axis=(0, 3))
    assert not changed[:2].any()
    assert not changed[:, :2].any()
    assert changed[2:, 2:].all()


def test_frost_uses_five_textures_of_which_two_are_one():
    drawn = hardy.draw("frost", 1, (64, 64), ids=range(5000))["texture"]
    counts = np.bincount(drawn)
    assert len(counts) == 5
    assert stats.chisquare(counts).pvalue > 1e-4
    assert [texture.file[5] for texture in textures.TEXTURES] == list("12345")
    loaded = textures.load_textures(1)
    np.testing.assert_array_equal(loaded[1], loaded[2])


@pytest.mark.parametrize("name", ["224", "299", "64", "cifar"])
def test_frost_never_takes_the_last_offset(name):
    side = edition(name).side
    scale = edition(name).params("frost", 1)["texture_scale"]
    fields = hardy.draw("frost", 1, (side, side), ids=range(20_000), edition=name)
    for k, (height, width) in enumerate(textures.size_for(scale, side, side)):
        mine = fields["texture"] == k
        for offsets, room in ((fields["row"], height - side), (fields["column"], width - side)):
            assert offsets[mine].max() <= room - 1
            if room <= 100:  # few enough for all to be drawn
                assert set(offsets[mine]) == set(range(room))


def test_small_editions_shrink_frost_without_antialiasing():
    # At 0.2 every fifth pixel is taken as it is.
    whole, small = textures.load_textures(1)[0], textures.load_textures(0.2)[0]
    np.testing.assert_array_equal(small, whole[2::5, 2::5])


CLOUD = [
    [0, 0.925363, 1, 0.914413],
    [0.371447, 0.480457, 0.580538, 0.353965],
    [0.530769, 0.328584, 0.203732, 0.668635],
    [0.815359, 0.585855, 0.091932, 0.368502],
]  # published, of the legacy generator's seed 0


def test_plasma_amplitude_is_squared_on_a_torus():
    steps = np.random.RandomState(0).random_sample((1, 15))
    for cloud in (cpu_ops().plasma(steps, 2.0, 4)[0], plasma(steps[0], 2.0)):
        np.testing.assert_allclose(cloud, CLOUD, rtol=0, atol=1e-6)


def test_plasma_is_normalised_before_the_crop():
    # A crop of 40 from 64 need not reach the cloud's maximum; normalised later, it would.
    steps = hardy.draw("fog", 5, (40, 40), ids=range(20), edition="cifar")["steps"]
    peaks = np.array([plasma(row, 1.75)[:40, :40].max() for row in steps])
    white = np.full((20, 40, 40, 3), 255, np.uint8)
    fogged = hardy.corrupt(white, "fog", 5, edition="cifar")
    assert peaks.min() < 0.95
    np.testing.assert_array_equal(
        fogged.max(axis=(1, 2, 3)), np.floor((1 + 1.5 * peaks) / (1 + 1.5) * 255)
    )


@pytest.mark.parametrize(
    ("size", "side"),
    [((224, 224), 256), ((299, 299), 512), ((64, 64), 64), ((32, 32), 32), ((45, 70), 128)],
)
def test_plasma_side_is_the_next_power_of_two(size, side):
    assert hardy.draw("fog", 1, size)["steps"].shape == (1, side**2 - 1)


def test_fog_leaves_black_alone():
    for severity in range(1, 6):
        assert not hardy.corrupt(BLACK, "fog", severity).any()


def test_zoom_blur_counts_the_original_twice():
    # No zoom by more than 1 shows the corner of the image.
    for severity, count in enumerate([12, 16, 11, 13, 11], start=1):
        result = hardy.corrupt(dot(224, 0, 0), "zoom_blur", severity)
        assert result[0, 0].tolist() == [int(255 * 2 / (count + 1))] * 3


def smear(angle: float) -> np.ndarray:
    """Where a white dot in the middle goes, as (row, column) offsets."""
    fields = {"angle": np.array([[angle]])}
    result = hardy.replay(dot(65, 32, 32), "motion_blur", 3, fields, edition="224")
    return np.argwhere(result[..., 0]) - 32


def test_motion_blur_is_one_sided():
    # Each pixel takes from its right, so a dot goes left; upwards if the angle is positive.
    level = smear(0.0)
    assert set(level[:, 0]) == {0}
    assert level[:, 1].min() < -20
    assert level[:, 1].max() == 0
    up, down = smear(45.0), smear(-45.0)
    assert up[:, 0].min() < -10
    assert up[:, 0].max() == 0
    assert down[:, 0].max() > 10
    assert down[:, 0].min() == 0
    for trail in (up, down):
        assert trail[:, 1].max() == 0


def test_motion_blur_takes_whole_pixels_and_rounds_to_the_nearest_byte():
    fields = {"angle": np.array([[0.0]])}
    result = hardy.replay(dot(64, 32, 40), "motion_blur", 1, fields, edition="224")
    weights = np.exp(-(np.arange(21) ** 2) / (2 * 3.0**2))
    expected = 255 * weights / weights.sum()
    row = result[32, 40 - 20 : 41, 0][::-1]
    np.testing.assert_array_equal(row, np.rint(expected))
    assert np.any(row > np.floor(expected))


def test_motion_blur_clamps_at_the_border():
    fields = {"angle": np.array([[0.0]])}
    image = np.zeros((32, 32, 3), np.uint8)
    image[:, -1] = 200
    result = hardy.replay(image, "motion_blur", 1, fields, edition="cifar")
    assert np.all(result[:, -1] == 200)


def test_snow_adds_its_layer_and_the_layer_turned():
    fields = hardy.draw("snow", 2, (64, 64))
    fields["layer"] = np.full_like(fields["layer"], -9.0)
    bare = hardy.replay(np.zeros((64, 64, 3), np.uint8), "snow", 2, fields)
    fields["layer"][:, 10:14, 20:24] = 9.0
    snowed = hardy.replay(np.zeros((64, 64, 3), np.uint8), "snow", 2, fields)
    added = snowed.astype(int) - bare
    assert added[:32].max() > 50
    assert added[32:].max() > 50
    np.testing.assert_array_equal(added, added[::-1, ::-1])


def test_elastic_lengths_go_by_244():
    corners = hardy.draw("elastic_transform", 1, (224, 224), ids=range(300))["corners"]
    assert 0.1 * 224 < np.abs(corners).max() < 0.1 * 244
    rows = [edition("299").params("elastic_transform", s) for s in range(1, 6)]
    assert {row["base"] for row in rows} == {360}


def test_saturate_tints_grey():
    tinted = [hardy.corrupt(GREY, "saturate", s, edition="224")[0, 0].tolist() for s in (3, 4, 5)]
    assert tinted == [[128, 128, 128], [128, 115, 115], [128, 102, 102]]


def test_impulse_noise_hits_single_channels():
    amount = edition("224").params("impulse_noise", 5)["amount"]
    grey = np.full((224, 224, 3), 128, np.uint8)
    hits = np.count_nonzero(hardy.corrupt(grey, "impulse_noise", 5) != 128, axis=-1)
    shares = np.bincount(hits.reshape(-1), minlength=4) / hits.size
    binomial = stats.binom.pmf(range(4), 3, amount)
    np.testing.assert_allclose(shares, binomial, rtol=0, atol=0.01)


def test_jpeg_halves_the_colour_resolution():
    image = photos(64)[0]
    result = hardy.corrupt(image, "jpeg_compression", 1, edition="cifar")
    np.testing.assert_array_equal(result, jpeg_compression(image, {}, quality=80))
    stripes = np.zeros((32, 32, 3), np.uint8)
    stripes[:, ::2, 0] = stripes[:, 1::2, 2] = 200
    faded = hardy.corrupt(stripes, "jpeg_compression", 1, edition="cifar").astype(int)
    assert np.abs(faded[..., 0] - faded[..., 2]).mean() < 60


def test_water_beyond_white_wraps():
    layer = np.empty((1, 224, 224))
    layer[..., :112] = (1.2 - 0.65) / 0.3  # 306 levels, a byte of 50
    layer[..., 112:] = (0.9 - 0.65) / 0.3  # 229 levels
    black = np.zeros((224, 224, 3), np.uint8)
    result = hardy.replay(black, "spatter", 1, {"layer": layer}, edition="224")
    left, right = result[112, 20].astype(float), result[112, 200].astype(float)
    np.testing.assert_allclose(left / right, 50 / 229, atol=0.01)


def test_water_lightens_and_mud_hides():
    photo = photos(224)[0]
    assert np.all(hardy.corrupt(photo, "spatter", 1) >= photo)
    muddy = hardy.corrupt(np.full_like(photo, 255), "spatter", 5)
    assert muddy.min(axis=(0, 1)).tolist() == [63, 42, 20]
