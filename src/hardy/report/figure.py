"""What a plot shows, before anything is drawn: plain data for Plotly and Matplotlib alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from hardy.report.point_labels import Position

Value = float | int | str

# More models than this start hidden; the legend shows them.
SHOWN = 6


def reaches(
    values: Sequence[Value], low: Sequence[float] | None, high: Sequence[float] | None
) -> tuple[list[float], list[float]] | None:
    """How far intervals go below and above their values."""
    if low is None or high is None:
        return None
    return (
        [max(0.0, float(value) - down) for value, down in zip(values, low, strict=True)],
        [max(0.0, up - float(value)) for value, up in zip(values, high, strict=True)],
    )


@dataclass(frozen=True)
class Series:
    name: str
    x: tuple[Value, ...]
    y: tuple[Value, ...]
    style: int | None = None  # the model's number; None: a reference or a published model
    low: tuple[float, ...] | None = None  # the interval of the numbers
    high: tuple[float, ...] | None = None
    x_low: tuple[float, ...] | None = None  # of points, the interval of x
    x_high: tuple[float, ...] | None = None
    labels: tuple[str, ...] | None = None  # written beside the points; empty: none
    positions: tuple[Position, ...] = ()  # where, as seen from the point
    hover: tuple[str, ...] | None = None
    mark: int = 0  # of published models: which of the grey markers
    shown: bool = True  # False: in the legend only, until it is clicked
    faint: bool = False  # the model's lesser line, such as clean beside corrupted

    @property
    def key(self) -> str:
        """Names may be shortened to the same letters."""
        return f"{'-' if self.style is None else self.style} {self.name}"


@dataclass(frozen=True)
class Panel:
    """One pair of axes. Of a heat map `cells` are rows of numbers, else it is None."""

    title: str
    series: tuple[Series, ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    cells: tuple[tuple[float, ...], ...] | None = None
    note: str = ""  # a second line, such as the area under each curve
    diagonal: bool = False
    line: float | None = None  # across the values: the reference
    x_range: tuple[float, float] | None = None
    y_range: tuple[float, float] | None = None


@dataclass(frozen=True)
class Figure:
    """Panels of one kind with shared axes titles, and the sentence that says what to see."""

    name: str  # for ids, files and `hardy plot`
    kind: Literal["bars", "lines", "points", "heat"]
    score: str  # what it shows: "mCE", "T5D"
    title: str
    sees: str
    x_title: str
    y_title: str
    panels: tuple[Panel, ...]
    size: Literal["large", "medium", "small"] = "large"  # of the panels
    has_legend: bool = True

    def legend(self) -> list[Series]:
        """Each series once, as the first panel that has it shows it."""
        found: dict[tuple[int | None, str], Series] = {}
        for panel in self.panels if self.has_legend else ():
            for one in panel.series:
                found.setdefault((one.style, one.name), one)
        return list(found.values())

    def leaves_out(self) -> str:
        """A sentence more for a picture, which has no legend to click on."""
        own = [one for one in self.legend() if one.style is not None]
        drawn = sum(one.shown for one in own)
        return "" if drawn == len(own) else f" Drawn are the first {drawn} of {len(own)} models."
