"""Effective robustness: accuracy under a natural shift beyond what clean accuracy predicts.

The prediction is a line through published models that were trained for accuracy alone, which the
tables of `hardy.suites.published` name, and through those that the user brings.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from hardy.errors import InputError
from hardy.metrics import Interval
from hardy.metrics.logit_fit import LogitFit, effective_interval, fit_logits, has_logit
from hardy.metrics.metric import SHIFTS
from hardy.metrics.natural_shifts import accuracy
from hardy.registry import unknown
from hardy.scores.accuracy_files import check_shares, read_accuracies
from hardy.scores.run_scores import Scores
from hardy.scores.score import Score, write_figure
from hardy.scores.text_tables import TextTable
from hardy.suites import published, suite_names

WHAT_VARIES = (
    "Intervals are over images, and over the models that the line goes by; a single model lies "
    "further from it."
)


class ShiftPoint(NamedTuple):
    """A model on a shift, in percent."""

    suite: str
    model: str
    clean: float  # of the same classes
    accuracy: float
    standard: bool  # whether it was trained for accuracy alone
    source: str

    @property
    def counts(self) -> bool:
        """Whether the line goes by it."""
        return self.standard and has_logit(self.clean, self.accuracy)


class PublishedLine(NamedTuple):
    """The models that are known on a shift, and the line through those that count."""

    points: tuple[ShiftPoint, ...]
    line: LogitFit | None
    why: str = ""  # there is no line

    def describe(self) -> str:
        """How the line was come by, for a note."""
        if self.line is None:
            return f"no effective robustness: {self.why}; `hardy report --points` brings more"
        line = self.line
        return (
            f"predicted by logit(accuracy) = {line.intercept:.2f} + {line.slope:.2f} · "
            f"logit(clean accuracy) over {line.number} models of standard training, which lie "
            f"{line.spread:.1f} points around it"
        )


class EffectiveRobustness(NamedTuple):
    """One model on one shift."""

    scores: Scores
    clean: Score
    accuracy: Score
    predicted: float
    value: float  # in points
    interval: Interval
    beyond: bool  # whether the line is drawn out to its clean accuracy

    def as_score(self) -> Score:
        """The same among other scores; its replicates are those of the accuracy alone."""
        return replace(
            self.accuracy,
            name="effective robustness",
            value=self.value,
            interval=self.interval,
            unit="",
            signed=True,
            metric="",
            part="",
            resampling=f"{self.accuracy.resampling}; the line: Student's t over its models",
        )

    def figure(self) -> str:
        return write_figure(self.value, self.interval, 100.0, sign="+")


def read_points(path: Path | None) -> list[ShiftPoint]:
    """Models that the user brings: a CSV as `hardy correlate` reads it, in shares of 1."""
    points = []
    for model, suite, clean, right in read_accuracies(path) if path else ():
        check_shares(clean, right, f"{model} on {suite}")
        points.append(ShiftPoint(suite, model, 100 * clean, 100 * right, True, str(path)))
    return points


def refuse_idle(brought: Sequence[ShiftPoint], shifts: Sequence[str]) -> None:
    """Points of no suite, or of none of these that were run, are a mistake of whoever brings
    them."""
    for one in brought:
        if one.suite not in {*shifts, *suite_names()}:
            raise unknown("suite", one.suite, (*shifts, *suite_names()))
    if brought and not any(one.suite in shifts for one in brought):
        raise InputError(
            f"{brought[0].source}: expected models on a natural shift of this store, which has "
            f"{', '.join(shifts) or 'none'}, got {brought[0].model} on {brought[0].suite}"
        )


def published_line(suite: str, brought: Iterable[ShiftPoint] = ()) -> PublishedLine:
    """The published models of a suite and those brought along, which replace others of their
    name."""
    points = {one.model: one for one in (*_published(suite), *brought) if one.suite == suite}
    try:
        line = fit_logits((one.clean, one.accuracy) for one in points.values() if one.standard)
    except InputError as why:
        return PublishedLine(tuple(points.values()), None, str(why))
    return PublishedLine(tuple(points.values()), line)


def _published(suite: str) -> Iterable[ShiftPoint]:
    for one in published.find(accuracy.mean, suite):
        clean = one.table.rows[one.row].get(str(accuracy.clean))
        if clean is not None:
            values = (clean.value, one.value.value)
            yield ShiftPoint(
                suite, one.row, *values, one.row in one.table.standard, one.table.source
            )


def effective_robustness(scores: Scores, known: PublishedLine) -> EffectiveRobustness | None:
    """What the model has beyond the line; nothing without a line, or without clean images."""
    if known.line is None or not {accuracy.mean, accuracy.clean} <= {*scores}:
        return None
    clean, right = scores[str(accuracy.clean)], scores[accuracy.mean]
    predicted = known.line.predict(clean.value)
    value, interval = effective_interval(
        known.line, (clean.value, clean.interval), (right.value, right.interval)
    )
    beyond = known.line.beyond(clean.value)
    return EffectiveRobustness(scores, clean, right, predicted, value, interval, beyond)


def with_effective(scores: Scores) -> Scores:
    """The same, and effective robustness among them where there is a line, which is noted."""
    if scores.kind != SHIFTS:
        return scores
    known = published_line(scores.run.suite)
    if (found := effective_robustness(scores, known)) is None:
        return scores
    score = found.as_score()
    return replace(
        scores,
        scores={**scores.scores, score.name: score},
        notes=(*scores.notes, f"{score.name}: {known.describe()}"),
    )


def effective_tables(
    every: Sequence[Scores], baselines: Mapping[str, PublishedLine]
) -> list[TextTable]:
    """A row per model and suite that has a line, and what the lines are; no table without rows."""
    rows, notes = [], []
    for suite, known in baselines.items():
        some = [one for one in every if one.run.suite == suite]
        found = [one for scores in some if (one := effective_robustness(scores, known))]
        rows += [
            (
                one.scores.model,
                suite,
                one.clean.figure(),
                one.accuracy.figure(),
                f"{one.predicted:.1f} %",
                one.figure() + (" *" if one.beyond else ""),
            )
            for one in found
        ]
        notes += [f"{suite}: {known.describe()}"] if found else []
        if known.line and any(one.beyond for one in found):
            notes.append(f"{suite}: * the line is drawn out, {known.line.reach()}")
    header = ("model", "suite", "clean accuracy", "accuracy", "predicted", "beyond, in points")
    return (
        [TextTable("effective robustness", header, rows, notes=(*notes, WHAT_VARIES))]
        if rows
        else []
    )
