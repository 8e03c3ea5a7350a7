"""The papers' scatter plots: robustness against clean accuracy, with the published points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hardy.metrics.natural_shifts import accuracy
from hardy.report import published_points as published
from hardy.report.figures import CLEAN_ACCURACY, Figure, Panel, Position, Series, figure
from hardy.report.gathered import ModelEntry, Section, compared
from hardy.report.words import count, left_out, not_compared, short, some
from hardy.scores.part_of_suite import why_apart
from hardy.scores.run_scores import families
from hardy.scores.score import Score

UNNAMED = " Names that would cover others are left out; the legend has them all."

_POSITIONS: tuple[Position, ...] = ("top right", "top left", "bottom right", "bottom left")
# A letter, a line and a point, as shares of the plot's width and height at its usual size.
LETTER, LINE, POINT = 0.0098, 0.045, 0.012
# A point right of this has its label at its left.
_TURN = 0.6
MARGIN = 0.05  # how far the axes go beyond what is drawn, as a share


@figure(needs=(CLEAN_ACCURACY,))
def scatter(section: Section) -> list[Figure]:
    """Each headline score against clean accuracy, with what others published."""
    found: list[Figure | None] = []
    apart = any(section.effective()) or (section.suite.shift and section.suite.shift.types)
    drawn = [accuracy.mean] if apart else []  # by figures of their own
    for *ratios, plain in families(section.kind):
        if plain.mean in drawn:
            continue
        against_reference = [made for ratio in ratios if (made := _scatter(section, ratio.mean))]
        found += against_reference or [_scatter(section, plain.mean)]
    return [made for made in found if made]


def _scatter(section: Section, metric: str) -> Figure | None:
    own = [
        (entry, entry.clean_error, entry.scores[metric])
        for entry in section.entries
        if entry.clean_error is not None and metric in entry.scores
    ]
    if not own:
        return None
    lower_is_better = own[0][2].lower_is_better
    others = published.points(section.suite.name, metric)
    why = why_apart(section.suite, own[0][2].circumstances) if others else ""
    others = [] if why else others
    spots = [_spot(clean, score) for _, clean, score in own]
    spots += [
        Spot(one.accuracy, one.value, one.accuracy, one.accuracy, one.value, one.value)
        for one in others
    ]
    names = [short(entry.label) for entry, _, _ in own] + [short(one.name, 24) for one in others]
    written, x_range, y_range = choose_labels(spots, names, len(own))
    series = [
        spot_series(name, spot, entry.style, label, f"{score.figure()}, accuracy {spot.x:.1f} %")
        for (entry, _, score), spot, name, label in zip(own, spots, names, written, strict=False)
    ]
    if others:
        series.append(
            Series(
                "published",
                tuple(one.accuracy for one in others),
                tuple(one.value for one in others),
                labels=tuple(label for label, _ in written[len(own) :]),
                positions=tuple(position for _, position in written[len(own) :]),
                hover=tuple(
                    f"{one.name}: {one.value:g}, accuracy {one.accuracy:.1f} % ({one.source})"
                    for one in others
                ),
            )
        )
    unit = f" ({own[0][2].unit})" if own[0][2].unit else ""
    return Figure(
        name=f"{section.slug}-scatter-{metric.lower().replace(' ', '-')}",
        kind="points",
        score=metric,
        title=f"Clean accuracy against {metric}",
        sees=_see_scatter(section, own, metric, others)
        + ("" if all(label for label, _ in written[: len(own)]) else UNNAMED)
        + left_out(why),
        x_title="Clean accuracy (%)",
        y_title=f"{metric}{unit}, {'lower' if lower_is_better else 'higher'} is better",
        panels=(Panel("", tuple(series), x_range=x_range, y_range=y_range),),
    )


def _spot(clean: Score, score: Score) -> Spot:
    low, high = clean.interval
    return Spot(100 - clean.value, score.value, 100 - high, 100 - low, *score.interval)


def _see_scatter(
    section: Section,
    own: list[tuple[ModelEntry, Score, Score]],
    metric: str,
    others: list[published.PublishedPoint],
) -> str:
    alike = compared(own, lambda one: one[0])
    robust, _, top = min(alike, key=lambda one: one[2].loss)
    better, best_of_all = ("lower", "lowest") if top.lower_is_better else ("higher", "highest")
    least = min(clean.value for _, clean, _ in alike)
    accurate = [entry.label for entry, clean, _ in alike if clean.value == least]
    leading = [entry.label for entry, _, score in alike if score.loss == top.loss]
    both = [label for label in accurate if label in leading]
    if len(alike) == 1:
        sentence = f"{robust.label} has {metric} {top.figure()}."
    elif len(both) > 1:
        sentence = f"{some(both)} are equal in clean accuracy and in {metric}."
    elif len(accurate) > 1:
        sentence = f"{leading[0]} has the {best_of_all} {metric}; {some(accurate)} are as accurate."
    elif len(leading) > 1:
        sentence = f"{accurate[0]} is the most accurate; {some(leading)} are equal in {metric}."
    elif both:
        sentence = f"{both[0]} is both the most accurate model here and the {best_of_all} in "
        sentence += f"{metric}."
    else:
        sentence = f"{accurate[0]} is the most accurate, but {leading[0]} has the {best_of_all} "
        sentence += f"{metric}."
    sentence += not_compared(len(alike) < len(own))
    if others:
        if not robust.run.adapted:
            sign = 1 if top.lower_is_better else -1
            ahead = sum(sign * one.value < top.loss for one in others)
            sentence += (
                f" Of {count(len(others), 'published result')} {ahead or 'none'} "
                f"{'is' if ahead < 2 else 'are'} {better} in {metric}."
            )
        images = own[0][2].circumstances.images
        sentence += (
            f" Grey points are as printed, on {section.suite.images}, while these models saw "
            f"{count(images, 'image')}."
        )
    return sentence


class Spot(NamedTuple):
    """A point and how far its whiskers reach."""

    x: float
    y: float
    left: float
    right: float
    low: float
    high: float


class LabelBox(NamedTuple):
    """The rectangle that a label or a mark covers, as shares of the plot."""

    left: float
    right: float
    low: float
    high: float

    def meets(self, other: LabelBox) -> bool:
        across = self.left < other.right and other.left < self.right
        return across and self.low < other.high and other.low < self.high

    def within(self) -> bool:
        return min(self) >= 0 and max(self) <= 1


def _axis_range(ends: Sequence[float]) -> tuple[float, float]:
    """A range that holds all these ends, with a margin."""
    low, high = min(ends), max(ends)
    margin = MARGIN * ((high - low) or 1.0)
    return low - margin, high + margin


def spot_series(
    name: str, spot: Spot, style: int | None, label: tuple[str, Position], hover: str
) -> Series:
    """One model's point with its whiskers, and the name beside it."""
    return Series(
        name,
        (spot.x,),
        (spot.y,),
        style,
        low=(spot.low,),
        high=(spot.high,),
        x_low=(spot.left,),
        x_high=(spot.right,),
        labels=(label[0],),
        positions=(label[1],),
        hover=(hover,),
    )


def choose_labels(
    spots: Sequence[Spot], names: Sequence[str], own: int
) -> tuple[list[tuple[str, Position]], tuple[float, float], tuple[float, float]]:
    """Choose a name and its position for each point, and the ranges of x and y.

    A name is "" where every position would cover another name, a point or a horizontal whisker, or
    leave the plot. Earlier points choose first. Names of the first `own` points, which are the
    models here, may cover points of the others, which are published.
    """
    x_range = _axis_range([end for spot in spots for end in (spot.left, spot.right)])
    y_range = _axis_range([end for spot in spots for end in (spot.low, spot.high)])

    def place(spot: Spot) -> Spot:
        xs = [(x - x_range[0]) / (x_range[1] - x_range[0]) for x in (spot.x, spot.left, spot.right)]
        ys = [(y - y_range[0]) / (y_range[1] - y_range[0]) for y in (spot.y, spot.low, spot.high)]
        return Spot(xs[0], ys[0], *xs[1:], *ys[1:])

    placed = list(map(place, spots))
    points = [LabelBox(x - POINT, x + POINT, y - LINE / 3, y + LINE / 3) for x, y, *_ in placed]
    taken = points[:own] + [LabelBox(one.left, one.right, one.y, one.y) for one in placed[:own]]
    # A name that a vertical whisker crosses can be read, but one that none crosses is better.
    crossed = points[own:] + [LabelBox(one.x, one.x, one.low, one.high) for one in placed[:own]]
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
        written.append((name, free[0]) if free else ("", _POSITIONS[0]))
        if free:
            taken.append(boxes[free[0]])
    return written, x_range, y_range


def _wanted(spot: Spot) -> list[Position]:
    first = "left" if spot.x > _TURN else "right"
    return sorted(_POSITIONS, key=lambda position: not position.endswith(first))


def _box(spot: Spot, name: str, position: Position) -> LabelBox:
    """The box of a label that stands beside the whiskers of its point, not on them."""
    length, middle = LETTER * len(name), spot.y + (LINE if position.startswith("top") else -LINE)
    left = spot.x + POINT / 2 if position.endswith("right") else spot.x - POINT / 2 - length
    return LabelBox(left, left + length, middle - LINE / 2, middle + LINE / 2)
