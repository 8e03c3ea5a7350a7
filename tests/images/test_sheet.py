"""The contact sheet: pictures at their places, names beside them."""

import numpy as np
from PIL import Image

from hardy.images.sheet import GAP, centre_crop, contact_sheet


def test_pictures_and_names_are_where_they_belong() -> None:
    side = 64
    shades = [
        [np.full((side, side, 3), 40 * row + 7 * column, np.uint8) for column in range(3)]
        for row in range(2)
    ]
    sheet = contact_sheet(["clean", "1", "2"], [("fog", shades[0]), ("a long name", shades[1])])
    left = sheet.shape[1] - 3 * (side + GAP)
    top = sheet.shape[0] - 2 * (side + GAP)
    for row in range(2):
        for column in range(3):
            y, x = top + row * (side + GAP), left + column * (side + GAP)
            np.testing.assert_array_equal(sheet[y : y + side, x : x + side], shades[row][column])
        assert (sheet[top + row * (side + GAP) :][:side, :left] < 128).any(), "row name"
    assert (sheet[top:, : 2 * GAP] == 255).all(), "the longest name fits its margin"
    for column in range(3):
        x = left + column * (side + GAP)
        assert (sheet[:top, x : x + side] < 128).any(), "column name"


def test_centre_crop_is_resize_and_crop() -> None:
    image = np.random.default_rng(0).integers(0, 256, (300, 400, 3), dtype=np.uint8)
    theirs = Image.fromarray(image).resize((341, 256), Image.Resampling.BILINEAR)
    theirs = theirs.crop((58, 16, 58 + 224, 16 + 224))
    np.testing.assert_array_equal(centre_crop(image, 224), np.asarray(theirs))


def test_centre_crop_takes_any_shape() -> None:
    for shape in ((8, 8), (9, 200), (200, 9), (31, 33)):
        assert centre_crop(np.zeros((*shape, 3), np.uint8), 32).shape == (32, 32, 3)
