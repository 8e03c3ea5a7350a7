"""Scores as tables: models beside each other, corruption by corruption, beside published ones."""

from collections.abc import Container, Iterable, Sequence

from hardy.scores.naming import distinct_name
from hardy.scores.run_scores import Scores, clean_labels, families, headline_metrics
from hardy.scores.score import Score
from hardy.scores.text_tables import TextTable
from hardy.suites import published

NOTHING = "–"


def score_tables(group: Sequence[Scores], *, brief: bool = False) -> list[TextTable]:
    """Models on one suite: the headline, then single corruptions; in brief only those of the
    quantity that the headline begins with."""
    wanted = families(group[0].kind)[: 1 if brief else None]
    return [_headline(group), *_singles(group, {one.name for family in wanted for one in family})]


def _headline(group: Sequence[Scores]) -> TextTable:
    names = list(dict.fromkeys(score.name for scores in group for score in scores.headline))
    rows = [
        (model, *(_figure(scores.get(name), scores) for name in names))
        for model, scores in zip(_models(group), group, strict=True)
    ]
    best = frozenset(
        (row, column)
        for column, name in enumerate(names, start=1)
        for row in _best([scores.get(name) for scores in group])
    )
    return TextTable(group[0].run.suite, ("model", *names), rows, best, tuple(_notes(group)))


def _models(group: Sequence[Scores]) -> list[str]:
    """Their names; where one comes twice, those that tell them apart."""
    names = [scores.model for scores in group]
    return [
        name if names.count(name) == 1 else distinct_name(scores.run)
        for name, scores in zip(names, group, strict=True)
    ]


def _apart(group: Sequence[Scores]) -> list[str]:
    """How runs of one name differ, as far as that can be said in words."""
    told = []
    for model, scores in zip(_models(group), group, strict=True):
        if model != scores.model:
            one = scores.run.identity
            told.append(
                f"{model}: {one.preprocessing}, {one.precision}, seed {one.seed}, {one.made}"
            )
    return told


def _notes(group: Sequence[Scores]) -> list[str]:
    """What the first column of numbers is made of, once if it is the same for all."""
    models, first = _models(group), [scores.headline[0] for scores in group]
    around = [f"{score.name}: {score.circumstances}; 95 % intervals" for score in first]
    notes = around[:1]
    if len(set(around)) > 1:
        notes = [f"{model}: {what}" for model, what in zip(models, around, strict=True)]
    told = [
        f"{model}: {note}"
        for model, scores in zip(models, group, strict=True)
        for note in scores.notes
    ]
    return notes + told + _apart(group)


def _singles(group: Sequence[Scores], wanted: Container[str]) -> list[TextTable]:
    tables = []
    single = [scores.singles() for scores in group]
    for metric in dict.fromkeys(metric for one in single for metric in one if metric in wanted):
        columns = [one.get(metric, {}) for one in single]
        names = list(dict.fromkeys(name for column in columns for name in column))
        rows = [
            (name, *(_figure(one.get(name), of) for one, of in zip(columns, group, strict=True)))
            for name in names
        ]
        best = frozenset(
            (row, column + 1)
            for row, name in enumerate(names)
            for column in _best([column.get(name) for column in columns])
        )
        what = f"{metric}, {group[0].kind[:-1]} by {group[0].kind[:-1]}"
        header = ("", *_models(group))
        tables.append(TextTable(f"{group[0].run.suite}: {what}", header, rows, best))
    return tables


def _figure(score: Score | None, of: Scores) -> str:
    return NOTHING if score is None else of.figure(score)


def _best(scores: Sequence[Score | None]) -> Iterable[int]:
    """The best of scores that were made alike; of others none is."""
    there = [score for score in scores if score is not None]
    if len(there) < 2 or len({score.circumstances for score in there}) > 1:
        return []
    least = min(score.loss for score in there)
    return [place for place, score in enumerate(scores) if score and score.loss == least]


def published_tables(suite: str, kind: str) -> list[TextTable]:
    """What others printed under the names of the headline scores, table by table."""
    found: dict[str, dict[str, dict[str, published.PublishedNumber]]] = {}
    for name in (*(metric.mean for metric in headline_metrics(kind)), *clean_labels()):
        for one in published.find(name, suite):
            found.setdefault(one.table.name, {}).setdefault(one.row, {})[name] = one
    return [_published(rows) for rows in found.values()]


def _published(rows: dict[str, dict[str, published.PublishedNumber]]) -> TextTable:
    """Numbers with a remark are marked, and the remarks follow."""
    table = next(one.table for values in rows.values() for one in values.values())
    names = list(dict.fromkeys(name for values in rows.values() for name in values))
    remarks = list(
        dict.fromkeys(
            note for values in rows.values() for one in values.values() for note in one.notes
        )
    )

    def cell(one: published.PublishedNumber | None) -> str:
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
