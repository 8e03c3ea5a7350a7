"""Which points of a scatter plot can be labelled, and where, so that all labels can be read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

Position = Literal["top right", "top left", "bottom right", "bottom left"]
POSITIONS: tuple[Position, ...] = ("top right", "top left", "bottom right", "bottom left")
# A letter, a line and a point, as shares of the plot's width and height at its usual size.
LETTER, LINE, POINT = 0.0098, 0.045, 0.012
# Right of here a label ends at its point rather than starting there.
TURN = 0.6
MARGIN = 0.05  # of the axes, beyond what is drawn


class Spot(NamedTuple):
    """A point and how far its whiskers reach."""

    x: float
    y: float
    left: float
    right: float
    low: float
    high: float


class Box(NamedTuple):
    """What a label or anything else covers, as shares of the plot."""

    left: float
    right: float
    low: float
    high: float

    def meets(self, other: Box) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.low < other.high and other.low < self.high

    def within(self) -> bool:
        return min(self) >= 0 and max(self) <= 1


def axis_range(ends: Sequence[float]) -> tuple[float, float]:
    """All of them, with a margin."""
    low, high = min(ends), max(ends)
    margin = MARGIN * ((high - low) or 1.0)
    return low - margin, high + margin


def choose_labels(
    spots: Sequence[Spot], names: Sequence[str], own: int
) -> tuple[list[tuple[str, Position]], tuple[float, float], tuple[float, float]]:
    """A name and its position for each point, and the ranges of x and y that this holds for.

    A name is "" where, wherever it stood, it would cover another, a point or a whisker that would
    strike it through, or leave the plot. The first have the choice, and names of the first `own`
    may cover points of the others.
    """
    x_range = axis_range([end for spot in spots for end in (spot.left, spot.right)])
    y_range = axis_range([end for spot in spots for end in (spot.low, spot.high)])

    def place(spot: Spot) -> Spot:
        xs = [(x - x_range[0]) / (x_range[1] - x_range[0]) for x in (spot.x, spot.left, spot.right)]
        ys = [(y - y_range[0]) / (y_range[1] - y_range[0]) for y in (spot.y, spot.low, spot.high)]
        return Spot(xs[0], ys[0], *xs[1:], *ys[1:])

    placed = list(map(place, spots))
    points = [Box(x - POINT, x + POINT, y - LINE / 3, y + LINE / 3) for x, y, *_ in placed]
    taken = points[:own] + [Box(one.left, one.right, one.y, one.y) for one in placed[:own]]
    # A whisker from top to bottom leaves a name readable, but none is better.
    crossed = points[own:] + [Box(one.x, one.x, one.low, one.high) for one in placed[:own]]
    written: list[tuple[str, Position]] = []
    for number, (spot, name) in enumerate(zip(placed, names, strict=True)):
        if number == own:
            taken += points[own:]
        boxes = {position: _box(spot, name, position) for position in _wanted(spot)}
        free = [
            position
            for position, box in boxes.items()
            if box.within() and not any(map(box.meets, taken))
        ]
        free.sort(key=lambda position: sum(map(boxes[position].meets, crossed)))
        written.append((name, free[0]) if free else ("", POSITIONS[0]))
        if free:
            taken.append(boxes[free[0]])
    return written, x_range, y_range


def _wanted(spot: Spot) -> list[Position]:
    first = "left" if spot.x > TURN else "right"
    return sorted(POSITIONS, key=lambda position: not position.endswith(first))


def _box(spot: Spot, name: str, position: Position) -> Box:
    """Beside the point's whiskers, not on them."""
    length, middle = LETTER * len(name), spot.y + (LINE if position.startswith("top") else -LINE)
    left = spot.x + POINT / 2 if position.endswith("right") else spot.x - POINT / 2 - length
    return Box(left, left + length, middle - LINE / 2, middle + LINE / 2)
