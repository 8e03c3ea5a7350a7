"""Each corruption by itself: bars of the models here, the reference and published ones as marks."""

from hardy.metrics.metric import CORRUPTIONS as ON_CORRUPTIONS
from hardy.report import published_points as published
from hardy.report.figures import CORRUPTIONS, SEQUENCES, SHOWN, Figure, Panel, Series, figure
from hardy.report.gathered import ModelEntry, Section, compared
from hardy.report.words import axis_title, count, left_out, not_compared, short, spoken, with_unit
from hardy.scores.columns import AnyMetric
from hardy.scores.part_of_suite import why_apart
from hardy.scores.score import Score
from hardy.scores.wanted_scores import usable_metrics

_PUBLISHED_SHOWN = 3


@figure(needs=(CORRUPTIONS,))
def bars(section: Section) -> list[Figure]:
    """The error under each corruption, against the reference and what others published."""
    metrics = {metric.name: metric for metric in usable_metrics(section.kind)[0]}
    return [_bars(section, metrics[name]) for name in section.entries[0].scores.singles()]


@figure(needs=(SEQUENCES,))
def stability(section: Section) -> list[Figure]:
    """How much answers change in each sequence, against the reference and what others published."""
    return list(bars.make(section))


def _bars(section: Section, metric: AnyMetric) -> Figure:
    scores = [(entry, entry.scores.singles().get(metric.name, {})) for entry in section.entries]
    names = section.ordered(name for _, found in scores for name in found)
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
                hover=tuple(found[n].figure() + found[n].mark(entry.scores.seen) for n in there),
                shown=place < SHOWN,
            )
        )
    references = [score.circumstances.reference for score in section.entries[0].scores.headline]
    reference = next(filter(None, references), None)
    line = 100.0 if metric.is_ratio and reference else None
    what = section.kind[:-1]
    others, why = _published_bars(section, metric, names)
    return Figure(
        name=f"{section.slug}-bars-{metric.name.lower().replace(' ', '-')}",
        kind="bars",
        score=metric.name,
        title=f"{metric.heading} by {what}",
        sees=_see_bars(scores, metric, line is not None, what) + left_out(why),
        x_title=axis_title(metric) + (f", {reference} = 100" if line is not None else ""),
        y_title="",
        panels=(Panel("", (*series, *others), line=line),),
    )


def _published_bars(
    section: Section, metric: AnyMetric, names: list[str]
) -> tuple[list[Series], str]:
    """Published models, or why those that there are cannot stand here."""
    counted = [name for name in names if name in section.suite.counted]
    found = published.profiles(section.suite.name, metric.name, counted) if counted else []
    if found:
        around = next(iter(section.entries[0].scores.singles()[metric.name].values())).circumstances
        if why := why_apart(section.suite, around, mean=False):
            return [], why
    # The best known network first, then the best methods.
    sign = 1 if metric.lower_is_better else -1
    found.sort(key=lambda one: (one.name != "ResNet-50", sign * sum(one.values.values())))
    return [
        Series(
            f"{short(one.name)} (published)",
            tuple(one.values.values()),
            tuple(map(spoken, one.values)),
            hover=tuple(f"{value:g}, {one.source}" for value in one.values.values()),
            mark=place,
            shown=place < _PUBLISHED_SHOWN,
        )
        for place, one in enumerate(found)
    ], ""


def _see_bars(
    scores: list[tuple[ModelEntry, dict[str, Score]]], metric: AnyMetric, against: bool, what: str
) -> str:
    best, found = scores[0]
    order = sorted(found, key=lambda name: found[name].loss)
    if len(order) < 2:
        return f"{best.label} was run on one {what} only."
    figures = [with_unit(found[name].value, found[name]) for name in order]
    ends = [f"{spoken(name)} ({shown})" for name, shown in zip(order, figures, strict=True)]
    if figures[0] == figures[-1]:
        sentence = f"{best.label} has {figures[0]} under each {what}."
    elif metric.kind == ON_CORRUPTIONS:
        compares = "Measured against the reference, " if metric.is_ratio else ""
        sentence = f"{compares}{best.label} suffers most from {ends[-1]} and least from {ends[0]}."
    else:
        sentence = f"{best.label} is least stable under {ends[-1]} and most under {ends[0]}."
    if against:
        side = "below" if metric.lower_is_better else "above"
        better = sum(
            one.interval.high < 100 if metric.lower_is_better else one.interval.low > 100
            for one in found.values()
        )
        sentence += f" It is clearly {side} the reference in {better} of {count(len(found), what)}."
    others = [other for _, other in compared(scores, lambda one: one[0])[1:]]
    shared = [name for name in order if all(name in other for other in others)]
    if others and shared:
        ahead = [min(other[name].loss for other in others) - found[name].loss for name in shared]
        tied = f", and as well as another in {ahead.count(0)}" if 0 in ahead else ""
        leads = sum(one > 0 for one in ahead)
        sentence += f" Of the models here it does best in {leads} of {len(shared)}{tied}."
        sentence += not_compared(1 + len(others) < len(scores))
    return sentence
