"""How scores show themselves in a notebook: small HTML without scripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hardy.scores.score import Score

BLUE, GREY = "#0072b2", "#7d8785"  # of the palette that reports have
CELL = 'style="text-align: right; font-variant-numeric: tabular-nums; padding: 2px 12px"'
NAME = 'style="text-align: left; padding: 2px 12px"'


def score_html(score: Score) -> str:
    return _table([score], str(score.circumstances))


def scores_html(
    model: str,
    scores: Iterable[Score],
    notes: Sequence[str] = (),
    mark: Callable[[Score], str] = lambda score: "",
) -> str:
    """The headline of a run, with the circumstances of its first score; marks follow numbers."""
    shown = list(scores)
    told = [str(shown[0].circumstances), *(f"note: {note}" for note in notes)]
    return _table(shown, *told, title=model, mark=mark)


def _table(
    scores: list[Score],
    *told: str,
    title: str = "",
    mark: Callable[[Score], str] = lambda score: "",
) -> str:
    rows = "".join(
        f"<tr><th {NAME}>{escape(score.name)}</th>"
        f"<td {CELL}>{escape(score.figure() + mark(score))}</td><td>{_strip(score)}</td></tr>"
        for score in scores
    )
    caption = f"<caption {NAME}><b>{escape(title)}</b></caption>" if title else ""
    below = "".join(f'<div style="color: {GREY}">{escape(line)}</div>' for line in told)
    return f"<table>{caption}{rows}</table>{below}"


def _strip(score: Score) -> str:
    """The interval from 0 to 100, or to its own end where it goes further."""
    top = max(100.0 if score.unit or score.value > 2 else 1.0, score.interval.high)
    low, value, high = (
        120 * max(0.0, number) / top
        for number in (score.interval.low, score.value, score.interval.high)
    )
    return (
        '<svg width="124" height="12" viewBox="-2 0 124 12" role="img" '
        f'aria-label="95 % interval from {score.interval.low:.4g} to {score.interval.high:.4g}">'
        f'<path d="M0 6h120" stroke="{GREY}" stroke-opacity=".35" stroke-width="2"/>'
        f'<path d="M{low:.1f} 6H{high:.1f}" stroke="{BLUE}" stroke-width="4"/>'
        f'<circle cx="{value:.1f}" cy="6" r="3" fill="{BLUE}"/></svg>'
    )
