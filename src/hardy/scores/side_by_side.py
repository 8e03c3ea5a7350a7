"""All suites beside each other: a row per model, a column per suite and way of running it."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from hardy.metrics import Interval
from hardy.metrics.classification import error
from hardy.metrics.natural_shifts import accuracy
from hardy.scores.naming import distinct_name
from hardy.scores.paired_scores import differences
from hardy.scores.part_of_suite import parts_told
from hardy.scores.run_scores import Scores
from hardy.scores.score import Score
from hardy.scores.scored_cells import suite_of
from hardy.scores.text_tables import NOTHING, TextTable
from hardy.suites.suite import Suite


class SuiteColumn(NamedTuple):
    """Runs on a suite that were made alike, and what their main score is."""

    suite: Suite
    score: Score  # of the first of them
    group: tuple[Scores, ...]
    marks: tuple[str, ...]  # what they are only a part of

    @property
    def direction(self) -> str:
        return "↓" if self.score.lower_is_better else "↑"


class BesideRow(NamedTuple):
    """A model: its clean accuracy, and its run in each column."""

    first: Scores  # whose model it is
    clean: Score | None  # over all classes
    runs: tuple[Scores | None, ...]


class Beside(NamedTuple):
    """Models and suites of as many classes."""

    classes: int
    columns: tuple[SuiteColumn, ...]
    rows: tuple[BesideRow, ...]


def side_by_side(every: Sequence[Scores]) -> list[Beside]:
    """A table for each number of classes of which two suites were run, or one in two ways."""
    tables = []
    for classes in dict.fromkeys(map(_classes, every)):
        some = [one for one in every if _classes(one) == classes]
        columns: list[SuiteColumn] = []
        for name in dict.fromkeys(one.run.suite for one in some):
            groups = alike_groups([one for one in some if one.run.suite == name])
            columns += [
                _column(group, number, len(groups)) for number, group in enumerate(groups, 1)
            ]
        if len(columns) > 1:
            tables.append(Beside(classes, tuple(columns), tuple(_rows(some, columns))))
    return tables


def alike_groups(scores: Sequence[Scores]) -> list[list[Scores]]:
    """Group scores that were made alike, the largest group first."""
    groups: list[list[Scores]] = []
    for one in scores:
        for group in groups:
            if not differences(group[0].headline[0], one.headline[0]):
                group.append(one)
                break
        else:
            groups.append([one])
    return sorted(groups, key=lambda group: -len(group))


def complement(share: Score) -> Score:
    """The error that goes with an accuracy, or the other way."""
    interval = Interval(100 - share.interval.high, 100 - share.interval.low)
    lower = not share.lower_is_better
    return replace(share, value=100 - share.value, interval=interval, lower_is_better=lower)


def beside_tables(every: Sequence[Scores]) -> list[TextTable]:
    """The same as text."""
    found = side_by_side(every)
    return [_as_text(one, len(found) > 1) for one in found]


def clean_note(rows: Iterable[BesideRow]) -> str:
    """Which images clean accuracies are of; nothing where there are none."""
    counts = sorted({row.clean.circumstances.images for row in rows if row.clean})
    several = ", not the same for all models" if len(counts) > 1 else ""
    images = " or ".join(f"{count:,}" for count in counts)
    return f"clean accuracy: over all classes, {images} images{several}" if counts else ""


def ways_note(columns: Sequence[SuiteColumn]) -> str:
    """What "1 of 2 ways" in a heading means; nothing where there is none."""
    suites = [column.suite.name for column in columns]
    if len({*suites}) == len(suites):
        return ""
    return (
        "ways: runs on one suite that were not made alike, for instance on other images, "
        "corruptions or samples, have a column for each way"
    )


def _classes(one: Scores) -> int:
    own = one.run.identity.labels == "own"
    return len(one.run.classes or ()) if own else suite_of(one.run).classes


def _column(group: Sequence[Scores], number: int, of: int) -> SuiteColumn:
    suite, score = suite_of(group[0].run), group[0].headline[0]
    marks = parts_told(suite, score.circumstances)
    if of > 1:
        marks = [f"{number} of {of} ways", *marks]
    return SuiteColumn(suite, score, tuple(group), tuple(marks))


def _rows(some: Sequence[Scores], columns: Sequence[SuiteColumn]) -> Iterable[BesideRow]:
    """Models in the order they come in; one that is twice in a column has a second row."""
    models = dict.fromkeys(one.run.details["model_identity"] for one in some)
    for model in models:
        cells = [
            [one for one in column.group if one.run.details["model_identity"] == model]
            for column in columns
        ]
        for place in range(max(map(len, cells))):
            runs = [cell[place] if place < len(cell) else None for cell in cells]
            there = [one for one in runs if one is not None]
            clean = [score for one in there if (score := _clean_accuracy(one))]
            best = max(clean, key=lambda score: score.circumstances.images, default=None)
            yield BesideRow(there[0], best, tuple(runs))


def _clean_accuracy(one: Scores) -> Score | None:
    """Its accuracy on clean images of all classes; some shifts have only that of theirs."""
    if error.clean in one:
        return complement(one[str(error.clean)])
    shift = suite_of(one.run).shift
    if shift is None or shift.kept or shift.holds_out:
        return None
    return one.get(str(accuracy.clean))


def _as_text(table: Beside, several: bool) -> TextTable:
    header = ["model", "clean accuracy ↑"]
    for column in table.columns:
        told = f" ({', '.join(column.marks)})" if column.marks else ""
        header.append(f"{column.suite.name} {column.score.name} {column.direction}{told}")
    names = [row.first.model for row in table.rows]
    rows = [
        (
            name if names.count(name) == 1 else distinct_name(row.first.run),
            NOTHING if row.clean is None else row.clean.figure(),
            *(NOTHING if one is None else one.figure(one.headline[0]) for one in row.runs),
        )
        for name, row in zip(names, table.rows, strict=True)
    ]
    whole = f", {table.classes:,} classes" if several else ""
    better = "↓ lower is better, ↑ higher is better; 95 % intervals"
    notes = (better, clean_note(table.rows), ways_note(table.columns))
    return TextTable(f"side by side{whole}", tuple(header), rows, notes=tuple(filter(None, notes)))
