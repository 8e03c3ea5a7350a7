"""Each corruption by itself: bars of the models here, the reference and published ones as marks."""

from __future__ import annotations

from hardy.report import published_points as published
from hardy.report.figures import CORRUPTIONS, SEQUENCES, SHOWN, Figure, Panel, Series, figure
from hardy.report.gathered import ModelEntry, Section, compared
from hardy.report.words import count, left_out, not_compared, short, spoken, with_unit
from hardy.scores.score import Score

PUBLISHED_SHOWN = 3
# What a ratio is to the reference, by metric, and what it is called without one.
NOUNS = {
    "CE": "Corruption error (CE)",
    "relative CE": "Relative corruption error",
    "error": "Error (%)",
    "FR": "Flip rate (FR)",
    "FP": "Flip probability (%)",
    "T5D": "Top-5 distance (T5D)",
    "uT5D": "Top-5 distance, unnormalised",
}
TITLES = {
    "CE": "Error",
    "relative CE": "Rise of the error",
    "error": "Error",
    "FR": "Flips",
    "FP": "Flips",
    "T5D": "Change of the five best classes",
    "uT5D": "Change of the five best classes",
}
RATIOS = ("CE", "relative CE", "FR", "T5D")


@figure(needs=(CORRUPTIONS,))
def bars(section: Section) -> list[Figure]:
    """Each corruption by itself, against the reference and what others published."""
    first = section.entries[0].scores
    return [_bars(section, metric) for metric in first.singles()]


@figure(needs=(SEQUENCES,))
def stability(section: Section) -> list[Figure]:
    """Each perturbation by itself, against the reference and what others published."""
    return bars.make(section)


def _bars(section: Section, metric: str) -> Figure:
    scores = [(entry, entry.scores.singles().get(metric, {})) for entry in section.entries]
    names = [
        name
        for name in section.suite.counted + section.suite.validation
        if any(name in found for _, found in scores)
    ]
    series = []
    for place, (entry, found) in enumerate(scores):
        there = [name for name in names if name in found]
        series.append(
            Series(
                short(entry.label),
                tuple(found[name].value for name in there),
                tuple(map(spoken, there)),
                entry.style,
                low=tuple(found[name].interval.low for name in there),
                high=tuple(found[name].interval.high for name in there),
                hover=tuple(
                    found[name].figure() + found[name].mark(entry.scores.seen) for name in there
                ),
                shown=place < SHOWN,
            )
        )
    reference = _reference(section)
    line = 100.0 if metric in RATIOS and reference else None
    what = section.kind[:-1]
    others, why = _published_bars(section, metric, names)
    return Figure(
        name=f"{section.slug}-bars-{metric.lower().replace(' ', '-')}",
        kind="bars",
        score=metric,
        title=f"{TITLES[metric]} by {what}",
        sees=_see_bars(scores, metric, line is not None, what) + left_out(why),
        x_title=NOUNS[metric] + (f", {reference} = 100" if line is not None else ""),
        y_title="",
        panels=(Panel("", (*series, *others), line=line),),
    )


def _reference(section: Section) -> str | None:
    for score in section.entries[0].scores.headline:
        if score.circumstances.reference:
            return score.circumstances.reference
    return None


def _published_bars(section: Section, metric: str, names: list[str]) -> tuple[list[Series], str]:
    """With why there are none, where there could be some."""
    counted = [name for name in names if name in section.suite.counted]
    found = published.profiles(section.suite.name, metric, counted) if counted else []
    if found:
        around = next(iter(section.entries[0].scores.singles()[metric].values())).circumstances
        why = published.apart(section, around, mean=False)
        if why:
            return [], why
    # The best known network first, then the best methods.
    found.sort(key=lambda one: (one.name != "ResNet-50", sum(one.values.values())))
    return [
        Series(
            f"{short(one.name)} (published)",
            tuple(one.values.values()),
            tuple(map(spoken, one.values)),
            hover=tuple(f"{value:g}, {one.source}" for value in one.values.values()),
            mark=place,
            shown=place < PUBLISHED_SHOWN,
        )
        for place, one in enumerate(found)
    ], ""


def _see_bars(
    scores: list[tuple[ModelEntry, dict[str, Score]]], metric: str, against: bool, what: str
) -> str:
    best, found = scores[0]
    order = sorted(found, key=lambda name: found[name].loss)
    if len(order) < 2:
        return f"{best.label} was run on one {what} only."
    ends = [f"{spoken(name)} ({with_unit(found[name].value, found[name])})" for name in order]
    if metric in ("CE", "relative CE"):
        sentence = (
            f"Measured against the reference, {best.label} suffers most from {ends[-1]} and least "
            f"from {ends[0]}."
        )
    elif metric == "error":
        sentence = f"{best.label} suffers most from {ends[-1]} and least from {ends[0]}."
    else:
        sentence = f"{best.label} is least stable under {ends[-1]} and most under {ends[0]}."
    if against:
        below = sum(one.interval.high < 100 for one in found.values())
        sentence += f" It is clearly below the reference in {below} of {count(len(found), what)}."
    alike = compared(scores, lambda one: one[0])
    if len(alike) > 1:
        others = [other for _, other in alike[1:]]
        shared = [name for name in order if all(name in other for other in others)]
        leads = sum(all(found[name].loss < other[name].loss for other in others) for name in shared)
        if shared:
            sentence += f" Of the models here it does best in {leads} of {len(shared)}."
            sentence += not_compared(len(alike) < len(scores))
    return sentence
