"""The figure of subtypes: accuracy on unseen subtypes of broad types over that on seen ones."""

from __future__ import annotations

from hardy.metrics.natural_shifts import accuracy
from hardy.report.figures import TYPES, Figure, Panel, figure
from hardy.report.gathered import ModelEntry, Section, compared
from hardy.report.scatter import UNNAMED, Spot, choose_labels, spot_series
from hardy.report.words import not_compared, short
from hardy.scores.score import Score

_Found = tuple[ModelEntry, Score, Score]


@figure(needs=(TYPES,))
def subtypes(section: Section) -> list[Figure]:
    """Accuracy on unseen subtypes of broad types against that on seen ones."""
    own = [
        (entry, entry.scores[str(accuracy.clean)], entry.scores[accuracy.mean])
        for entry in section.entries
        if {accuracy.clean, accuracy.mean} <= {*entry.scores}
    ]
    spots = [Spot(x.value, y.value, *x.interval, *y.interval) for _, x, y in own]
    names = [short(entry.label) for entry, _, _ in own]
    written, x_range, y_range = choose_labels(spots, names, len(own))
    series = tuple(
        spot_series(
            name, spot, entry.style, label, f"unseen {unseen.figure()}, seen {seen.figure()}"
        )
        for (entry, seen, unseen), spot, name, label in zip(own, spots, names, written, strict=True)
    )
    diagonal = y_range[1] > x_range[0] and y_range[0] < x_range[1]  # whether it is in sight
    return [
        Figure(
            name=f"{section.slug}-subtypes",
            kind="points",
            score=accuracy.mean,
            title="Seen and unseen subtypes",
            sees=_see(own, diagonal) + ("" if all(label for label, _ in written) else UNNAMED),
            x_title="Accuracy on seen subtypes (%)",
            y_title="Accuracy on unseen subtypes (%), higher is better",
            panels=(Panel("", series, diagonal=diagonal, x_range=x_range, y_range=y_range),),
        )
    ]


def _see(own: list[_Found], diagonal: bool) -> str:
    alike = compared(own, lambda one: one[0])
    entry, seen, unseen = max(alike, key=lambda one: one[2].value)
    most = ", the most here" if len(alike) > 1 else ""
    lost = seen.value - unseen.value
    sentence = (
        f"{entry.label} has {unseen.figure()} on unseen subtypes{most}, "
        f"{abs(lost):.1f} points {'less' if lost >= 0 else 'more'} than on seen ones."
    )
    sentence += not_compared(len(alike) < len(own))
    return sentence + (" On the dotted line both are equal." if diagonal else "")
