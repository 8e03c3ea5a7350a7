"""Figures as Plotly draws them: one palette, one layout.

Colours of text and grid are left to the page, which knows whether it is light or dark. Plotly reads
a little markup in every text, so names are escaped like anywhere else in HTML.
"""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from hardy.errors import need
from hardy.report.figures import Figure, Form, Panel, Series, reaches
from hardy.report.palette import GREY, SCALE, ink_on, style

if TYPE_CHECKING:
    import plotly.graph_objects as go

BAR, GAP = 13, 14  # pixels
_MOST_TICKS = 12  # with more values on the x-axis, Plotly chooses the ticks
_HEIGHTS = {"points": 460, "large": 340, "medium": 300, "small": 176}


def plotly_js() -> str:
    """The source of Plotly, which a page carries so that it opens offline."""
    return str(need("plotly.offline", "report", "the page of a report").get_plotlyjs())


def draw_plotly(figure: Figure) -> list[go.Figure]:
    """A Plotly figure for each panel."""
    graphs = need("plotly.graph_objects", "report", "the page of a report")
    return [graphs.Figure(*_drawn(figure, panel)) for panel in figure.panels]


def escape(text: str) -> str:
    """Escape markup, but leave quotes: Plotly would show their entities as letters."""
    return html.escape(text, quote=False)


def _drawn(figure: Figure, panel: Panel) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The traces and the layout of a panel."""
    layout = _layout(figure, panel)
    if isinstance(figure.kind, Form):
        traces, own = figure.kind.page(panel)
        return traces, layout | own
    return _traces(figure.kind, panel), layout


def _traces(kind: str, panel: Panel) -> list[dict[str, Any]]:
    if kind == "heat":
        return [_heat(panel), _numbers(panel)]
    lines = [_trace(kind, one, panel.unit) for one in panel.series]
    if panel.diagonal:
        ends = [0, 100]
        even: dict[str, Any] = {"type": "scatter", "x": ends, "y": ends, "mode": "lines"}
        lines.insert(0, even | {"line": {"color": GREY, "dash": "dot", "width": 1}, "name": ""})
        lines[0] |= {"hoverinfo": "skip"}
    if panel.curve:
        x, y = zip(*panel.curve, strict=True)
        lines.insert(0, {"type": "scatter", "x": list(x), "y": list(y), "mode": "lines"})
        lines[0] |= {"line": {"color": GREY, "width": 1.5}, "name": "", "hoverinfo": "skip"}
    return lines


def _trace(kind: str, one: Series, unit: str = "%") -> dict[str, Any]:
    look = style(one.style, one.mark)
    trace: dict[str, Any] = {
        "type": "scatter",
        "name": escape(one.name),
        "meta": one.key,
        "x": list(one.x),
        "y": list(one.y),
        "visible": one.shown,
        "customdata": [escape(text) for text in one.hover] if one.hover else None,
    }
    if kind == "bars" and one.style is not None:
        trace |= {
            "type": "bar",
            "orientation": "h",
            "marker": {"color": look.colour},
            "error_x": _whiskers(one.x, one.low, one.high, None),
            "hovertemplate": "%{y}: %{customdata}",
        }
    elif kind == "bars":
        trace |= {
            "mode": "markers",
            "marker": {"color": GREY, "symbol": look.marker[0], "size": 8, "line": {"width": 1.4}},
            "hovertemplate": "%{y}: %{customdata}",
        }
    elif kind == "points":
        trace |= _points(one)
    else:
        opacity = 0.45 if one.faint else 1
        trace |= {
            "mode": "lines+markers",
            "opacity": opacity,
            "line": {"color": look.colour, "width": 1.8, "dash": look.dash[0]},
            "marker": {"symbol": look.marker[0], "size": 5, "color": look.colour},
            "error_y": _whiskers(one.y, one.low, one.high, look.colour),
            "hovertemplate": ("%{y:.1f} %" if unit else "%{y:.4g}")
            + (" at %{x:.0f} %, %{customdata}" if one.hover else " at %{x}"),
        }
    return {key: value for key, value in trace.items() if value is not None}


def _points(one: Series) -> dict[str, Any]:
    look = style(one.style, one.mark)
    own = one.style is not None
    return {
        "mode": "markers+text",
        "text": [escape(text) for text in one.labels or ()],
        "textposition": list(one.positions),
        "textfont": {"size": 12 if own else 10} | ({} if own else {"color": GREY}),
        "marker": {
            "symbol": look.marker[0],
            "color": look.colour,
            "size": 10 if own else 6,
            "line": {"width": 0 if own else 1.2},
        },
        "error_x": _whiskers(one.x, one.x_low, one.x_high, look.colour),
        "error_y": _whiskers(one.y, one.low, one.high, look.colour),
        "hovertemplate": "%{customdata}",
        "cliponaxis": False,
    }


def _whiskers(values: Any, low: Any, high: Any, colour: str | None) -> dict[str, Any] | None:
    ends = reaches(values, low, high)
    if ends is None:
        return None
    return {
        "type": "data",
        "symmetric": False,
        "array": ends[1],
        "arrayminus": ends[0],
        "thickness": 1.2,
        "width": 0 if colour else 2,
    } | ({"color": colour} if colour else {})


def _heat(panel: Panel) -> dict[str, Any]:
    steps = len(SCALE) - 1
    return {
        "type": "heatmap",
        "x": list(panel.columns),
        "y": list(panel.rows),
        "z": [list(row) for row in panel.cells or ()],
        "zmin": 0,
        "zmax": 100,
        "colorscale": [[place / steps, colour] for place, colour in enumerate(SCALE)],
        "showscale": False,
        "hovertemplate": "%{y}, severity %{x}: %{z:.1f} %<extra></extra>",
        "xgap": 1,
        "ygap": 1,
    }


def _numbers(panel: Panel) -> dict[str, Any]:
    """Write the numbers into the cells, as Plotly's own are grey on grey mid-scale."""
    cells = [
        (column, row, value)
        for row, values in zip(panel.rows, panel.cells or (), strict=True)
        for column, value in zip(panel.columns, values, strict=True)
    ]
    return {
        "type": "scatter",
        "mode": "text",
        "x": [column for column, _, _ in cells],
        "y": [row for _, row, _ in cells],
        "text": [f"{value:.0f}" for _, _, value in cells],
        "textfont": {"color": [ink_on(value / 100) for _, _, value in cells]},
        "hoverinfo": "skip",
        "meta": "",
    }


def _layout(figure: Figure, panel: Panel) -> dict[str, Any]:
    """One layout for all figures; `automargin` makes room for long names at any width."""
    small = figure.size == "small"
    layout: dict[str, Any] = {
        "template": "none",
        "showlegend": False,
        "height": _height(figure, panel),
        "margin": {"l": 30, "r": 8, "t": 8, "b": 22}
        if small
        else {"l": 8, "r": 16, "t": 8, "b": 8},
        "hovermode": "closest",
        "dragmode": False,
        "xaxis": {"title": {"text": escape(figure.x_title), "standoff": 10}, "zeroline": False},
        "yaxis": {"title": {"text": escape(figure.y_title), "standoff": 8}, "zeroline": False},
    }
    for axis in ("xaxis", "yaxis"):
        layout[axis] |= {"automargin": True, "fixedrange": True}
        if small:
            layout[axis] |= {"title": None, "nticks": 5, "automargin": False}
    if panel.x_range:
        layout["xaxis"]["range"] = list(panel.x_range)
    if panel.y_range:
        layout["yaxis"]["range"] = list(panel.y_range)
    if figure.kind in ("bars", "heat"):
        layout["yaxis"] |= {"autorange": "reversed", "type": "category", "ticks": ""}
    if figure.kind == "bars":
        layout |= {"barmode": "group", "bargap": 0.28, "bargroupgap": 0.06}
        layout["xaxis"] |= {"rangemode": "tozero"}
    if figure.kind == "heat":
        layout["xaxis"] |= {"type": "category", "side": "top", "title": None}
    if figure.kind == "lines" and not panel.diagonal:
        if len({x for one in panel.series for x in one.x}) <= _MOST_TICKS:
            layout["xaxis"] |= {"dtick": 1}
        layout["yaxis"] |= {"rangemode": "tozero"}
    if panel.line is not None:
        layout["shapes"] = [
            {"type": "line", "x0": panel.line, "x1": panel.line, "y0": 0, "y1": 1, "yref": "paper"}
            | {"line": {"color": GREY, "width": 1.5, "dash": "dash"}}
        ]
    return layout


def _height(figure: Figure, panel: Panel) -> int:
    if figure.kind == "heat":
        return 40 + 26 * len(panel.rows)
    if figure.kind == "bars":
        names = {name for one in panel.series for name in one.y}
        shown = sum(one.style is not None and one.shown for one in panel.series)
        return 60 + len(names) * (BAR * max(1, shown) + GAP)
    return _HEIGHTS["points" if figure.kind == "points" else figure.size]
