"""The tables of a section, by the facts of the metrics, and the sentence that sums it up."""

from collections.abc import Sequence
from typing import NamedTuple

from hardy.metrics.metric import HEADLINE
from hardy.report.gathered import ModelEntry, Section, compared
from hardy.report.words import not_compared
from hardy.scores.formulas import AnyMetric, usable_metrics
from hardy.scores.paired_scores import compare_scores, differences
from hardy.scores.score import Score


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
            pairs = [(metric.clean, metric.mean) for metric in metrics]
            labels = [label for pair in pairs for label in pair if label]
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
    """The scores of which that is true; of all others lower is."""
    scores = [one for entry in section.entries for one in entry.scores.values()]
    return [one.name for one in scores if one.part != "single" and not one.lower_is_better]


def cells_of(scores: Sequence[Score | None]) -> list[TableCell | None]:
    """The cells of a column, with intervals on one scale from the lowest end to the highest."""
    there = [score for score in scores if score is not None]
    low = min(min(score.interval.low, score.value) for score in there)
    high = max(max(score.interval.high, score.value) for score in there)
    wide = (high - low) or 1.0

    def share(value: float) -> float:
        return round((value - low) / wide, 4)

    cells: list[TableCell | None] = []
    for score in scores:
        if score is None:
            cells.append(None)
            continue
        span = Span(share(score.interval.low), share(score.value), share(score.interval.high))
        digits, _, spread = score.figure().removesuffix(f" {score.unit}").partition(" ")
        cells.append(TableCell(score, span, digits, spread))
    return cells


def summary(section: Section) -> str:
    """Say who leads, by how much, and whether that is more than chance."""
    entries = compared(section.entries, lambda entry: entry)
    return _lead(entries) + not_compared(len(entries) < len(section.entries))


def _lead(entries: Sequence[ModelEntry]) -> str:
    best = entries[0]
    score = best.main
    if len(entries) == 1:
        return f"{_named(best)}: {score.name} {score.figure()}."
    second = entries[1]
    sentence = f"{_named(best)} holds up best: {score.name} {score.figure()}"
    if differences(score, second.main):
        return f"{sentence}."
    lower, higher = (score, second.main) if score.lower_is_better else (second.main, score)
    apart = compare_scores(lower, higher)  # the higher minus the lower
    if apart.difference == 0:
        return f"{_named(best)} and {_named(second)} are equal: {score.name} {score.figure()}."
    behind = apart.figure().removeprefix("+")
    if apart.significant:
        return f"{sentence}; {_named(second)} is {behind} behind (p {apart.chance()})."
    return (
        f"{sentence}, but {_named(second)} may be as good: it is {behind} behind, which is "
        f"within chance (p {apart.chance()})."
    )


def _named(entry: ModelEntry) -> str:
    return f"{entry.label}{entry.main.mark(entry.scores.seen)}"
