"""`hardy.runs` and `hardy.score`: the runs of a store, and their scores, ready to be shown."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from hardy.errors import InputError
from hardy.metrics.metric import SHIFTS
from hardy.places import locate
from hardy.progress import Track, watch
from hardy.scores.effective_robustness import effective_tables, published_line, with_effective
from hardy.scores.listing import published_tables, score_tables, sort_scores
from hardy.scores.naming import (
    choose,
    choose_all,
    first_run,
    of_suite,
    other_names,
    overtaken,
    readable_runs,
    stored_as,
)
from hardy.scores.part_of_suite import published_left_out, why_apart
from hardy.scores.result_files import write_scores
from hardy.scores.run_scores import Scores, score_run
from hardy.scores.scored_cells import Id, suite_of
from hardy.scores.side_by_side import beside_tables
from hardy.scores.text_tables import Shown, TextTable, to_csv, to_html, to_text
from hardy.store.reader import StoredRun, find_runs
from hardy.suites.cells import Cell

Tell = Callable[[str], None]


class Asked(NamedTuple):
    """What `hardy.evaluate` was asked for, of a run that may hold more."""

    images: Sequence[Id]
    cells: tuple[Cell, ...]

    def is_all_of(self, run: StoredRun) -> bool:
        return len(self.images) >= len(run.ids) and set(self.cells) >= set(run.cells)


@dataclass(frozen=True, eq=False)
class Run:
    """One model on one suite, as a store has it: `hardy.evaluate` and `hardy.runs` return it.

    ```python
    import hardy, numpy

    images = numpy.random.default_rng(0).integers(0, 256, (20, 32, 32, 3), "uint8")
    hardy.evaluate("fake:10", suite="cifar10_c", images=images, labels=[3] * 20, only="fog")
    (run,) = hardy.runs("runs")
    assert isinstance(run, hardy.Run)
    print(run.model, run.suite, run.folder)
    print(run.score()["mean error"].value)
    ```
    """

    stored: StoredRun
    faults: tuple[str, ...] = ()  # images that could not be used
    asked: Asked | None = None  # of it, now; None: all that is stored
    called: str | None = None  # the name that it was asked for by, where its own is another

    @property
    def model(self) -> str:
        return self.stored.model

    @property
    def suite(self) -> str:
        return self.stored.suite

    @property
    def folder(self) -> Path:
        return self.stored.folder

    @property
    def title(self) -> str:
        """Its name, behind that which it was asked for by: "b.pt, stored as a.pt"."""
        return stored_as(self.called, self.model)

    def __repr__(self) -> str:
        images = f"{len(self.stored.ids):,} images"
        return f"Run({self.title!r}, {self.suite!r}, {images}, {str(self.folder)!r})"

    def _repr_html_(self) -> str:
        return self.score()._repr_html_()

    def score(self, reference: Run | str | None = "suite") -> Scores:
        """All scores by name; printed, the headline.

        `reference` is what errors are divided by: the suite's own, another run, or None. A run
        that `hardy.evaluate` returned is scored on what it was asked for, also where more is
        stored; `hardy.runs` and `hardy.score` have all of it.
        """
        yardstick = reference.stored if isinstance(reference, Run) else reference
        stored, asked = self.stored, self.asked
        if asked is None or asked.is_all_of(stored):
            return replace(score_run(stored, reference=yardstick), called=self.called)
        scores = score_run(stored, reference=yardstick, images=asked.images, cells=asked.cells)
        more = f"{len(stored.cells):,} cells and {len(stored.ids):,} images in all"
        note = f"this is what was asked for; the store has more, {more}, see `hardy score`"
        return replace(scores, notes=(*scores.notes, note), called=self.called)


class StoredRuns(list[Run]):
    """The runs of a store: a list, of which `table` makes a data frame."""

    def table(self) -> Any:
        """A row per run, a column per score and per bound of its 95 % interval: "mCE", "mCE low"
        and "mCE high". It is a DataFrame of pandas, else of polars, else a dictionary of columns.
        Of a run that cannot be scored, the column "fault" says why; where one was asked for by
        another name than its own, that is the "model", and "stored as" has its own."""
        rows: list[dict[str, Any]] = []
        for run in self:
            images = len(run.stored.ids)
            model = {"model": run.called or run.model}
            model |= {"stored as": run.model} if run.called else {}
            rows.append({**model, "suite": run.suite, "images": images, "fault": None})
            try:
                scores = run.score()
            except InputError as error:
                rows[-1]["fault"] = str(error)
                continue
            for name, one in scores.items():
                low, high = one.interval
                rows[-1] |= {name: one.value, f"{name} low": low, f"{name} high": high}
        names = dict.fromkeys(name for row in rows for name in row)
        columns = {name: [row.get(name) for row in rows] for name in names}
        for library in ("pandas", "polars"):
            with suppress(ImportError):
                return import_module(library).DataFrame(columns)
        return columns

    def _repr_html_(self) -> str:
        """What is there, without its scores: of many runs these would take their time."""
        rows = [
            (
                run.title,
                run.suite,
                f"{len(run.stored.ids):,}",
                f"{len(run.stored.cells):,}",
                first_run(run.stored),
                str(run.folder),
            )
            for run in self
        ]
        header = ("model", "suite", "images", "cells", "run on", "folder")
        return to_html([TextTable(f"{len(rows):,} run{'s' * (len(rows) != 1)}", header, rows)])


def runs(store: str | os.PathLike[str]) -> StoredRuns:
    """List the runs of a store; of a single run's folder, that run. `table` makes a data frame of
    the list: a row per run, with its scores and their intervals.

    ```python
    import hardy, numpy

    images = numpy.zeros((20, 32, 32, 3), "uint8")
    for model in ("fake:10", "fake:10:1"):
        hardy.evaluate(model, suite="cifar10_c", images=images, labels=[3] * 20, only="fog")
    for run in hardy.runs("runs"):
        print(run.model, run.suite, run.score())
    print(hardy.runs("runs").table()["mean error high"])
    ```
    """
    return StoredRuns(Run(stored) for stored in find_runs(locate(store)))


@dataclass(frozen=True, repr=False)
class ScoredStore(Shown):
    """The scores of several runs, suite by suite; printed, a table per suite."""

    scores: tuple[Scores, ...]
    faults: tuple[str, ...] = ()  # runs that could not be read or scored, and why
    published: bool = False  # whether tables have what others printed, too
    tell: Tell = warnings.warn  # hears of what is left out

    def __iter__(self) -> Iterator[Scores]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def __repr__(self) -> str:
        suites = ", ".join(dict.fromkeys(one.run.suite for one in self.scores))
        return f"ScoredStore({len(self)} run{'s' if len(self) > 1 else ''} on {suites})"

    def __str__(self) -> str:
        return to_text(self.tables(brief=True))

    def tables(self, *, brief: bool = False) -> list[TextTable]:
        """The headline of each suite, then corruption by corruption; in brief one such table. Then
        all suites side by side, and effective robustness."""
        made = []
        for suite in dict.fromkeys(one.run.suite for one in self.scores):
            group = [one for one in self.scores if one.run.suite == suite]
            made += score_tables(group, brief=brief)
            made += self._published(group) if self.published else []
        suites = dict.fromkeys(one.run.suite for one in self.scores if one.kind == SHIFTS)
        known = {suite: published_line(suite) for suite in suites}
        return [*made, *beside_tables(self.scores), *effective_tables(self.scores, known)]

    def _published(self, group: Sequence[Scores]) -> list[TextTable]:
        """What others printed for a suite; nothing where no run can be compared with it."""
        suite = suite_of(group[0].run)
        tables = published_tables(suite.name, suite.kind)
        apart: dict[str, list[str]] = {}
        for one in group if tables else ():
            if why := why_apart(suite, one.headline[0].circumstances):
                apart.setdefault(why, []).append(one.model)
        if sum(map(len, apart.values())) == len(group):
            self.tell(published_left_out("; ".join(apart)))
            return []
        for why, models in apart.items():
            names = ", ".join(models)
            self.tell(f"Published numbers cannot be compared with those of {names}: {why}")
        for one in group:
            around = one.headline[0].circumstances
            if around.total and not why_apart(suite, around):
                self.tell(
                    f"Published numbers are of all images, those of {one.model} of "
                    f"{around.images:,} of {around.total:,}"
                )
        return tables

    def as_csv(self) -> str:
        """A line per model and score."""
        return to_csv([row for one in self.scores for row in with_effective(one).as_dicts()])

    def as_json(self) -> str:
        """A result file, to keep, submit and rank; runs on clean images alone are left out."""
        return write_scores(map(with_effective, self.scores), self.tell)


def tell_overtaken(scores: Scores, renamed: Mapping[str, str]) -> Scores:
    """The scores under a name of their own, where that of the run means another one by now."""
    called = renamed.get(scores.run.folder.name)
    if called is None:
        return scores
    note = f"{scores.run.model} was evaluated again since, and means another run by now"
    return replace(scores, called=called, notes=(note, *scores.notes))


def score(
    store: str | os.PathLike[str] | Run,
    *,
    model: str | Sequence[str] = (),
    suite: str | None = None,
    reference: str | None = None,
    published: bool = False,
    sort: str | None = None,
    track: Track = watch,
    tell: Tell = warnings.warn,
) -> ScoredStore:
    """Score the runs of a store, or one run; printed, a table per suite with a row per model.

    `model` and `suite` choose among the runs. Of a model's name any part will do that only one
    has, such as resnet50 for timm:resnet50. Ratios such as mCE are to the model that
    `reference` names, a stored one or "none"; if left out, to the suite's own. `published` adds
    what others printed for these suites, where it can be compared. `sort` orders the models of a
    suite: by "name", or by a score such as "mCE", the best first. Runs that cannot be scored are
    among the `faults`.

    ```python
    import hardy
    import numpy as np

    images = np.zeros((20, 32, 32, 3), np.uint8)
    hardy.evaluate(
        "fake:10", suite="cifar10_c", images=images, labels=[0] * 20, only=["fog"], store="runs"
    )
    scored = hardy.score("runs")
    print(scored)
    for scores in scored:
        print(scores.model, scores["mean error"].value, scores["ECE"].interval)
    ```
    """
    folder = store if isinstance(store, str | os.PathLike) else store.folder
    found, faults = readable_runs(folder)
    every = of_suite(found, suite)
    names = [model] if isinstance(model, str) else model
    chosen = choose_all(every, names) if names else every
    divisors: dict[str, StoredRun | str | None] = {}
    for name in dict.fromkeys(run.suite for run in chosen):
        divisors[name] = "suite" if reference is None else None
        if reference not in (None, "none"):
            divisors[name] = choose(every, str(reference), name)
    renamed = overtaken(found)
    scored: list[Scores] = []
    refused: list[InputError] = []
    for run in track(chosen, len(chosen), "runs"):
        try:
            scores = score_run(run, reference=divisors[run.suite])
            told = [f"{name} is the same model" for name in other_names(run, names)]
            scores = replace(scores, notes=(*told, *scores.notes))
            scored.append(tell_overtaken(scores, renamed))
        except InputError as error:
            refused.append(error)
    if not scored:
        raise refused[0]
    scored = sort_scores(scored, sort)
    scored.sort(key=lambda one: list(divisors).index(one.run.suite))
    return ScoredStore(tuple(scored), (*faults, *map(str, refused)), published, tell)
