"""The contact sheet: pictures at their places, names beside them."""

import numpy as np

from hardy.images.sheet import GAP, contact_sheet


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
