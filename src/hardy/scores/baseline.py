"""A baseline that runs are held against: the store of earlier runs, or a result file of them."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace

import numpy as np

from hardy.errors import InputError
from hardy.metrics import Interval
from hardy.places import locate
from hardy.scores.compared import deciding_names
from hardy.scores.comparison import compare_runs
from hardy.scores.naming import readable_runs
from hardy.scores.paired_scores import ScoreDifference, refuse_unlike
from hardy.scores.result_files import ResultFile, read_results
from hardy.scores.run_scores import Scores
from hardy.scores.score import Score
from hardy.store.reader import StoredRun

Held = tuple[str, str]  # the names of a model and of a suite


@dataclass(frozen=True)
class Judgement:
    """What became of a model since the baseline, in the scores that decide."""

    model: str
    suite: str
    changes: tuple[ScoreDifference, ...]
    regressions: tuple[ScoreDifference, ...]  # those that are significantly worse
    how: str  # "pair by pair", or by which intervals

    def __str__(self) -> str:
        lines = [
            f"{one.first.name}: {one.first.bare()} in the baseline, {one.second.bare()} now, "
            f"{one.figure()}" + (" (worse)" if one in self.regressions else "")
            for one in self.changes
        ]
        found = "a significant regression" if self.regressions else "no significant regression"
        return "\n".join([f"{self.model} on {self.suite}: {found}, {self.how}", *lines])


class Baseline:
    """Earlier runs by model and suite. A store is compared pair by pair; a result file has no
    predictions, so that only a difference beyond both intervals tells."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = locate(path)
        self.faults: list[str] = []  # runs that cannot be read, and why
        self._held: dict[Held, list[StoredRun | ResultFile]] = {}
        found: list[StoredRun] | list[ResultFile]
        if self.path.is_dir():
            found, self.faults = readable_runs(self.path)
        else:
            found = read_results(self.path)
        for one in found:
            self._held.setdefault(_names(one), []).append(one)

    @property
    def held(self) -> list[Held]:
        """The models and suites that it has."""
        return list(self._held)

    def judge(self, scores: Scores) -> Judgement:
        """Hold a run against the one of the same model on the same suite; refused if there is none,
        or it was not made alike."""
        held = self._held.get((scores.model, scores.run.suite), [])
        if len(held) != 1:
            others = ", ".join(f"{model} on {suite}" for model, suite in self.held)
            raise InputError(
                f"expected one run of {scores.model} on {scores.run.suite} in {self.path}, got "
                f"{len(held)}" + (f"; it has {others}" if not held else "; keep one of them")
            )
        if isinstance(held[0], ResultFile):
            return _judge_result(held[0], scores)
        return _judge_pairs(held[0], scores)


def _names(one: StoredRun | ResultFile) -> Held:
    if isinstance(one, StoredRun):
        return one.model, one.suite
    return one.name, one.scores[one.headline[0]].circumstances.suite


def _judge_pairs(before: StoredRun, scores: Scores) -> Judgement:
    if before.folder.resolve() == scores.run.folder.resolve():
        raise InputError(
            f"expected a baseline made before {scores.run.folder}, got that run itself; keep a "
            "copy of the store, or its result file"
        )
    compared = compare_runs(before, scores)
    found = (compared.deciding, compared.regressions)
    return Judgement(scores.model, scores.run.suite, *found, "compared pair by pair")


def _judge_result(before: ResultFile, scores: Scores) -> Judgement:
    names = deciding_names(scores.kind, {*before.headline} & {*(s.name for s in scores.headline)})
    if not names:  # which cannot be compared: this says why
        refuse_unlike(before.scores[before.headline[0]], _bare(scores.headline[0]))
    changes = tuple(_difference(before.scores[name], _bare(scores[name])) for name in names)
    worse = tuple(one for one in changes if one.significant and one.loss > 0)
    return Judgement(scores.model, scores.run.suite, changes, worse, "by the intervals of both")


def _bare(score: Score) -> Score:
    """The score as a result file has it."""
    return replace(score, replicates=np.empty(0))


def _difference(first: Score, second: Score) -> ScoreDifference:
    """The difference of scores of which only the intervals are known, as if of other images: their
    arms add as squares. What is hard for both models makes it wider than it need be."""
    refuse_unlike(first, second)
    change = second.value - first.value
    down = math.hypot(second.value - second.interval.low, first.interval.high - first.value)
    up = math.hypot(second.interval.high - second.value, first.value - first.interval.low)
    return ScoreDifference(first, second, change, Interval(change - down, change + up), math.nan)
