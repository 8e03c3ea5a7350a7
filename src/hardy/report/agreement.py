"""The matrix of suites: do models that lose little on one lose little on another?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from hardy.report.figures import SEVERAL_SUITES, Figure, Form, Panel, figure
from hardy.report.gathered import StoreReport
from hardy.report.palette import SCALE, ink_on
from hardy.report.words import count
from hardy.scores.drops import Correlation

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_Pairs = Mapping[tuple[str, str], Correlation]
_ROW = 52  # pixels of the page: a number, and its interval below


@figure(needs=(SEVERAL_SUITES,), part="store")
def agreement(report: StoreReport) -> list[Figure]:
    """The rank correlation of accuracy drops for each pair of suites, with intervals."""
    found = report.correlations
    titles = {section.suite.name: section.suite.title for section in report.sections}
    pairs = {(one.first, one.second): one for one in found}
    pairs |= {(one.second, one.first): one for one in found}
    suites = tuple(name for name in titles if any(name in pair for pair in pairs))
    names = tuple(titles[name] for name in suites)
    form = Form(partial(_page, pairs, suites), partial(_paper, pairs, suites))
    return [
        Figure(
            name="agreement",
            kind=form,
            score="Spearman",
            title="Which shifts agree",
            sees=_see(found, titles),
            x_title="",
            y_title="",
            panels=(Panel("", columns=names, rows=names),),
        )
    ]


def _see(found: list[Correlation], titles: Mapping[str, str]) -> str:
    def told(one: Correlation) -> str:
        low, high = one.spearman_interval
        both = f"{titles[one.first]} and {titles[one.second]}"
        return f"{both} (ρ = {one.spearman:.2f}, 95 % interval {low:.2f} to {high:.2f})"

    most, least = (end(found, key=lambda one: one.spearman) for end in (max, min))
    sentence = f"Models rank most alike on {told(most)}"
    if most is not least:
        sentence += f", and least alike on {told(least)}"
    counts = sorted({one.models for one in found})
    models = count(counts[0], "model")
    if len(counts) > 1:
        models = f"{counts[0]} to {count(counts[-1], 'model')}"
    chance = sum(one.spearman_interval.low <= 0 <= one.spearman_interval.high for one in found)
    doubt = f" In {chance} of {count(len(found), 'pair')} it may be chance." if chance else ""
    return (
        f"{sentence}. ρ is Spearman's rank correlation of accuracy drops over {models}; of "
        f"sequences the drop is the flip probability.{doubt} Intervals take models for independent "
        "of each other, which those of one kind are not."
    )


def _cells(pairs: _Pairs, suites: tuple[str, ...]) -> list[tuple[int, int, Correlation]]:
    return [
        (row, column, pairs[one, other])
        for row, one in enumerate(suites)
        for column, other in enumerate(suites)
        if (one, other) in pairs
    ]


def _share(one: Correlation) -> float:
    """The place on the scale of colours, which goes from -1 to 1."""
    return (one.spearman + 1) / 2


def _page(
    pairs: _Pairs, suites: tuple[str, ...], panel: Panel
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The traces and the layout for Plotly."""
    cells = _cells(pairs, suites)
    shades: list[list[float | None]] = [[None] * len(suites) for _ in suites]
    for row, column, one in cells:
        shades[row][column] = one.spearman
    steps = len(SCALE) - 1
    heat = {
        "type": "heatmap",
        "x": list(panel.columns),
        "y": list(panel.rows),
        "z": shades,
        "zmin": -1,
        "zmax": 1,
        "colorscale": [[place / steps, colour] for place, colour in enumerate(SCALE)],
        "showscale": False,
        "hoverinfo": "skip",
        "xgap": 1,
        "ygap": 1,
    }
    numbers = {
        "type": "scatter",
        "mode": "text",
        "x": [panel.columns[column] for _, column, _ in cells],
        "y": [panel.rows[row] for row, _, _ in cells],
        "text": [_written(one, "<br>") for _, _, one in cells],
        "textfont": {"color": [ink_on(_share(one)) for _, _, one in cells]},
        "hovertext": [
            f"{one.models} models: ρ {one.spearman:.2f}, Pearson's r {one.pearson:.2f}"
            for _, _, one in cells
        ],
        "hoverinfo": "text",
        "meta": "",
    }
    axis = {
        "type": "category",
        "automargin": True,
        "fixedrange": True,
        "ticks": "",
        "showgrid": False,
    }
    return [heat, numbers], {
        "height": 60 + _ROW * len(suites),
        "xaxis": axis | {"side": "top"},
        "yaxis": axis | {"autorange": "reversed"},
    }


def _paper(pairs: _Pairs, suites: tuple[str, ...], axis: Axes, panel: Panel) -> None:
    """The same by Matplotlib."""
    from matplotlib.colors import LinearSegmentedColormap

    shades = [[float("nan")] * len(suites) for _ in suites]
    for row, column, one in _cells(pairs, suites):
        shades[row][column] = one.spearman
        axis.text(
            column,
            row,
            _written(one, "\n"),
            ha="center",
            va="center",
            color=ink_on(_share(one)),
        )
    colours = LinearSegmentedColormap.from_list("agreement", SCALE)
    axis.imshow(shades, cmap=colours, vmin=-1, vmax=1, aspect="auto")
    axis.set_xticks(range(len(suites)), panel.columns, rotation=30, ha="right")
    axis.set_yticks(range(len(suites)), panel.rows)
    axis.tick_params(length=0)
    axis.grid(visible=False)


def _written(one: Correlation, line: str) -> str:
    low, high = one.spearman_interval
    return f"{one.spearman:.2f}{line}{low:.2f} to {high:.2f}"
