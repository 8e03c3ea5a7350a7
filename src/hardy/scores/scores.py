"""A stored run's scores, and how they show themselves."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from hardy.errors import InputError
from hardy.metrics import Resampling
from hardy.scores import selection
from hardy.scores.corruption_runs import score_corruptions
from hardy.scores.notebook import scores_html
from hardy.scores.score import Score
from hardy.scores.seen import (
    MARK,
    mark,
    note,
    seen_in,
)
from hardy.scores.sequence_runs import score_sequences
from hardy.store.reader import StoredRun

CLEAN_ERROR = "clean error"
# What people quote of each kind of suite, the first one before all others.
HEADLINES: dict[str, tuple[str, ...]] = {
    "corruptions": ("mCE", "relative mCE", "mean error"),
    "perturbations": ("mFR", "mT5D", "flip probability"),
}
# Where just the validation corruptions were run.
VALIDATION_HEADLINES: dict[str, tuple[str, ...]] = {
    "corruptions": ("validation mCE", "validation error"),
    "perturbations": ("validation mFR", "validation mT5D", "validation flip probability"),
}
# What decides whether a model got worse, besides its clean error: the first of these that there is.
# Others can rise while it gets better: relative mCE does where only the clean error falls.
DECIDING: dict[str, tuple[str, ...]] = {
    "corruptions": ("mCE", "mean error", "validation mCE", "validation error"),
    "perturbations": (
        "mFR",
        "flip probability",
        "validation mFR",
        "validation flip probability",
    ),
}
# Of single corruptions, the first that there is: against a reference, and without one.
SINGLES = {
    "corruptions": (("CE", "relative CE", "error"),),
    "perturbations": (("FR", "FP"), ("T5D", "uT5D")),
}


@dataclass(frozen=True, eq=False)
class Scores(Mapping[str, Score]):
    """By name, such as "mCE" or "CE fog"; the headline first."""

    run: StoredRun
    kind: str  # "corruptions" or "perturbations"
    scores: dict[str, Score]
    images: selection.Places  # in the run, of the headline scores, in the order of their rows
    notes: tuple[str, ...] = ()  # what the scores leave out
    reference: StoredRun | str | None = "suite"  # as `score` was told, and how
    how: Resampling | None = None

    def on(self, images: Iterable[selection.Id]) -> Scores:
        """The same, of some of the images, by their ids."""
        return score(self.run, reference=self.reference, how=self.how, images=images)

    @property
    def model(self) -> str:
        return self.run.model

    @property
    def seen(self) -> tuple[str, ...] | None:
        """Those of the suite that the model was trained on; None: nobody says."""
        if self.run.seen is None:
            return None
        suite = selection.suite_of(self.run)
        return tuple(name for name in suite.counted + suite.validation if name in self.run.seen)

    @property
    def headline(self) -> tuple[Score, ...]:
        """The ones to look at first."""
        return tuple(self.scores[name] for name in _headline(self.kind, self.scores))

    def figure(self, score: Score) -> str:
        """One of these numbers with its interval, marked where the model was trained on it."""
        return score.figure() + mark(score, self.run.seen)

    def singles(self) -> dict[str, dict[str, Score]]:
        """Of each corruption: metric ("CE", or "error" without a reference) -> name -> score."""
        found: dict[str, dict[str, Score]] = {}
        for metrics in SINGLES[self.kind]:
            for metric in metrics:
                single = {
                    name.removeprefix(f"{metric} "): score
                    for name, score in self.scores.items()
                    if name == f"{metric} {' '.join(score.circumstances.names)}"
                }
                if single:
                    found[metric] = single
                    break
        return found

    def as_dicts(self) -> list[dict[str, Any]]:
        """Plain values of all of them, for CSV and data frames."""
        return [
            {"model": self.model, **score.as_dict(), "seen": seen_in(score, self.run.seen)}
            for score in self.scores.values()
        ]

    def __getitem__(self, name: str) -> Score:
        if name in self.scores:
            return self.scores[name]
        raise KeyError(
            f"no score {name!r} of {self.model} on {self.run.suite}; there are "
            f"{', '.join(self.scores)}"
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self.scores)

    def __len__(self) -> int:
        return len(self.scores)

    def __str__(self) -> str:
        first, *others = (f"{score.name} {self.figure(score)}" for score in self.headline)
        lines = [f"{first} ({self.headline[0].circumstances})"]
        if others:
            lines.append(", ".join(others))
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        seen = self.run.seen
        return scores_html(self.model, self.headline, self.notes, lambda score: mark(score, seen))


def score(
    run: StoredRun,
    *,
    reference: StoredRun | str | None = "suite",
    how: Resampling | None = None,
    images: Iterable[selection.Id] | None = None,
) -> Scores:
    """All scores of a run, over the images that have every cell.

    `reference`: "suite" is the suite's own model where it has one, a run is measured on the same
    images, None makes no ratios. `images` are the ids of those to score on, if not all.
    """
    if isinstance(reference, str) and reference != "suite":
        raise InputError(
            f'expected "suite", a stored run or None as a reference, got "{reference}"; '
            "`hardy.scores.choose` finds a run by its name"
        )
    suite = selection.suite_of(run)
    if not run.cells:
        raise InputError(
            f"the run of {run.model} on {run.suite} holds no predictions yet; the same "
            "`hardy eval` makes them"
        )
    places = selection.sorted_places(run, images)
    score_them = score_corruptions if suite.kind == "corruptions" else score_sequences
    # The suite's errors on other classes would say nothing.
    foreign = reference == "suite" and run.identity.labels == "own"
    scores, used, notes = score_them(run, suite, places, None if foreign else reference, how)
    notes += note(scores.values(), run.seen) + _unknown(run) + _defence(run)
    leading = {name: scores[name] for name in _headline(suite.kind, scores)}
    return Scores(run, suite.kind, leading | scores, used, tuple(notes), reference, how)


def _unknown(run: StoredRun) -> list[str]:
    """Of a model by `hardy train` everything is told but what its first weights had seen."""
    if run.trained is None or run.seen is not None:
        return []
    return [f"what its first weights had seen is not known, and nothing is marked {MARK}"]


def _defence(run: StoredRun) -> list[str]:
    if run.defence is None:
        return []
    if run.adapted:
        return [
            f"adapted to the images it is tested on, which others never see: {run.defence}; "
            "intervals take images for independent, and those of one batch are not"
        ]
    return [f"defended by {run.defence}"]


def _headline(kind: str, names: Iterable[str]) -> list[str]:
    there = set(names)
    wanted = HEADLINES[kind]
    if not there & set(wanted):
        wanted = VALIDATION_HEADLINES[kind]
    tuning = [name for name in VALIDATION_HEADLINES[kind] if name in there and name not in wanted]
    return [name for name in (*wanted, *tuning[:1], CLEAN_ERROR) if name in there]
