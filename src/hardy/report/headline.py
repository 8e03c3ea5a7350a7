"""The tables of a section, by the facts of the metrics, and the sentence that sums it up."""

from collections.abc import Sequence
from typing import NamedTuple

from hardy.metrics.metric import HEADLINE
from hardy.report.gathered import ModelEntry, Section, compared
from hardy.report.words import not_compared, some
from hardy.scores.columns import AnyMetric
from hardy.scores.paired_scores import compare_scores, differences
from hardy.scores.score import Score
from hardy.scores.wanted_scores import usable_metrics


class Span(NamedTuple):
    """Where an interval lies on the scale of its column, as shares of the width."""

    low: float
    value: float
    high: float


class TableCell(NamedTuple):
    score: Score
    span: Span
    digits: str
    spread: str


class ScoreTable(NamedTuple):
    """Scores of all models, and a sentence for each column whose name says little."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[ModelEntry, tuple[TableCell | None, ...]], ...]
    captions: tuple[str, ...]


def headline(section: Section) -> ScoreTable:
    """The scores that are quoted, then those that their metrics want beside them."""
    names = dict.fromkeys(score.name for one in section.entries for score in one.scores.headline)
    beside = [metric for metric in usable_metrics(section.kind)[0] if metric.report == "beside"]
    beside.sort(key=lambda metric: metric.base.group != HEADLINE)  # made of what is quoted: first
    labels = [*names, *(metric.mean for metric in beside)]
    return _table(section, "Headline scores", labels, beside)


def group_tables(section: Section) -> list[ScoreTable]:
    """A table for each other group of metrics, unless all of it stands beside the headline."""
    groups: dict[str, list[AnyMetric]] = {}
    for metric in usable_metrics(section.kind)[0]:
        if metric.group != HEADLINE and metric.report != "files":
            groups.setdefault(metric.group, []).append(metric)
    tables = []
    for group, metrics in groups.items():
        if any(metric.report == "table" for metric in metrics):
            labels = [label for one in metrics for label in (one.clean, one.mean) if label]
            tables.append(_table(section, group.capitalize(), labels, metrics))
    return [table for table in tables if table.columns]


def _table(
    section: Section, title: str, labels: Sequence[str], explained: Sequence[AnyMetric]
) -> ScoreTable:
    entries = section.entries
    there = [label for label in labels if any(label in entry.scores for entry in entries)]
    columns = [cells_of([entry.scores.get(label) for entry in entries]) for label in there]
    rows = zip(*columns, strict=True) if columns else ((),) * len(entries)
    captions = [
        f"{one.mean}: {one.caption}" for one in explained if {one.clean, one.mean} & {*there}
    ]
    return ScoreTable(title, tuple(there), tuple(zip(entries, rows, strict=True)), tuple(captions))


def higher_is_better(section: Section) -> list[str]:
    """The names of the scores for which higher is better."""
    scores = [one for entry in section.entries for one in entry.scores.values()]
    return [one.name for one in scores if one.part != "single" and not one.lower_is_better]


def cells_of(scores: Sequence[Score | None]) -> list[TableCell | None]:
    """The cells of a column, with intervals on one scale from the lowest end to the highest."""
    ends = [end for one in scores if one is not None for end in (*one.interval, one.value)]
    low, wide = min(ends), (max(ends) - min(ends)) or 1.0

    def cell(score: Score) -> TableCell:
        places = (score.interval.low, score.value, score.interval.high)
        span = Span(*(round((place - low) / wide, 4) for place in places))
        digits, _, spread = score.figure().removesuffix(f" {score.unit}").partition(" ")
        return TableCell(score, span, digits, spread)

    return [None if score is None else cell(score) for score in scores]


def headline_summary(section: Section) -> str:
    """Say who leads, by how much, and whether that is more than chance."""
    entries = compared(section.entries, lambda entry: entry)
    return _lead(entries) + not_compared(len(entries) < len(section.entries))


def _lead(entries: Sequence[ModelEntry]) -> str:
    named = [f"{one.label}{one.main.mark(one.scores.seen)}" for one in entries[:2]]
    score = entries[0].main
    if len(entries) == 1:
        return f"{named[0]}: {score.name} {score.figure()}."
    (best, second), other = named, entries[1].main
    sentence = f"{best} holds up best: {score.name} {score.figure()}"
    if differences(score, other) or score.circumstances.sampled:
        return f"{sentence}."
    lower, higher = (score, other) if score.lower_is_better else (other, score)
    apart = compare_scores(lower, higher)  # the higher minus the lower
    if apart.difference == 0:
        equal = [one.label for one in entries if one.main.loss == score.loss]
        return f"{some(equal)} are equal: {score.name} {score.figure()}."
    behind = apart.figure().removeprefix("+")
    if apart.significant:
        return f"{sentence}; {second} is {behind} behind (p {apart.chance()})."
    chance = f"which is within chance (p {apart.chance()})"
    return f"{sentence}, but {second} may be as good: it is {behind} behind, {chance}."
