"""What the corruptions of ImageNet-NOC do and their names do not say, at 224 pixels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from PIL import Image

import hardy
from hardy.corrupt import CORRUPTIONS
from hardy.engine.ops import cpu_ops
from hardy.suites import load
from tests.corrupt.noc_references import replay
from tests.photos import flat_images, photos, random_images

BLACK = np.zeros((224, 224, 3), np.uint8)
RNG = np.random.default_rng(8)


def marked(image: np.ndarray) -> set[tuple[int, int]]:
    return set(map(tuple, np.argwhere(image.any(-1)).tolist()))


def test_an_8_bit_step_is_nothing_to_a_byte():
    """floor(255 v) / 255 of v = level / 255, in the float32 of the benchmark."""
    levels = np.arange(256)
    unit = levels.astype(np.float32) / np.float32(255)
    np.testing.assert_array_equal((unit * np.float32(255)).astype(np.uint8), levels)


@pytest.mark.parametrize("n", range(3, 9))
def test_quantization_has_one_level_more_and_no_ties(n):
    ramp = np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, 2)
    levels = np.unique(replay(ramp, "quantization", strength=n))
    assert levels.tolist() == [255 * k // n for k in range(n + 1)]
    # 2 n v = 255 (2 k + 1) has an even and an odd side.
    assert all((2 * n * v) % 510 != 255 for v in range(256))


def test_gaussian_noise_is_one_sided():
    grey = np.full((224, 224, 3), 50, np.uint8)
    result = replay(grey, "gaussian", strength=0.1)
    assert result.min() >= 50
    brightening = result.mean() + 0.5 - 50  # half a level is lost by truncating
    assert brightening == pytest.approx(255 * 0.1 * np.sqrt(2 / np.pi), abs=0.3)


def test_salt_and_pepper_are_coloured():
    grey = np.full((224, 224, 3), 50, np.uint8)
    result = replay(grey, "salt_pepper", strength=0.03)
    pepper, salt = (result == 0), (result == 255)
    assert pepper.mean() == pytest.approx(0.015, abs=0.002)
    assert salt.mean() == pytest.approx(0.015, abs=0.002)
    assert np.all((result == 50) | pepper | salt)
    whole = (pepper | salt).all(-1)
    assert whole.sum() <= 8  # 0.03 ** 3 of the pixels have all three channels hit


def test_blur_darkens_the_frame_and_keeps_what_is_flat():
    for level in (0, 1, 77, 200, 255):
        flat = np.full((224, 224, 3), level, np.uint8)
        result = replay(flat, "blur", strength=0.813)
        assert (result[5:-5, 5:-5] == level).all()
        if level > 20:
            assert (result[0] < level).all()
            assert (result[0, 5:-5] > result[0, 0]).all()


def test_blur_is_five_means_of_three_by_three():
    image = np.zeros((1, 224, 224, 3), np.uint8)
    image[0, 100, 100] = 1
    sums = cpu_ops().box_sums(image, 5)[0, :, :, 0]
    line = np.array([1])
    for _ in range(5):
        line = np.convolve(line, [1, 1, 1])
    np.testing.assert_array_equal(sums[95:106, 95:106], np.outer(line, line))
    assert sums.sum() == 9**5


def test_pixelate_by_three_leaves_a_border():
    """74 squares of 3 are 222 pixels: one more on each side, by reflection within the square."""
    image = photos(224)[0]
    result = replay(image, "pixelate", strength=3)
    first = image[:3, :3].astype(int).sum((0, 1)) // 9
    last = image[219:222, 219:222].astype(int).sum((0, 1)) // 9  # 222 and 223 are not read
    assert (result[:4, :4] == first).all()
    assert (result[-4:, -4:] == last).all()
    assert (result[4:7, 1:4] == image[3:6, :3].astype(int).sum((0, 1)) // 9).all()


@pytest.mark.parametrize("trail", range(7))
@pytest.mark.parametrize("x0", [2, 9, 10, 100, 209, 210, 221])
def test_marks_of_one_line(x0, trail):
    """Any m from 1 to 6 gives the same two groups of dots, where these fit in."""
    result = replay(BLACK, "artifacts", strength=1, row=50, column=x0, trail=trail, grey=200)
    columns = set(range(x0 - 2, x0 + 3))
    if trail and x0 + 2 < 212:
        columns |= {x0 + 6, x0 + 8, x0 + 10, x0 + 12, x0 + 14}
    if trail and x0 - 2 > 7:
        columns |= {x0 - 10, x0 - 8, x0 - 6, x0 - 4, x0 - 2}
    assert marked(result) == {(row, column) for row in (49, 50, 51) for column in columns}
    assert set(np.unique(result).tolist()) == {0, 200}
    upright = replay(
        BLACK, "vertical_artifacts", strength=1, row=x0, column=50, trail=trail, grey=200
    )
    np.testing.assert_array_equal(upright, result.transpose(1, 0, 2))


def test_lines_in_the_corners_are_whole():
    for row, column in ((1, 2), (222, 221)):
        result = replay(BLACK, "artifacts", strength=1, row=row, column=column, trail=0, grey=9)
        assert len(marked(result)) == 15


@pytest.mark.parametrize("place", [(7, 7), (100, 50), (217, 217)])
def test_outline_of_a_rhombus(place):
    r, c = place
    result = replay(BLACK, "rhombus", strength=1, row=r, column=c, grey=90)
    cells = {(r + i, c + k) for i in range(-7, 7) for k in range(-(7 - abs(i)), 7 - abs(i))}
    assert marked(result) == cells | {(r, c)}
    assert len(cells) == 98
    rows, columns = zip(*cells, strict=True)
    assert (min(rows) - r, max(rows) - r) == (-6, 6)
    assert (min(columns) - c, max(columns) - c) == (-7, 6)


@pytest.mark.parametrize("name", ["rain", "circle"])
@pytest.mark.parametrize("place", [(7, 7), (100, 50), (217, 217)])
def test_outline_of_a_disc(name, place):
    r, c = place
    drawn: dict[str, Any] = {"strength": 1, "row": r, "column": c}
    if name == "circle":
        drawn["grey"] = 60
    result = replay(BLACK, name, **drawn)
    halves = {0: 6, 1: 6, 2: 5, 3: 5, 4: 4, 5: 3, 6: 1}
    cells = {
        (r + i, c + k) for i in range(-6, 7) for k in range(-halves[abs(i)], halves[abs(i)] + 1)
    }
    assert marked(result) == cells
    assert len(cells) == 121
    assert set(np.unique(result).tolist()) == {0, 60 if name == "circle" else 127}


@pytest.mark.parametrize("discs", [1, 2, 3, 8, 9, 12])
def test_rain_on_rain(discs):
    levels = flat_images(16, 16)
    for level in (0, 1, 100, 254, 255):
        result = replay(levels[level], "rain", strength=discs, row=[8] * discs, column=[8] * discs)
        expected = 1 - (1 - level / 255) / 2**discs
        assert result[8, 8, 0] == int(255 * expected + 1e-9)


def test_later_stamps_lie_over_earlier_ones():
    greys = [10, 250, 40]
    result = replay(BLACK, "circle", strength=3, row=[50, 50, 53], column=[50] * 3, grey=greys)
    assert result[45, 50, 0] == 250  # of two in one place the second
    assert result[53, 50, 0] == 40
    fewer = replay(BLACK, "circle", strength=2, row=[50, 50, 53], column=[50] * 3, grey=greys)
    assert fewer[53, 50, 0] == 250  # what was drawn beyond the strength is not used


def test_one_grey_for_all_lines_and_one_for_each_rhombus():
    for name, most in (("artifacts", 1), ("vertical_artifacts", 1), ("rhombus", 76)):
        result = hardy.corrupt(BLACK, f"noc_{name}", 1, ids=3)
        assert (result[..., 0] == result[..., 1]).all()
        assert (result[..., 0] == result[..., 2]).all()
        levels = len(set(np.unique(result).tolist()) - {0})
        assert 1 <= levels <= most
        assert most == 1 or levels > 5


def test_border_and_obstruction():
    white = np.full((224, 224, 3), 255, np.uint8)
    framed = replay(white, "border", strength=9, grey=17)
    assert (framed[9:-9, 9:-9] == 255).all()
    assert (framed == 17).sum() == 3 * (224**2 - 206**2)
    square = replay(white, "obstruction", strength=47, row=0, column=177, grey=17)
    assert (square[:47, 177:] == 17).all()
    assert (square == 17).sum() == 3 * 47**2


def test_translation_lets_black_in_and_has_two_lengths():
    image = np.maximum(random_images(1, 224, 224)[0], 1)
    result = replay(image, "translation", right=15, left=0, down=62, up=1)
    np.testing.assert_array_equal(result[:-62, 15:], image[62:, :-15])
    assert not result[-62:].any()
    assert not result[:, :15].any()


def test_shear_keeps_rows():
    rows = np.arange(224, dtype=np.uint8)[:, None, None].repeat(224, 1).repeat(3, 2)
    result = replay(rows, "shear", strength=39, negative=0)
    assert np.all((result == rows) | (result == 0))
    assert (result[112] == rows[112]).all()  # the middle stays
    corner = [bool(result[1, k, 0]) for k in (0, -1)], [bool(result[-1, k, 0]) for k in (0, -1)]
    assert corner in (([True, False], [False, True]), ([False, True], [True, False]))


def test_shear_is_about_the_row_after_the_middle():
    # Pixel 112 has its centre half a pixel past the middle; rows above and below mirror each other.
    line = np.zeros((224, 224, 3), np.uint8)
    line[:, 112] = 255
    result = replay(line, "shear", strength=39, negative=0)[..., 0]
    for k in range(100):
        assert np.argmax(result[112 + k]) + np.argmax(result[112 - k]) == 224


@pytest.mark.parametrize("name", ["rotation", "shear", "translation"])
def test_nearest_neighbours_make_no_new_colours(name):
    image = photos(224)[0]
    result = hardy.corrupt(image, f"noc_{name}", 1)
    known = {tuple(pixel) for pixel in image.reshape(-1, 3).tolist()} | {(0, 0, 0)}
    assert {tuple(pixel) for pixel in result.reshape(-1, 3).tolist()} <= known


@pytest.mark.parametrize("negative", [0, 1])
def test_rotation_is_about_the_pixel_after_the_middle(negative):
    """Half a turn about pixel 112 before it or after is the same, but for ties in fixed point."""
    image = np.zeros((224, 224, 3), np.uint8)
    image[1:, 1:] = photos(223)[0]
    turned = image.copy()
    turned[1:, 1:] = image[:0:-1, :0:-1]
    one, two = (replay(i, "rotation", strength=7, negative=negative) for i in (image, turned))
    inside = np.s_[30:195, 30:195]  # 112 - 82 .. 112 + 82
    assert np.mean((one[inside] == two[inside][::-1, ::-1]).all(-1)) > 0.99


@pytest.mark.parametrize("axis", [0, 1])
def test_elastic_cuts_and_stretches(axis):
    image = photos(224)[0]
    result = replay(image, "elastic", strength=44, axis=axis)
    near = np.delete(np.arange(224), np.arange(44))
    rest = image.take(near, axis=axis)
    # The ends of what is left are the ends of the image.
    np.testing.assert_array_equal(result.take(0, axis=axis), rest.take(0, axis=axis))
    np.testing.assert_array_equal(result.take(-1, axis=axis), image.take(-1, axis=axis))


@pytest.mark.parametrize("negative", [0, 1])
def test_sides_of_the_backlight(negative):
    grey = np.full((224, 224, 3), 100, np.uint8)
    light, dark = (100 + 51, 100 - 51) if not negative else (100 - 51, 100 + 51)
    result = replay(grey, "backlight", strength=0.2001, negative=negative, axis=1, split=0)
    assert (result[:, 67:] // 2 * 2 == light // 2 * 2).all()  # the right part
    assert (abs(result[:, :67].astype(int) - dark) <= 1).all()
    result = replay(grey, "backlight", strength=0.2001, negative=negative, axis=0, split=89)
    assert (abs(result[:156].astype(int) - light) <= 1).all()  # the upper part
    assert (abs(result[156:].astype(int) - dark) <= 1).all()


def test_contrast_goes_to_the_mean_of_all_channels():
    image = np.zeros((8, 8, 3), np.uint8)
    image[..., 0] = 240
    result = replay(image, "contrast", strength=1.0)
    assert (result == 80).all()
    for level in (0, 1, 99, 255):
        flat = np.full((16, 16, 3), level, np.uint8)
        assert (replay(flat, "contrast", strength=0.531) == level).all()


def test_greys_keep_their_level():
    greys = np.arange(256, dtype=np.uint8).reshape(16, 16, 1).repeat(3, 2)
    for weight in (0.49, 0.7, 0.999, 1.0):
        np.testing.assert_array_equal(replay(greys, "gray_scale", strength=weight), greys)
    np.testing.assert_array_equal(replay(greys, "hue", strength=0.37, negative=1), greys)


def test_full_grey_is_pillows_luma():
    image = photos(64)[0]
    luma = np.asarray(Image.fromarray(image).convert("L"))
    result = replay(image, "gray_scale", strength=1.0)
    np.testing.assert_array_equal(result, luma[..., None].repeat(3, 2))


def test_one_channel_is_made_lighter():
    image = photos(64)[0]
    for channel in range(3):
        result = replay(image, "color_disortion", strength=0.2, channel=channel)
        others = [c for c in range(3) if c != channel]
        np.testing.assert_array_equal(result[..., others], image[..., others])
        assert (result[..., channel] >= image[..., channel]).all()


@pytest.mark.parametrize("name", load("noc_23").corruptions)
def test_replayed_whole_numbers_never_read_outside_a_table(name):
    """They are refused where there is no other answer; the least and the greatest are taken."""
    images = random_images(2, 32, 32)
    drawn = hardy.draw(name, 1, (32, 32), ids=range(2))
    for field in (key for key, values in drawn.items() if values.dtype.kind == "i"):
        for outside in (-1_000_000, -1, 1_000_000):
            fields = {**drawn, field: np.full_like(drawn[field], outside)}
            if field in CORRUPTIONS[name].looked_up:
                message = rf"expected the draw '{field}' of {name} from \d+ to \d+, got {outside}"
                with pytest.raises(hardy.InputError, match=message):
                    hardy.replay(images, name, 1, fields)
            else:
                assert hardy.replay(images, name, 1, fields).shape == images.shape


@pytest.mark.parametrize("ends", [(47, 125), (125, 47)])
def test_replayed_strengths_reach_both_ends(ends):
    drawn = hardy.draw("noc_obstruction", 1, (224, 224), ids=range(2))
    fields = {**drawn, "strength": np.array(ends), "row": np.zeros(2, int), "grey": np.full(2, 7)}
    result = hardy.replay(np.zeros((2, 224, 224, 3), np.uint8), "noc_obstruction", 1, fields)
    assert [(image[..., 0] == 7).any(axis=1).sum() for image in result] == list(ends)
