"""The figure of effective robustness: accuracy under a shift over clean accuracy, and the line."""

from __future__ import annotations

from collections.abc import Sequence

from hardy.metrics.logit_fit import LogitFit
from hardy.report.figures import EFFECTIVE, Figure, Panel, Series, figure
from hardy.report.gathered import ModelEntry, Section, compared
from hardy.report.scatter import UNNAMED, Spot, choose_labels, spot_series
from hardy.report.words import not_compared, short
from hardy.scores.effective_robustness import (
    WHAT_VARIES,
    EffectiveRobustness,
    PublishedLine,
    ShiftPoint,
)

_STEPS = 60  # of the line
_FAR = 2  # spreads from the line: as far as models of standard training come by themselves

_Found = tuple[ModelEntry, EffectiveRobustness]


@figure(needs=(EFFECTIVE,))
def effective(section: Section) -> list[Figure]:
    """Accuracy on a natural shift beyond what clean accuracy predicts, with the line that does."""
    known = section.baseline
    assert known is not None
    assert known.line is not None
    pairs = zip(section.entries, section.effective(), strict=True)
    own = [(entry, one) for entry, one in pairs if one is not None]
    others = sorted(known.points, key=lambda point: not point.counts)
    spots = [_spot(one) for _, one in own] + [_still(point) for point in others]
    names = [short(entry.label) for entry, _ in own] + [short(one.model, 24) for one in others]
    written, x_range, y_range = choose_labels(spots, names, len(own))
    series = [
        spot_series(
            name,
            spot,
            entry.style,
            label,
            f"{one.figure()} points: {spot.y:.1f} %, predicted {one.predicted:.1f} %",
        )
        for (entry, one), spot, name, label in zip(own, spots, names, written, strict=False)
    ]
    beside = list(zip(others, written[len(own) :], strict=True))
    for mark, (title, counts) in enumerate((("in the line", True), ("not in the line", False))):
        some = [one for one in beside if one[0].counts is counts]
        if some:
            series.append(
                Series(
                    f"published, {title}",
                    tuple(point.clean for point, _ in some),
                    tuple(point.accuracy for point, _ in some),
                    labels=tuple(label for _, (label, _) in some),
                    positions=tuple(position for _, (_, position) in some),
                    hover=tuple(_hover(point, known.line) for point, _ in some),
                    mark=mark,
                )
            )
    diagonal = y_range[1] > x_range[0] and y_range[0] < x_range[1]  # whether it is in sight
    return [
        Figure(
            name=f"{section.slug}-effective",
            kind="points",
            score="effective robustness",
            title="Effective robustness",
            sees=_see(own, known, diagonal)
            + ("" if all(label for label, _ in written[: len(own)]) else UNNAMED),
            x_title="Clean accuracy over the same classes (%)",
            y_title=f"Accuracy on {section.suite.title} (%), higher is better",
            panels=(
                Panel(
                    "",
                    tuple(series),
                    diagonal=diagonal,
                    curve=_line(known.line, x_range),
                    x_range=x_range,
                    y_range=y_range,
                ),
            ),
        )
    ]


def _spot(one: EffectiveRobustness) -> Spot:
    clean, right = one.clean, one.accuracy
    return Spot(clean.value, right.value, *clean.interval, *right.interval)


def _still(point: ShiftPoint) -> Spot:
    clean, right = point.clean, point.accuracy
    return Spot(clean, right, clean, clean, right, right)


def _hover(point: ShiftPoint, line: LogitFit) -> str:
    beyond = point.accuracy - line.predict(point.clean)
    return f"{point.model}: {point.accuracy:g} %, {beyond:+.1f} points ({point.source})"


def _line(line: LogitFit, x_range: tuple[float, float]) -> tuple[tuple[float, float], ...]:
    low, high = max(0.0, x_range[0]), min(100.0, x_range[1])
    steps = [low + (high - low) * step / _STEPS for step in range(_STEPS + 1)]
    return tuple((round(x, 3), round(line.predict(x), 3)) for x in steps)


def _see(own: Sequence[_Found], known: PublishedLine, diagonal: bool) -> str:
    assert known.line is not None
    alike = compared(own, lambda one: one[0])
    entry, top = max(alike, key=lambda one: one[1].value)
    most = ", the most here" if len(alike) > 1 else ""
    chance = "; it may be chance" if top.interval.low <= 0 <= top.interval.high else ""
    sentence = f"{entry.label} has {top.figure()} points of effective robustness{most}{chance}."
    sentence += not_compared(len(alike) < len(own))
    if abs(top.value) < _FAR * known.line.spread:
        sentence += " Models of standard training come as far from the line by themselves."
    if any(one.beyond for _, one in own):
        sentence += f" For some the line is drawn out, {known.line.reach()}."
    equal = "; the dotted one is equal accuracy" if diagonal else ""
    return (
        f"{sentence} The grey line is what clean accuracy predicts{equal}. Accuracy is "
        f"{known.describe()}. {WHAT_VARIES}"
    )
