"""One panel of a figure, drawn by Matplotlib on a pair of axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hardy.report.figures import Figure, Form, Panel, Series, reaches
from hardy.report.palette import GREY, SCALE, ink_on, style
from hardy.report.words import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#1c2321"
_MOST_TICKS = 12  # with more values on the x-axis, Matplotlib chooses the ticks


def draw_panel(axis: Axes, figure: Figure, panel: Panel) -> None:
    if panel.title:
        axis.set_title(printed(short(panel.title)), loc="left")
    if panel.x_range:
        axis.set_xlim(*panel.x_range)
    if panel.y_range:
        axis.set_ylim(*panel.y_range)
    shown = [one for one in panel.series if one.shown]
    if isinstance(figure.kind, Form):
        figure.kind.paper(axis, panel)
    elif figure.kind == "heat":
        _heat(axis, panel)
    elif figure.kind == "bars":
        _bars(axis, shown, panel)
    else:
        if panel.diagonal:
            axis.plot([0, 100], [0, 100], ":", color=GREY, linewidth=0.8)
        if panel.curve:
            axis.plot(*zip(*panel.curve, strict=True), "-", color=GREY, linewidth=1)
        for one in shown:
            (_points if figure.kind == "points" else _line)(axis, one)
        if figure.kind == "lines" and not panel.diagonal:
            axis.set_ylim(bottom=0)
            ticks = sorted({float(x) for one in shown for x in one.x})
            if len(ticks) <= _MOST_TICKS:
                axis.set_xticks(ticks)


def _line(axis: Axes, one: Series) -> None:
    look = style(one.style)
    line, *_ = axis.errorbar(
        one.x,
        one.y,
        yerr=reaches(one.y, one.low, one.high),
        color=look.colour,
        alpha=0.45 if one.faint else 1,
        linestyle=look.dash[1],
        marker=look.marker[1],
        markersize=2.5,
        linewidth=1,
        elinewidth=0.7,
    )
    line.set(clip_on=False, in_layout=False)  # so that a mark at 0 or 100 % is whole


def _points(axis: Axes, one: Series) -> None:
    look = style(one.style, one.mark)
    own = one.style is not None
    axis.errorbar(
        one.x,
        one.y,
        xerr=reaches(one.x, one.x_low, one.x_high),
        yerr=reaches(one.y, one.low, one.high),
        color=look.colour,
        linestyle="none",
        marker=look.marker[1],
        markersize=5 if own else 3,
        markerfacecolor=look.colour if own else "none",
        elinewidth=0.8,
    )
    for x, y, label, position in zip(one.x, one.y, one.labels or (), one.positions, strict=True):
        if label:
            below, left = position.startswith("bottom"), position.endswith("left")
            written = axis.annotate(
                printed(label),
                (float(x), float(y)),
                xytext=(-3 if left else 3, -3 if below else 3),
                textcoords="offset points",
                horizontalalignment="right" if left else "left",
                verticalalignment="top" if below else "bottom",
                color=INK if own else GREY,
            )
            written.set_in_layout(False)  # else the axes shrink until the longest name fits


def _bars(axis: Axes, shown: list[Series], panel: Panel) -> None:
    names = list(dict.fromkeys(str(name) for one in panel.series for name in one.y))
    place = {name: number for number, name in enumerate(names)}
    own = [one for one in shown if one.style is not None]
    thick = 0.76 / max(1, len(own))
    for number, one in enumerate(own):
        offset = (number - (len(own) - 1) / 2) * thick
        axis.barh(
            [place[str(name)] + offset for name in one.y],
            [float(x) for x in one.x],
            0.9 * thick,
            color=style(one.style).colour,
            xerr=reaches(one.x, one.low, one.high),
            error_kw={"elinewidth": 0.7, "ecolor": INK},
        )
    for one in shown:
        if one.style is None:
            spots = [place[str(name)] for name in one.y]
            marker = style(None, one.mark).marker[1]
            axis.plot(one.x, spots, ls="none", marker=marker, color=GREY, markersize=4, mfc="none")
    if panel.line is not None:
        axis.axvline(panel.line, color=GREY, linestyle="--", linewidth=0.9)
    axis.set_yticks(range(len(names)), names)
    axis.invert_yaxis()
    axis.grid(axis="y", visible=False)


def _heat(axis: Axes, panel: Panel) -> None:
    from matplotlib.colors import LinearSegmentedColormap

    colours = LinearSegmentedColormap.from_list("errors", SCALE)
    cells = [list(row) for row in panel.cells or ()]
    axis.imshow(cells, cmap=colours, vmin=0, vmax=100, aspect="auto")
    for y, row in enumerate(cells):
        for x, value in enumerate(row):
            colour = ink_on(value / 100)
            axis.text(x, y, f"{value:.0f}", ha="center", va="center", color=colour)
    axis.set_xticks(range(len(panel.columns)), panel.columns)
    axis.set_yticks(range(len(panel.rows)), panel.rows)
    axis.tick_params(length=0)
    axis.grid(visible=False)


def legend_handle(one: Series, kind: object) -> Any:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    look = style(one.style, one.mark)
    label = printed(one.name)
    if kind == "bars" and one.style is not None:
        return Patch(color=look.colour, label=label)
    return Line2D(
        [],
        [],
        color=look.colour,
        linestyle=look.dash[1] if kind == "lines" else "none",
        marker=look.marker[1],
        markersize=4,
        markerfacecolor=look.colour if one.style is not None else "none",
        label=label,
    )


def printed(text: str) -> str:
    """The text with an empty square for each letter that the font lacks, such as an emoji."""
    from matplotlib import font_manager, rcParams
    from matplotlib.ft2font import FT2Font

    path = font_manager.findfont(font_manager.FontProperties(family=rcParams["font.family"]))
    font = FT2Font(path)
    # A label that begins with an underscore would be left out of a legend.
    shown = "".join(c if font.get_char_index(ord(c)) else "□" for c in text)
    return f"\u200b{shown}" if shown.startswith("_") and font.get_char_index(0x200B) else shown
