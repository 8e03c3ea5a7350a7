"""Scores as tables: models beside each other, corruption by corruption, beside published ones."""

import math
from collections.abc import Container, Iterable, Iterator, Sequence

from hardy.metrics.natural_shifts import accuracy
from hardy.registry import unknown
from hardy.scores.by_type import type_label
from hardy.scores.naming import distinct_name
from hardy.scores.run_scores import Scores, clean_labels, families, headline_metrics
from hardy.scores.score import Score
from hardy.scores.scored_cells import suite_of
from hardy.scores.text_tables import NOTHING, TextTable
from hardy.suites import published
from hardy.suites.published.printed_table import PublishedNumber

_BESIDE = 3  # models that have room beside each other; more are rows of every table


def score_tables(group: Sequence[Scores], *, brief: bool = False) -> list[TextTable]:
    """Models on one suite: the headline, then single corruptions; in brief only those of the
    quantity that the headline begins with."""
    wanted = families(group[0].kind)[: 1 if brief else None]
    singles = _singles(group, {one.name for family in wanted for one in family})
    return [_headline(group), *singles, *_by_type(group)]


def _headline(group: Sequence[Scores]) -> TextTable:
    names = list(dict.fromkeys(score.name for scores in group for score in scores.headline))
    columns = [[scores.get(name) for scores in group] for name in names]
    lines = zip(_models(group), group, *columns, strict=True)
    rows = [(model, *(_figure(one, scores) for one in line)) for model, scores, *line in lines]
    best = frozenset((row, column + 1) for column, row in _best(columns))
    own = ", own classes" if all(some.run.identity.labels == "own" for some in group) else ""
    title = f"{group[0].run.suite}{own}"
    return TextTable(title, ("model", *names), rows, best, tuple(_notes(group)))


def _models(group: Sequence[Scores]) -> list[str]:
    """Their names; where one comes twice, those that tell them apart."""
    names = [scores.model for scores in group]
    return [
        name if names.count(name) == 1 else distinct_name(scores.run)
        for name, scores in zip(names, group, strict=True)
    ]


def _notes(group: Sequence[Scores]) -> list[str]:
    """What the first column of numbers is made of, once if it is the same for all; what scores
    leave out; and how runs of one name differ, as far as that can be said in words."""
    models, first = _models(group), [scores.headline[0] for scores in group]
    around = [f"{score.name}: {score.circumstances}; 95 % intervals" for score in first]
    notes = around[:1]
    if len(set(around)) > 1:
        notes = _once(zip(models, around, strict=True), models)
    named = list(zip(models, group, strict=True))
    told = [(model, note) for model, scores in named for note in scores.notes]
    told += [
        (model, f"{what} than {models[0]}, so their numbers cannot be compared")
        for model, scores in named[1:]
        if (what := _unlike(group[0], scores))
    ]
    notes += _once(told, models)
    for model, one in ((model, some.run.identity) for model, some in named if model != some.model):
        notes.append(f"{model}: {one.preprocessing}, {one.precision}, seed {one.seed}, {one.made}")
    return notes


def _unlike(one: Scores, two: Scores) -> str:
    """What circumstances do not show: as many images, but others, or other classes."""
    first, second = (scores.headline[0].circumstances for scores in (one, two))
    kept = ("labels", "width")
    if any(one.run.details[name] != two.run.details[name] for name in kept):
        return "other classes"
    alike = first.images == second.images and first.images_hash != second.images_hash
    return "other images" if alike else ""


def _once(told: Iterable[tuple[str, str]], models: Sequence[str]) -> list[str]:
    """Each note once, behind the models that it is about."""
    about: dict[str, dict[str, None]] = {}
    for model, note in told:
        about.setdefault(note, {})[model] = None
    return [
        f"{'all models' if len(models) == len(some) > 1 else ', '.join(some)}: {note}"
        for note, some in about.items()
    ]


def _singles(group: Sequence[Scores], wanted: Container[str]) -> list[TextTable]:
    tables = []
    single = [scores.singles() for scores in group]
    for metric in dict.fromkeys(metric for one in single for metric in one if metric in wanted):
        columns = [one.get(metric, {}) for one in single]
        names = list(dict.fromkeys(name for column in columns for name in column))
        lines = [[column.get(name) for column in columns] for name in names]
        rows = [(name, *map(_figure, line, group)) for name, line in zip(names, lines, strict=True)]
        best = frozenset((row, column + 1) for row, column in _best(lines))
        what = f"{metric}, {group[0].kind[:-1]} by {group[0].kind[:-1]}"
        header = ("", *_models(group))
        if len(group) > _BESIDE:
            header, *rows = zip(header, *rows, strict=True)
            header, best = ("model", *header[1:]), frozenset((c - 1, r + 1) for r, c in best)
        tables.append(TextTable(f"{group[0].run.suite}: {what}", header, rows, best))
    return tables


def _by_type(group: Sequence[Scores]) -> list[TextTable]:
    """A row per broad type: the accuracy of each model on unseen subtypes, and on seen ones."""
    shift = suite_of(group[0].run).shift
    if shift is None or shift.types is None:
        return []
    shown = {"unseen": accuracy.mean, "seen": accuracy.clean}
    columns = [
        (f"{model}, {which}", [scores.get(type_label(label, name)) for name in shift.types], scores)
        for model, scores in zip(_models(group), group, strict=True)
        for which, label in shown.items()
    ]
    there = [column for column in columns if any(column[1])]
    rows = [
        (name, *(_figure(found[row], scores) for _, found, scores in there))
        for row, name in enumerate(shift.types)
    ]
    header = ("", *(title for title, _, _ in there))
    if len(group) > _BESIDE:
        header, *rows = zip(header, *rows, strict=True)
        header = ("model", *header[1:])
    return [TextTable(f"{group[0].run.suite}: {accuracy.mean}, type by type", header, rows)]


def _figure(score: Score | None, of: Scores) -> str:
    return NOTHING if score is None else of.figure(score)


def _best(lines: Iterable[Sequence[Score | None]]) -> Iterator[tuple[int, int]]:
    """Line and place of the best of each line whose scores were made alike; others have none."""
    for number, line in enumerate(lines):
        there = [score for score in line if score is not None]
        if len(there) > 1 and len({score.circumstances for score in there}) == 1:
            least = min(score.loss for score in there)
            yield from ((number, i) for i, one in enumerate(line) if one and one.loss == least)


def published_tables(suite: str, kind: str) -> list[TextTable]:
    """What others printed under the names of the headline scores, table by table."""
    found: dict[str, dict[str, dict[str, PublishedNumber]]] = {}
    for name in (*(metric.mean for metric in headline_metrics(kind)), *clean_labels(kind)):
        for one in published.find(name, suite):
            found.setdefault(one.table.name, {}).setdefault(one.row, {})[name] = one
    return [_published(rows) for rows in found.values()]


def _published(rows: dict[str, dict[str, PublishedNumber]]) -> TextTable:
    """Numbers with a remark are marked, and the remarks follow."""
    names = list(dict.fromkeys(name for values in rows.values() for name in values))
    every = [one for values in rows.values() for one in values.values()]
    remarks = list(dict.fromkeys(note for one in every for note in one.notes))
    table = every[0].table

    def cell(one: PublishedNumber | None) -> str:
        if one is None:
            return NOTHING
        marks = ",".join(str(remarks.index(note) + 1) for note in one.notes)
        return one.value.text + (f" [{marks}]" if marks else "")

    return TextTable(
        f"published: {table.title}",
        ("model or method", *names),
        [(row, *(cell(values.get(name)) for name in names)) for row, values in rows.items()],
        notes=(
            f"source: {table.source}",
            *(f"[{place}] {remark}" for place, remark in enumerate(remarks, start=1)),
        ),
    )


def sort_scores(scored: list[Scores], by: str | None) -> list[Scores]:
    """Sort by name, or by a score: the best first, and last those without it."""
    if by is None:
        return scored
    if by == "name":
        return sorted(scored, key=lambda one: one.model.casefold())
    if not any(by in one for one in scored):
        headline = dict.fromkeys(score.name for one in scored for score in one.headline)
        raise unknown("score to sort by", by, ("name", *headline))
    return sorted(scored, key=lambda one: one[by].loss if by in one else math.inf)
