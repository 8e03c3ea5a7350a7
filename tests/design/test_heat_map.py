"""The order and the marks of heat maps."""

from __future__ import annotations

import io
import re

import numpy as np
import pytest
from PIL import Image

from hardy.design.categories import Categories
from hardy.design.heat_map import CHANCE, category_map, draw_heat, heat_map, ordered
from hardy.errors import InputError
from hardy.report.matplotlib_figures import DPI
from tests.design.matrices import blocks
from tests.report.browser import CHROMIUM, chromium


def test_what_overlaps_stands_together() -> None:
    values = blocks(4, 3, 5).values
    group = np.repeat([0, 1, 2], [4, 3, 5])
    shuffled = np.random.default_rng(0).permutation(12)
    order = ordered(values[np.ix_(shuffled, shuffled)])
    assert sorted(order) == list(range(12))
    found = group[shuffled][order]
    assert np.count_nonzero(np.diff(found)) == 2


def test_groups_meet_where_they_are_alike() -> None:
    place = np.random.default_rng(0).permutation(9)
    values = 1 - np.abs(place[:, None] - place[None, :]) / 9
    found = place[ordered(values)]
    assert np.abs(np.diff(found)).max() <= 2
    assert abs(int(found[0]) - int(found[-1])) >= 6


def test_undefined_ones_stand_apart() -> None:
    values = blocks(3, 3).values.copy()
    values[1, :] = values[:, 1] = np.nan
    values[1, 1] = 1
    order = ordered(values)
    assert order.index(1) in (0, 5)


def test_a_heat_map_keeps_names_with_their_numbers() -> None:
    draws = np.random.default_rng(0).random((6, 6))
    values = draws + draws.T
    names = tuple("abcdef")
    made = heat_map("t", "n", names, values)
    for row, one in enumerate(made.names):
        for column, two in enumerate(made.names):
            assert made.values[row, column] == values[names.index(one), names.index(two)]


def test_categories_are_parted_and_members_marked() -> None:
    matrix = blocks(2, 3)
    found = Categories((("c01", "c03"), ("c00", "c02", "c04")), 0.6)
    made = category_map("t", "n", matrix.names, matrix.values, found, ("c03",))
    assert made.names == ("c01", "● c03", "c00", "c02", "c04")
    assert made.edges == (2,)
    assert made.values[0, 2] == matrix.values[1, 0]


def test_names_are_no_markup() -> None:
    made = heat_map("<b>t</b>", "n", ("<i>a", "b"), np.eye(2))
    page = draw_heat(made, "html").decode()
    assert "<title>&lt;b&gt;t&lt;/b&gt;</title>" in page
    assert "<i>a" not in page


def test_long_notes_get_lines_of_their_own() -> None:
    page = draw_heat(heat_map("t", "so many words " * 20, ("a", "b"), np.eye(2)), "html").decode()
    lines = re.findall(r"sup\\u003e([^\\]*)\\u003c\\u002fsup", page)
    assert len(lines) > 5
    assert max(map(len, lines)) * 7 <= 240 + 2 * 32


@pytest.mark.parametrize("number", [2, 3, 5])
def test_a_heading_keeps_off_the_borders_of_a_picture(number: int) -> None:
    names = ("noc_blur", "noc_rain", "noc_color_disortion", "noc_hue", "noc_shear")[:number]
    for net in ("allconv", "wrn_10_1", "a_net_of_so_long_a_name"):
        note = f"{number} corruptions of cifar10_noc_23, {net} for 15 epochs; ?: {CHANCE}"
        picture = draw_heat(heat_map("Overlap (ratio)", note, names, np.eye(number)), "png")
        with Image.open(io.BytesIO(picture)) as opened:
            ink = np.asarray(opened.convert("L")) < 200
        map_starts = int(np.flatnonzero(ink.sum(axis=1) > ink.shape[1] / 3)[0])
        across = np.flatnonzero(ink[: map_starts - 10].any(axis=0))
        edge = 0.08 * DPI
        assert edge < across[0], note
        assert across[-1] < ink.shape[1] - edge, note


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: apt-get install chromium")
def test_the_heading_of_a_page_covers_nothing(tmp_path) -> None:
    target = tmp_path / "map.html"
    names = ("noc_blur", "noc_rain", "noc_color_disortion")
    with chromium() as page:
        for words in (5, 15, 40):
            target.write_bytes(
                draw_heat(heat_map("t", "a word " * words, names, np.eye(3)), "html")
            )
            page.open(target.as_uri(), 900)
            page.wait(
                "document.querySelector('.gtitle') && document.querySelector('.heatmaplayer')"
            )
            sides = "(r => [r.left, r.right, r.top, r.bottom])"
            left, right, top, bottom = page.run(
                f"{sides}(document.querySelector('.gtitle').getBoundingClientRect())"
            )
            whole, tools, drawn = (
                page.run(f"{sides}(document.querySelector('{part}').getBoundingClientRect())")
                for part in (".main-svg", ".modebar", ".heatmaplayer image")
            )
            assert whole[0] < left
            assert right < whole[1]
            assert tools[3] <= top
            assert bottom <= drawn[2]


def test_figures_in_cells() -> None:
    values = np.array([[1.0, 0.0, 0.004], [0.0, 1.0, np.nan], [0.004, np.nan, 1.0]])
    page = draw_heat(heat_map("t", "n", ("a", "b", "c"), values), "html").decode()
    drawn = re.findall(r'"showarrow":false,"text":"([^"]*)"', page)
    assert sorted(drawn) == sorted(["1.00"] * 3 + ["0"] * 2 + [".00"] * 2 + ["\\u2013"] * 2)


def test_doubtful_figures_are_marked() -> None:
    values = np.array([[1.0, 0.0, 0.4], [0.0, 1.0, 0.7], [0.4, 0.7, 1.0]])
    doubtful = np.zeros((3, 3), bool)
    doubtful[0, 2] = doubtful[2, 0] = True  # c stands between a and b
    made = heat_map("t", "n", ("a", "b", "c"), values, doubtful)
    assert made.note == "n; ?: cannot be told from chance"
    page = draw_heat(made, "html").decode()
    drawn = re.findall(r'"showarrow":false,"text":"([^"]*)"', page)
    assert sorted(drawn) == sorted(["1.00"] * 3 + ["0"] * 2 + [".40?"] * 2 + [".70"] * 2)
    assert page.count('"0.40, cannot be told from chance"') == 2
    for format in ("html", "png"):
        plain = draw_heat(
            heat_map("t", "n", ("a", "b", "c"), values, np.zeros((3, 3), bool)), format
        )
        assert plain == draw_heat(heat_map("t", "n", ("a", "b", "c"), values), format)
        assert draw_heat(made, format) != plain


def test_other_formats() -> None:
    with pytest.raises(
        InputError, match=r"expected a picture as .html, .pdf, .svg, .png, got .gif"
    ):
        draw_heat(heat_map("t", "n", ("a", "b"), np.eye(2)), "gif")
