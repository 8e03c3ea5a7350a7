"""The papers' scatter plots: robustness against clean accuracy, with the published points."""

from __future__ import annotations

from hardy.report import published_points as published
from hardy.report.figure import Figure, Panel, Series
from hardy.report.gathered import Entry, Section, compared
from hardy.report.point_labels import Spot, choose_labels
from hardy.report.words import count, left_out, not_compared, short
from hardy.scores.score import Score

# Against clean accuracy: the papers' scatter plots, then what there is without a reference.
AGAINST = {
    "corruptions": (("mCE", "relative mCE"), ("mean error",)),
    "perturbations": (("mFR", "mT5D"), ("flip probability", "top-5 distance")),
}
UNNAMED = " Names that would cover others are left out; the legend has them all."


def scatter(section: Section) -> list[Figure]:
    """Each headline score against clean accuracy, with the published points."""
    for metrics in AGAINST[section.kind]:
        made = [figure for metric in metrics if (figure := _scatter(section, metric))]
        if made:
            return made
    return []


def why_none(section: Section) -> str:
    """Of sequences, which have no clean images of their own."""
    if section.kind != "perturbations" or scatter(section):
        return ""
    return (
        "No plot against clean accuracy: these models have no run on the corruptions of the same "
        "images in this store, and sequences have no clean images of their own."
    )


def _scatter(section: Section, metric: str) -> Figure | None:
    own = [
        (entry, entry.clean_error, entry.scores[metric])
        for entry in section.entries
        if entry.clean_error is not None and metric in entry.scores
    ]
    if not own:
        return None
    others = published.points(section.suite.name, metric)
    why = published.apart(section, own[0][2].circumstances, mean=True) if others else ""
    others = [] if why else others
    spots = [_spot(clean, score) for _, clean, score in own]
    spots += [
        Spot(one.accuracy, one.value, one.accuracy, one.accuracy, one.value, one.value)
        for one in others
    ]
    names = [short(entry.label) for entry, _, _ in own] + [short(one.name, 24) for one in others]
    written, x_range, y_range = choose_labels(spots, names, len(own))
    series = [
        Series(
            name,
            (spot.x,),
            (spot.y,),
            entry.style,
            low=(spot.low,),
            high=(spot.high,),
            x_low=(spot.left,),
            x_high=(spot.right,),
            labels=(label,),
            positions=(position,),
            hover=(f"{score.figure()}, accuracy {spot.x:.1f} %",),
        )
        for (entry, _, score), spot, name, (label, position) in zip(
            own, spots, names, written, strict=False
        )
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
        y_title=f"{metric}{unit}, lower is better",
        panels=(Panel("", tuple(series), x_range=x_range, y_range=y_range),),
    )


def _spot(clean: Score, score: Score) -> Spot:
    return Spot(
        100 - clean.value,
        score.value,
        100 - clean.interval.high,
        100 - clean.interval.low,
        score.interval.low,
        score.interval.high,
    )


def _see_scatter(
    section: Section,
    own: list[tuple[Entry, Score, Score]],
    metric: str,
    others: list[published.Point],
) -> str:
    alike = compared(own, lambda one: one[0])
    robust, its_clean, low = min(alike, key=lambda one: one[2].value)
    accurate, clean, its_score = min(alike, key=lambda one: one[1].value)
    if len(alike) == 1:
        sentence = f"{robust.label} has {metric} {low.figure()}."
    elif its_clean.value == clean.value or its_score.value == low.value:
        best = robust if its_clean.value == clean.value else accurate
        alone = all(
            clean.value < other.value and low.value < score.value
            for entry, other, score in alike
            if entry is not best
        )
        shared = "" if alone else ", though not alone in both"
        sentence = (
            f"{best.label} is both the most accurate model here and the lowest in {metric}{shared}."
        )
    else:
        sentence = (
            f"{accurate.label} is the most accurate, but {robust.label} has the lowest {metric}."
        )
    sentence += not_compared(len(alike) < len(own))
    if others:
        if not robust.run.adapted:
            lower = sum(one.value < low.value for one in others)
            sentence += (
                f" Of {count(len(others), 'published result')} {lower or 'none'} "
                f"{'is' if lower < 2 else 'are'} lower in {metric}."
            )
        images = own[0][2].circumstances.images
        sentence += (
            f" Grey points are as printed, on {section.suite.images}, while these models saw "
            f"{count(images, 'image')}."
        )
    return sentence
