"""The table at the top of a section, and the sentence that sums it up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from hardy.report.gathered import ModelEntry, Section, compared
from hardy.report.words import not_compared
from hardy.scores.paired_scores import compare_scores, differences
from hardy.scores.score import Score

# After the headline scores, where they were made.
MORE = {
    "corruptions": ("mAUDE", "ECE"),
    "perturbations": ("top-5 distance", "Zipf distance"),
}
CALIBRATION = ("clean NLL", "NLL", "clean Brier score", "Brier score", "clean ECE", "ECE")


class Span(NamedTuple):
    """An interval drawn on the scale that its column shares; shares of the width."""

    low: float
    value: float
    high: float


class TableCell(NamedTuple):
    score: Score
    span: Span
    digits: str
    spread: str


class HeadlineTable(NamedTuple):
    columns: tuple[str, ...]
    rows: tuple[tuple[ModelEntry, tuple[TableCell | None, ...]], ...]


def headline(section: Section) -> HeadlineTable:
    names = dict.fromkeys(score.name for one in section.entries for score in one.scores.headline)
    return table_of(section.entries, (*names, *MORE[section.kind]))


def calibration(section: Section) -> HeadlineTable:
    return table_of(section.entries, CALIBRATION)


def table_of(entries: Sequence[ModelEntry], names: Sequence[str]) -> HeadlineTable:
    there = [name for name in names if any(name in entry.scores for entry in entries)]
    columns = [cells_of([entry.scores.get(name) for entry in entries]) for name in there]
    rows = zip(*columns, strict=True) if columns else ((),) * len(entries)
    return HeadlineTable(tuple(there), tuple(zip(entries, rows, strict=True)))


def cells_of(scores: Sequence[Score | None]) -> list[TableCell | None]:
    """A column: intervals on one scale, from the lowest end to the highest."""
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
    """Who leads, by how much, and whether that is more than chance."""
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
    apart = compare_scores(score, second.main)  # the second minus the first
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
