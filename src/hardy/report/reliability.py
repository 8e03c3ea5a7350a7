"""The figures about confidence: is a model as often right as it is sure?"""

from hardy.report.figures import CONFIDENCES, SHOWN, Figure, Panel, Series, figure
from hardy.report.gathered import Calibration, ModelEntry, Reliability, Section, compared
from hardy.report.words import not_compared, short

Pair = tuple[ModelEntry, Calibration]


@figure(needs=(CONFIDENCES,))
def calibration(section: Section) -> list[Figure]:
    """The calibration error against severity, and accuracy against confidence."""
    pairs = [(entry, entry.calibration) for entry in section.entries if entry.calibration]
    rising = [_by_severity(section, pairs)] if section.suite.graded else []
    return [*rising, _reliability(section, pairs)]


def _by_severity(section: Section, pairs: list[Pair]) -> Figure:
    series = tuple(
        Series(short(entry.label), one.levels, one.ece, entry.style, shown=place < SHOWN)
        for place, (entry, one) in enumerate(pairs)
    )
    alike = compared(pairs, lambda pair: pair[0])
    entry, one = min(alike, key=lambda pair: pair[1].ece[-1])
    start = f"from {one.ece[0]:.1f} % " if len(one.ece) > 1 else ""
    at = f"at severity {one.levels[-1]}"
    sees = f"The calibration error of {entry.label} goes {start}to {one.ece[-1]:.1f} % {at}"
    worst, most = max(alike, key=lambda pair: pair[1].ece[-1])
    if worst is not entry:
        sees += f", that of {worst.label} to {most.ece[-1]:.1f} %"
    return Figure(
        name=f"{section.slug}-calibration",
        kind="lines",
        score="ECE",
        title="Calibration error against severity",
        sees=f"{sees}: means over corruptions, 0 is perfect."
        + not_compared(len(alike) < len(pairs)),
        x_title="Severity (0: clean)",
        y_title="ECE (%)",
        panels=(Panel("", series),),
    )


def _reliability(section: Section, pairs: list[Pair]) -> Figure:
    panels = []
    for entry, one in pairs:
        series = [_line("corrupted", one.corrupted, entry.style)]
        if one.clean:
            series.insert(0, _line("clean", one.clean, entry.style, faint=True))
        whole = (0.0, 100.0)
        panels.append(
            Panel(entry.label, tuple(series), diagonal=True, x_range=whole, y_range=whole)
        )
    alike = compared(pairs, lambda pair: pair[0])
    return Figure(
        name=f"{section.slug}-reliability",
        kind="lines",
        score="reliability",
        title="Reliability",
        sees=(
            "On the diagonal a model is right as often as it is sure, below it overconfident. The "
            "faint line is for clean images; bins of few images are left out. "
            f"On corrupted images {_furthest_off(alike)} on average."
            + not_compared(len(alike) < len(pairs))
        ),
        x_title="Confidence (%)",
        y_title="Accuracy (%)",
        panels=tuple(panels),
        size="medium",
        has_legend=False,
    )


def _furthest_off(pairs: list[Pair]) -> str:
    """Say of the model whose confidence is furthest from its accuracy which way and how far."""
    gaps = {entry.label: one.corrupted.excess for entry, one in pairs}
    label = max(gaps, key=lambda one: abs(gaps[one]))
    points = f"{abs(gaps[label]):.1f}"
    if float(points) == 0:
        return f"the confidence of {'every model' if len(gaps) > 1 else label} fits its accuracy"
    furthest = "the furthest off: " if len(gaps) > 1 else ""
    word = "over" if gaps[label] > 0 else "under"
    return f"{label} is {furthest}{word}confident by {points} points"


def _line(name: str, one: Reliability, style: int, faint: bool = False) -> Series:
    return Series(
        name,
        one.confidence,
        one.accuracy,
        style,
        hover=tuple(f"{100 * share:.1f} % of predictions" for share in one.share),
        faint=faint,
    )
