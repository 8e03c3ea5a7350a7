"""Two models on the same images, score by score: what `hardy.compare` returns."""

import json
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

from hardy.metrics import error
from hardy.metrics.intervals import LEVEL
from hardy.metrics.statistics import McNemar
from hardy.scores.naming import distinct_name, first_run, stored_as
from hardy.scores.paired_scores import ScoreDifference
from hardy.scores.run_scores import Scores, deciding_metrics
from hardy.scores.text_tables import Shown, TextTable, to_csv
from hardy.suites.suite import SUITE_KINDS


def what_decides() -> list[str]:
    """The scores of which `Compared.deciding` has those that there are, in words for help."""
    kinds = [deciding_metrics(kind) for kind in SUITE_KINDS]
    firsts = [" or else ".join(one.mean for one in metrics) for metrics in kinds]
    return [*firsts, *(one.clean for metrics in kinds for one in metrics if one.clean)]


def deciding_names(kind: str, there: Container[str]) -> list[str]:
    """The first deciding score that there is, of what counts or else of tuning, and those on clean
    images."""
    metrics = deciding_metrics(kind)
    labels = [*(one.mean for one in metrics), *(one.validation for one in metrics)]
    first = [label for label in labels if label and label in there][:1]
    return [*first, *(one.clean for one in metrics if one.clean and one.clean in there)]


@dataclass(frozen=True, eq=False, repr=False)
class Compared(Shown):
    """Two models score by score, second minus first."""

    first: Scores
    second: Scores
    headline: tuple[ScoreDifference, ...]
    singles: tuple[ScoreDifference, ...]  # corruption by corruption
    clean: McNemar | None  # the exact test, on clean images
    notes: tuple[str, ...] = ()  # what was done to make them comparable
    faults: tuple[str, ...] = ()  # runs of the store that could not be read, and why

    @property
    def models(self) -> tuple[str, str]:
        return self.first.model, self.second.model

    @property
    def are_twins(self) -> bool:
        """Whether one run was asked for by two names."""
        return self._is_one_run and self.first.model != self.second.model

    @property
    def _is_one_run(self) -> bool:
        return self.first.run.folder == self.second.run.folder

    def tells(self, one: ScoreDifference) -> bool:
        """Whether a difference is significant. That of the clean error must be so by the exact test
        as well: where few images tell two models apart, the bootstrap is too bold."""
        exact = self.clean if one.first.name == error.clean else None
        return one.significant and (exact is None or exact.p_value <= 1 - LEVEL)

    @property
    def deciding(self) -> tuple[ScoreDifference, ...]:
        """Where a worse second model is a regression: see `deciding_names`.

        Others can rise while a model gets better: relative mCE does where only the clean error
        falls.
        """
        there = {one.first.name: one for one in self.headline}
        return tuple(there[name] for name in deciding_names(self.first.kind, there))

    @property
    def regressions(self) -> tuple[ScoreDifference, ...]:
        """The deciding scores in which the second model is significantly worse.

        Each is a one-sided test at 2.5 %: of models that are as good as the first, one in forty is
        called worse in either, and up to one in twenty is called a regression.
        """
        return tuple(one for one in self.deciding if self.tells(one) and one.loss > 0)

    @property
    def verdict(self) -> str:
        """Whether it is a regression, and in which of the scores that decide."""
        worse = [one.first.name for one in self.regressions]
        others = [one.first.name for one in self.deciding if one.first.name not in worse]
        parts = [f"a regression in {' and '.join(worse)}"] if worse else []
        none = "none" if worse else "no significant regression"
        parts += [f"{none} in {' and '.join(others)}"] if others else []
        return ", ".join(parts)

    @property
    def worse(self) -> tuple[ScoreDifference, ...]:
        """Headline scores in which the second model is significantly worse."""
        return tuple(one for one in self.headline if self.tells(one) and one.loss > 0)

    @property
    def better(self) -> tuple[ScoreDifference, ...]:
        return tuple(one for one in self.headline if self.tells(one) and one.loss < 0)

    def tables(self, *, brief: bool = False) -> list[TextTable]:
        """One table; what differs significantly stands out. In brief only the differences have
        intervals, so that it fits into a terminal."""
        lines = (*self.headline, *self.singles)
        rows = [
            (
                one.first.name,
                self.first.figure(one.first, bare=brief),
                self.second.figure(one.second, bare=brief),
                one.figure(),
                one.chance().removeprefix("= "),
            )
            for one in lines
        ]
        best = frozenset((row, 3) for row, one in enumerate(lines) if self.tells(one))
        header = ("", "A", "B", "B − A", "p")
        title = f"{self.first.run.suite}: B against A"
        return [TextTable(title, header, rows, best, tuple(self._told()))]

    def _told(self) -> list[str]:
        main = self.headline[0]
        ours, theirs = (str(one.circumstances) for one in (main.first, main.second))
        around = ours if ours == theirs else f"A: {ours}; B: {theirs}"
        told = [
            f"A: {_dated(self.first)}",
            f"B: {_dated(self.second)}",
            f"{main.first.name}: {around}; 95 % intervals, p not corrected for their number",
        ]
        if not self._is_one_run and any(one.alike for one in (*self.headline, *self.singles)):
            told.append(
                "where no image tells A and B apart, the interval of B − A is how far others could "
                "bring them"
            )
        if self.clean:
            within = "within classes" in main.first.resampling
            apart = ", of all classes together; the table's is within classes" if within else ""
            told.append(
                f"clean images: {self.clean.only_first:,} only A gets wrong, "
                f"{self.clean.only_second:,} only B; McNemar's exact p = {self.clean.p_value:.3g}"
                f"{apart}"
            )
        return told + self._all_notes()

    def _all_notes(self) -> list[str]:
        """Notes on the comparison, those on both models once, and those on either, each behind its
        letter."""
        ours, theirs = self.first.notes, self.second.notes
        both = [f"A and B: {note}" for note in ours if note in theirs]
        either = [f"A: {note}" for note in ours if note not in theirs]
        either += [f"B: {note}" for note in theirs if note not in ours]
        return [*self.notes, *both, *either]

    def rows(self) -> list[dict[str, Any]]:
        """Plain values, a row per score."""
        names = dict(zip(("first_model", "second_model"), self.models, strict=True))
        return [
            {**names, "headline": leading, **one.as_dict()}
            for leading, some in ((True, self.headline), (False, self.singles))
            for one in some
        ]

    def as_csv(self) -> str:
        return to_csv(self.rows())

    def as_json(self) -> str:
        around = self.headline[0].first.as_dict()
        made = ("version", "recipe", "made", "images", "resampling")
        content = {
            "suite": self.first.run.suite,
            "first": self.models[0],
            "second": self.models[1],
            "first_run": self.first.run.folder.name,
            "second_run": self.second.run.folder.name,
            "comparisons": self.rows(),
            "clean_mcnemar": self.clean and self.clean._asdict(),
            "significantly_worse": [one.first.name for one in self.worse],
            "significantly_better": [one.first.name for one in self.better],
            "decided_by": [one.first.name for one in self.deciding],
            "regressions": [one.first.name for one in self.regressions],
            "made": {key: around[key] for key in made},
            "notes": self._all_notes(),
        }
        return json.dumps(content, indent=1, allow_nan=False) + "\n"

    def __repr__(self) -> str:
        models = ", ".join(map(repr, self.models))
        return f"Compared({models}, {self.first.run.suite}: {self.verdict})"

    def __str__(self) -> str:
        parts = [
            f"significantly {word} in {', '.join(one.first.name for one in some)}"
            for word, some in (("worse", self.worse), ("better", self.better))
            if some
        ]
        first, second = self.models
        if self.are_twins:
            return f"{second} is the same model as {first}: there is no difference"
        if self._is_one_run:
            return f"{first} was compared with itself"
        if first == second:  # retrained, or run in another way
            first, second = distinct_name(self.first.run), distinct_name(self.second.run)
        if not parts:
            return f"{second} and {first} do not differ significantly"
        return f"{second} is {' and '.join(parts)} than {first}"


def _dated(scores: Scores) -> str:
    """A model with its run, since one that was retrained has the same name."""
    when = first_run(scores.run)
    name = stored_as(scores.called, distinct_name(scores.run))
    return name + (f", run on {when}" if when else "")
