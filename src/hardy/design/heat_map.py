"""The overlap matrix as a heat map: a page by Plotly, or a picture by Matplotlib."""

import io
from collections.abc import Collection
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.design.categories import Categories
from hardy.errors import InputError, need
from hardy.metrics.classification import Floats
from hardy.report.matplotlib_figures import DPI, METADATA, PLOT_FORMATS
from hardy.report.palette import SCALE, ink_on

PICTURE_FORMATS = ("html", *PLOT_FORMATS)
CHARACTER, LINE = 7, 23  # pixels of the small print above a page's map
POINTS = 8  # of the print above a picture's map
LETTER, HIGH = 0.56 * POINTS / 72, 1.45 * POINTS / 72  # inches of it
_MEMBER = "● "  # before the names of a suite's corruptions
DOUBTFUL, CHANCE = "?", "cannot be told from chance"


class Heat(NamedTuple):
    title: str
    note: str
    names: tuple[str, ...]
    values: Floats
    edges: tuple[int, ...] = ()  # places before which a category begins
    doubtful: frozenset[tuple[int, int]] = frozenset()  # row and column, to be marked


def heat_map(
    title: str,
    note: str,
    names: tuple[str, ...],
    values: Floats,
    doubtful: npt.NDArray[np.bool_] | None = None,
) -> Heat:
    """The heat map in an order in which corruptions that overlap stand together."""
    order = ordered(values)
    within = np.ix_(order, order)
    made = Heat(title, note, tuple(names[k] for k in order), values[within])
    if doubtful is None or not doubtful.any():
        return made
    marked = frozenset((int(row), int(column)) for row, column in np.argwhere(doubtful[within]))
    return made._replace(note=f"{note}; {DOUBTFUL}: {CHANCE}", doubtful=marked)


def category_map(
    title: str,
    note: str,
    names: tuple[str, ...],
    values: Floats,
    categories: Categories,
    members: Collection[str] = (),
) -> Heat:
    """The heat map category by category, the members of a suite marked."""
    places = [names.index(name) for group in categories.groups for name in group]
    ends = np.cumsum([len(group) for group in categories.groups])
    marked = tuple(f"{_MEMBER if names[k] in members else ''}{names[k]}" for k in places)
    return Heat(title, note, marked, values[np.ix_(places, places)], tuple(ends[:-1].tolist()))


def ordered(values: Floats) -> list[int]:
    """Leaves of a tree that joins, again and again, the two groups with the largest mean overlap
    (average linkage); what is undefined counts as none."""
    similar = np.nan_to_num(values, nan=0.0)
    groups = [[place] for place in range(len(similar))]
    while len(groups) > 1:
        a, b = max(
            ((a, b) for a in range(len(groups)) for b in range(a + 1, len(groups))),
            key=lambda pair: float(similar[np.ix_(groups[pair[0]], groups[pair[1]])].mean()),
        )
        groups[a] = _joined(groups[a], groups[b], similar)
        del groups[b]
    return groups[0]


def _joined(one: list[int], two: list[int], similar: Floats) -> list[int]:
    """The way round in which the ends that meet are most alike."""
    ways = [(a, b) for a in (one, one[::-1]) for b in (two, two[::-1])]
    left, right = max(ways, key=lambda way: float(similar[way[0][-1], way[1][0]]))
    return left + right


def check_format(format: str) -> None:
    if format not in PICTURE_FORMATS:
        raise InputError(f"expected a picture as .{', .'.join(PICTURE_FORMATS)}, got .{format}")


def draw_heat(heat: Heat, format: str) -> bytes:
    check_format(format)
    return _page(heat) if format == "html" else _picture(heat, format)


def _figure(heat: Heat, row: int, column: int) -> str:
    """A value in little room: what was floored is 0, and not .00, to which others may round."""
    value, mark = heat.values[row, column], DOUBTFUL if (row, column) in heat.doubtful else ""
    if value == 0:
        return f"0{mark}"
    return f"{value:.2f}{mark}".removeprefix("0") if np.isfinite(value) else "–"


def _page(heat: Heat) -> bytes:
    """One file that opens offline; the same matrix gives the same bytes."""
    graphs = need("plotly.graph_objects", "report", "a page")
    from hardy.report.plotly_figures import escape

    names = [escape(name) for name in heat.names]
    known = np.isfinite(heat.values)
    steps = len(SCALE) - 1
    texts = np.where(known, np.char.mod("%.2f", heat.values), "–").tolist()
    for row, column in heat.doubtful:
        texts[row][column] += f", {CHANCE}"
    figure = graphs.Figure(
        graphs.Heatmap(
            x=names,
            y=names,
            z=[[float(v) if np.isfinite(v) else None for v in row] for row in heat.values],
            zmin=0,
            zmax=1,
            colorscale=[[place / steps, colour] for place, colour in enumerate(SCALE)],
            customdata=texts,
            hovertemplate="%{y} and %{x}: %{customdata}<extra></extra>",
            xgap=1,
            ygap=1,
        )
    )
    figures = [
        {
            "x": other,
            "y": name,
            "text": _figure(heat, row, column),
            "showarrow": False,
            "font": {"size": 9, "color": ink_on(float(np.nan_to_num(heat.values[row, column])))},
        }
        for row, name in enumerate(names)
        for column, other in enumerate(names)
    ]
    for edge in heat.edges:
        figure.add_hline(edge - 0.5, line={"width": 2, "color": "#d55e00"})
        figure.add_vline(edge - 0.5, line={"width": 2, "color": "#d55e00"})
    side = 240 + 32 * len(names)
    notes = wrap(heat.note, side // CHARACTER)  # Plotly cuts off what does not fit
    heading = "<br>".join([escape(heat.title), *(f"<sup>{escape(note)}</sup>" for note in notes)])
    figure.update_layout(
        template="none",
        annotations=figures,  # all at once: Plotly copies those that are there for each that comes
        title={"text": heading, "y": 1, "yanchor": "top", "pad": {"t": 46}},
        width=side + 80,
        height=side + LINE * len(notes),
        margin={"l": 160, "b": 140, "t": 64 + LINE * len(notes)},
        xaxis={"type": "category", "tickangle": -60},
        yaxis={"type": "category", "autorange": "reversed"},
    )
    page: str = figure.to_html(include_plotlyjs=True, full_html=True, div_id="overlap")
    return page.replace("<head>", f"<head><title>{escape(heat.title)}</title>", 1).encode()


def _picture(heat: Heat, format: str) -> bytes:
    need("matplotlib", "plot", "a picture")
    from matplotlib.colors import LinearSegmentedColormap
    from matplotlib.figure import Figure

    number = len(heat.names)
    side = 2.2 + 0.32 * number
    heading = [heat.title, *wrap(heat.note, int(side / LETTER) - 4)]
    sheet = Figure(figsize=(side, side + HIGH * len(heading)), layout="constrained")
    sheet.suptitle("\n".join(heading), x=0.1 / side, ha="left", fontsize=POINTS)
    axes: Any = sheet.subplots()
    colours = LinearSegmentedColormap.from_list("overlap", SCALE)
    axes.imshow(np.ma.masked_invalid(heat.values), cmap=colours, vmin=0, vmax=1)
    for (row, column), value in np.ndenumerate(heat.values):
        colour = ink_on(float(np.nan_to_num(value)))
        text = _figure(heat, row, column)
        axes.text(column, row, text, ha="center", va="center", color=colour, fontsize=6)
    for edge in heat.edges:
        axes.axhline(edge - 0.5, color="#d55e00", linewidth=1.5)
        axes.axvline(edge - 0.5, color="#d55e00", linewidth=1.5)
    axes.set_xticks(range(number), heat.names, rotation=60, ha="right", fontsize=POINTS)
    axes.set_yticks(range(number), heat.names, fontsize=POINTS)
    axes.tick_params(length=0)
    data = io.BytesIO()
    sheet.savefig(data, format=format, dpi=DPI, metadata=METADATA[format])
    return data.getvalue()
