from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from hardy.errors import InputError
from hardy.report import matplotlib_figures as static
from hardy.report.figures import FIGURES, Figure, Panel, Series, choose_figure, figures
from hardy.report.gathered import StoreReport, gather
from hardy.report.matplotlib_figures import (
    DPI,
    PLOT_FORMATS,
    OverviewPart,
    Print,
    overview,
    save_figure,
)
from tests.report.conftest import LONG, MARKUP, QUOTES
from tests.report.stores import write_run, write_shift_run
from tests.report.test_training_curves import write_training


@pytest.fixture(scope="module")
def shifts(tmp_path_factory: pytest.TempPathFactory) -> StoreReport:
    """The same models on a natural shift."""
    store = tmp_path_factory.mktemp("shifts")
    for number, model in enumerate((MARKUP, QUOTES, LONG)):
        write_shift_run(store, model, "imagenet_r", right=150 + 20 * number, clean=360)
    return gather(store)


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> StoreReport:
    """Five models, three of them the same, on two natural shifts; and a training."""
    store = tmp_path_factory.mktemp("several")
    for number, model in enumerate((MARKUP, QUOTES, LONG, "d", "e")):
        for suite in ("imagenet_r", "imagenet_a"):
            write_shift_run(store, model, suite, right=150 + 20 * number, clean=360)
    write_training(store / "<b> $x_1$ & *")
    return gather(store)


@pytest.fixture(scope="module")
def types(tmp_path_factory: pytest.TempPathFactory) -> StoreReport:
    """The same models on unseen subtypes of broad types."""
    store = tmp_path_factory.mktemp("types")
    for number, model in enumerate((MARKUP, QUOTES, LONG)):
        write_shift_run(store, model, "imagenet_subtypes", right=150 + 20 * number, clean=360)
    return gather(store)


@pytest.mark.parametrize("kind", FIGURES)
def test_every_kind_is_drawn_whatever_models_are_called(
    report: StoreReport, shifts: StoreReport, several: StoreReport, types: StoreReport, kind: str
) -> None:
    """Warnings are errors: no letter may be missing from the font."""
    suite = "imagenet_c" if kind == "scatter" else None
    other = {"effective": shifts, "agreement": several, "training": several, "subtypes": types}
    figure = choose_figure(other.get(kind, report), kind, suite=suite)
    picture = save_figure(figure, "png", Print(4.0, 3.0, "serif", 7.0))
    with Image.open(io.BytesIO(picture)) as opened:
        assert opened.size == (4 * DPI, 3 * DPI)
        assert len(opened.convert("RGB").getcolors(1 << 20) or ()) > 20


@pytest.mark.parametrize("format", PLOT_FORMATS)
def test_same_figure_same_bytes(report: StoreReport, format: str) -> None:
    figure = choose_figure(report, "bars")
    first = save_figure(figure, format)
    assert first == save_figure(figure, format)
    assert first.startswith({"pdf": b"%PDF", "svg": b"<?xml", "png": b"\x89PNG"}[format])


def test_size_and_font_are_as_stated(report: StoreReport) -> None:
    figure = choose_figure(report, "scatter", score="mCE")
    pdf = save_figure(figure, "pdf", Print(3.25, 2.5, "DejaVu Serif", 9.0))
    assert b"/MediaBox [ 0 0 234 180 ]" in pdf
    assert b"DejaVuSerif" in pdf
    assert b"DejaVuSans" not in pdf


def test_overview_has_all_figures_below_each_other(report: StoreReport) -> None:
    shown = figures(report.sections[1])
    with Image.open(io.BytesIO(overview([OverviewPart("ImageNet-C", "", shown)]))) as opened:
        whole = opened.size
    heights = []
    for figure in shown:
        with Image.open(io.BytesIO(save_figure(figure, "png"))) as opened:
            heights.append(opened.size[1])
    assert whole[0] == 6.5 * DPI
    assert whole[1] > sum(heights) + len(shown) * 3 * DPI * 8 / 72, "a title and a sentence each"
    other = replace(shown[0], sees="Something else to see.")
    alone = [OverviewPart("ImageNet-C", "", [one]) for one in (shown[0], other)]
    assert overview(alone[:1]) != overview(alone[1:])
    assert overview(alone[:1]) != overview([alone[0]._replace(title="CIFAR-10-C")])


def test_a_picture_says_which_models_it_leaves_out(report: StoreReport) -> None:
    section = report.sections[0]
    entries = tuple(
        replace(section.entries[place % 3], style=place, label=f"model {place}")
        for place in range(9)
    )
    for kind in ("bars", "curves"):
        assert choose_figure(report, kind).leaves_out() == ""
        many = choose_figure(StoreReport((replace(section, entries=entries),)), kind)
        assert many.leaves_out() == " Drawn are the first 6 of 9 models."


def test_bars_of_one_corruption_have_room_below_the_legend(tmp_path: Path) -> None:
    for name in ("one", "other"):
        write_run(tmp_path, name, "cifar10_c", images=12, classes=10, only=("fog",), worst=False)
    assert save_figure(choose_figure(gather(tmp_path), "bars"), "svg").startswith(b"<?xml")


def test_legend_stays_within_the_picture(report: StoreReport) -> None:
    for width in (6.5, 3.3):
        picture = save_figure(choose_figure(report, "bars"), "png", Print(width))
        with Image.open(io.BytesIO(picture)) as opened:
            edge = np.asarray(opened.convert("L"))[: DPI // 2, -2:]
        assert (edge == 255).all()


def test_the_lowest_panel_of_every_column_has_its_ticks(report: StoreReport) -> None:
    sheet = static._draw(choose_figure(report, "curves"), Print())
    told = [axis.xaxis.get_tick_params()["labelbottom"] for axis in sheet.axes]
    assert told == [False] * 11 + [True] * 4


def test_what_cannot_be_drawn_is_refused(report: StoreReport) -> None:
    figure = choose_figure(report, "bars")
    with pytest.raises(InputError, match="expected a figure as pdf, svg, png, got gif"):
        save_figure(figure, "gif")
    with pytest.raises(InputError, match='installed font, got "No Such Font"'):
        save_figure(figure, "pdf", Print(font="No Such Font"))
    with pytest.raises(InputError, match="room for all names, got 1 × 1 inches at 30 points"):
        save_figure(figure, "pdf", Print(1.0, 1.0, size=30.0))
    with pytest.raises(InputError, match=r"width from 0.5 to 72, got 0"):
        save_figure(figure, "pdf", Print(width=0.0))


def test_bars_of_few_corruptions_have_room_and_marks_at_the_edges_are_whole() -> None:
    names, at_the_edges = ("snow", "fog"), (0.0, 100.0)
    models = [Series(name, (50.0, 60.0), names, style) for style, name in enumerate("abc")]
    facts: dict[str, Any] = {
        "name": "n",
        "score": "s",
        "title": "t",
        "sees": "",
        "x_title": "x",
        "y_title": "",
    }
    bars = Figure(kind="bars", panels=(Panel("", tuple(models)),), **facts)
    with static._settings(Print()):
        sheet = static._draw(bars, Print())
        sheet.draw_without_rendering()
        tall = sheet.axes[0].get_window_extent().height / sheet.dpi * 72
    assert tall >= 2 * 3 * 5, "five points for each bar"
    marks = Series("a", at_the_edges, at_the_edges, 0)
    panel = Panel("", (marks,), diagonal=True, x_range=(0.0, 100.0), y_range=(0.0, 100.0))
    with static._settings(Print()):
        axis = static._draw(Figure(kind="lines", panels=(panel,), **facts), Print()).axes[0]
    assert not axis.lines[-1].get_clip_on()
