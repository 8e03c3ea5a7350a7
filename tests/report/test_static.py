from __future__ import annotations

import io

import pytest
from PIL import Image

from hardy.errors import InputError
from hardy.report.data import Report
from hardy.report.figures import KINDS, choose_figure, figures
from hardy.report.static import DPI, FORMATS, Print, overview, save


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_drawn_whatever_models_are_called(report: Report, kind: str) -> None:
    """Warnings are errors: no letter may be missing from the font."""
    picture = save(choose_figure(report, kind), "png", Print(4.0, 3.0, "serif", 7.0))
    with Image.open(io.BytesIO(picture)) as opened:
        assert opened.size == (4 * DPI, 3 * DPI)
        assert len(opened.convert("RGB").getcolors(1 << 20) or ()) > 20


@pytest.mark.parametrize("format", FORMATS)
def test_same_figure_same_bytes(report: Report, format: str) -> None:
    figure = choose_figure(report, "bars")
    first = save(figure, format)
    assert first == save(figure, format)
    assert first.startswith({"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}[format])


def test_size_and_font_are_as_stated(report: Report) -> None:
    pdf = save(choose_figure(report, "scatter"), "pdf", Print(3.25, 2.5, "DejaVu Serif", 9.0))
    assert b"/MediaBox [ 0 0 234 180 ]" in pdf
    assert b"DejaVuSerif" in pdf
    assert b"DejaVuSans" not in pdf


def test_overview_has_all_figures_below_each_other(report: Report) -> None:
    shown = figures(report.sections[1])
    with Image.open(io.BytesIO(overview(shown))) as opened:
        whole = opened.size
    heights = []
    for figure in shown:
        with Image.open(io.BytesIO(save(figure, "png"))) as opened:
            heights.append(opened.size[1])
    assert whole == (6.5 * DPI, sum(heights))


def test_what_cannot_be_drawn_is_refused(report: Report) -> None:
    figure = choose_figure(report, "bars")
    with pytest.raises(InputError, match="expected a figure as pdf, svg, png, got gif"):
        save(figure, "gif")
    with pytest.raises(InputError, match='installed font, got "No Such Font"'):
        save(figure, "pdf", Print(font="No Such Font"))
    with pytest.raises(InputError, match="room for all names, got 1 × 1 inches at 30 points"):
        save(figure, "pdf", Print(1.0, 1.0, size=30.0))
    with pytest.raises(InputError, match=r"width from 0.5 to 72, got 0"):
        save(figure, "pdf", Print(width=0.0))
