"""A stored run's scores, and how they show themselves."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hardy.errors import InputError
from hardy.metrics import Resampling
from hardy.metrics.classification import top5_error
from hardy.metrics.metric import CORRUPTIONS, HEADLINE, PERTURBATIONS
from hardy.metrics.natural_shifts import top5_accuracy
from hardy.schema import brief
from hardy.scores.by_type import count_broken, score_types
from hardy.scores.columns import AnyMetric
from hardy.scores.formulas import make_scores
from hardy.scores.per_image import measure_images, reference_for
from hardy.scores.sampled_scores import SampledScores, make_sampled
from hardy.scores.score import MARK, Circumstances, Score
from hardy.scores.scored_cells import (
    Id,
    Places,
    ScoredCells,
    circumstances,
    rectangle,
    resampling,
    select_cells,
    sorted_places,
    suite_of,
)
from hardy.scores.stored_sample import StoredSample, choose_sample, name_cells, note_beside
from hardy.scores.text_tables import scores_html
from hardy.scores.wanted_scores import usable_metrics
from hardy.store.provenance import UNREADABLE
from hardy.store.reader import StoredRun
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite


def headline_metrics(kind: str) -> list[AnyMetric]:
    """The metrics that are quoted, the first one before all others: ratios to a reference lead."""
    quoted = [metric for metric in usable_metrics(kind)[0] if metric.group == HEADLINE]
    return sorted(quoted, key=lambda metric: not metric.is_ratio)


def deciding_metrics(kind: str) -> list[AnyMetric]:
    return [one for one in headline_metrics(kind) if one.decides]


def headline_labels(kind: str) -> tuple[str, ...]:
    """What the headline scores of a suite may be called, in their order; the first ranks."""
    metrics = headline_metrics(kind)
    means = [metric.mean for metric in metrics]
    tuning = [metric.validation for metric in metrics if metric.validation]
    return (*means, *tuning, *clean_labels(kind))


def clean_labels(kind: str) -> list[str]:
    """The headline scores on clean images; sequences have none of their own, but published ones."""
    own = CORRUPTIONS if kind == PERTURBATIONS else kind
    return [metric.clean for metric in headline_metrics(own) if metric.clean]


def find_metric(score: str, names: Sequence[str], kind: str) -> tuple[AnyMetric, str] | None:
    """The metric that makes a score of this name over these corruptions, and the score's part;
    None: it is none of those that are installed."""
    for metric in usable_metrics(kind)[0]:
        labels = {"mean": metric.mean, "clean": metric.clean, "validation": metric.validation}
        if len(names) == 1 and metric.single:
            labels["single"] = metric.single_label(names[0])
        for part, label in labels.items():
            if label == score:
                return metric, part
    return None


def families(kind: str) -> list[list[AnyMetric]]:
    """Metrics of one quantity, if any of them is quoted: the ratios before the plain number."""
    metrics = usable_metrics(kind)[0]
    found = []
    for base in (metric for metric in metrics if metric.of is None):
        ratios = [metric for metric in metrics if metric.is_ratio and metric.base is base]
        if any(metric.group == HEADLINE for metric in (base, *ratios)):
            found.append([*ratios, base])
    return found


@dataclass(frozen=True, eq=False, repr=False)
class Scores(Mapping[str, Score]):
    """All scores of a run, by names such as "mCE" or "CE fog"; the headline comes first."""

    run: StoredRun
    kind: str  # of suite
    scores: dict[str, Score]
    images: Places  # in the run, of the headline scores, in the order of their rows
    notes: tuple[str, ...] = ()  # what the scores leave out
    reference: StoredRun | str | None = "suite"  # as `score` was told, and how
    how: Resampling | None = None
    cells: Collection[Cell] | None = None  # that were to be scored; None: all
    sampled: SampledScores | None = None  # where they are estimated from a sample of the run
    called: str | None = None  # the name that the run was asked for by, where its own is another

    def on(self, images: Iterable[Id]) -> Scores:
        """The same, of some of the images, by their ids."""
        scores = score_run(
            self.run, reference=self.reference, how=self.how, images=images, cells=self.cells
        )
        return replace(scores, called=self.called)

    @property
    def model(self) -> str:
        return self.called or self.run.model

    @property
    def seen(self) -> tuple[str, ...] | None:
        """Those of the suite that the model was trained on; None: nobody says."""
        if self.run.seen is None:
            return None
        suite = suite_of(self.run)
        return tuple(name for name in suite.counted + suite.validation if name in self.run.seen)

    @property
    def headline(self) -> tuple[Score, ...]:
        """The ones to look at first."""
        return tuple(self.scores[name] for name in _headline(self.kind, self.scores))

    def figure(self, score: Score, *, bare: bool = False) -> str:
        """One of these numbers with its interval, if not `bare`, marked where the model was trained
        on it."""
        return (score.bare() if bare else score.figure()) + score.mark(self.run.seen)

    def singles(self) -> dict[str, dict[str, Score]]:
        """Single corruptions: metric ("CE", or "error" without a reference) -> name -> score."""
        every = [score for score in self.scores.values() if score.part == "single"]
        names = dict.fromkeys(name for score in every for name in score.circumstances.names)
        found: dict[str, dict[str, Score]] = {}
        for family in families(self.kind):
            for metric in family:
                labels = {name: metric.single_label(name) for name in names}
                there = {name: self[label] for name, label in labels.items() if label in self}
                if there:
                    found[metric.name] = there
                    break
        return found

    def as_dicts(self) -> list[dict[str, Any]]:
        """Plain values of all of them, for CSV and data frames."""
        return [
            {"model": self.model, **score.as_dict(), "seen": score.seen(self.run.seen)}
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

    def __repr__(self) -> str:
        first = self.headline[0]
        return f"Scores({self.model!r}, {self.run.suite}: {first.name} {self.figure(first)})"

    def __str__(self) -> str:
        first, *others = (f"{score.name} {self.figure(score)}" for score in self.headline)
        lines = [f"{first} ({self.headline[0].circumstances})"]
        if others:
            lines.append(", ".join(others))
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        told = [str(self.headline[0].circumstances), *(f"note: {note}" for note in self.notes)]
        return scores_html(self.headline, told, title=self.model, seen=self.run.seen or ())


def score_run(
    run: StoredRun,
    *,
    reference: StoredRun | str | None = "suite",
    how: Resampling | None = None,
    images: Iterable[Id] | None = None,
    cells: Collection[Cell] | None = None,
    sample: StoredSample | None = None,
) -> Scores:
    """All scores of a run, over the images that have every cell.

    `reference`: "suite" is the suite's own model where it has one, a run is measured on the same
    images, None makes no ratios. `images` are the ids of those to score on, if not all, and
    `cells` likewise; of a sampled run the `sample` is what is there, if not given.
    """
    if isinstance(reference, str) and reference != "suite":
        raise InputError(
            f'expected "suite", a stored run or None as a reference, got "{reference}"; '
            "`hardy.scores.choose` finds a run by its name"
        )
    suite = suite_of(run)
    if not run.cells:
        raise InputError(
            f"the run of {run.model} on {run.suite} holds no predictions yet; the same "
            "`hardy eval` makes them"
        )
    # The suite's errors on other classes would say nothing.
    foreign = reference == "suite" and run.identity.labels == "own"
    metrics, left_out = _metrics_for(suite, run)
    thin: tuple[Cell, ...] = ()
    if sample is None and cells is None:
        stored, thin = choose_sample(run, suite)
        sample = stored if images is None else None
    if sample is not None:
        return _score_sample(run, suite, sample, None if foreign else reference, metrics, left_out)
    others = thin if cells is None else [cell for cell in run.cells if cell not in cells]
    places = sorted_places(run, images)
    parts, notes = select_cells(run, suite, places, others)
    typed = suite.shift is not None and suite.shift.types is not None
    scores: dict[str, Score] = {}
    for part, measured in zip(parts, measure_images(run, suite, parts, metrics), strict=True):
        divisor, unused = reference_for(run, suite, part, None if foreign else reference, metrics)
        made, undivided = make_scores(
            measured,
            circumstances(run, suite, part),
            metrics,
            counted=suite.counted,
            validation=suite.validation,
            reference=divisor,
            how=resampling(run, part.images, how, suite),
        )
        if typed:
            made |= score_types(run, suite, part, measured, how)
        notes += unused + undivided
        # Clean scores of the part that counts come first, and stay.
        scores = {**scores, **made, **scores}
    if typed:
        scores |= count_broken(run, parts, places, scores)
    if thin:
        names = name_cells(thin, [cell for part in parts for cell in part.cells])
        notes.append(f"left out, as just a sample of it is stored (`until`): {names}")
    notes += left_out + _about(scores, run)
    leading = {name: scores[name] for name in _headline(suite.kind, scores)}
    if not leading:
        raise InputError(
            f"expected predictions of {run.model} on cells of {suite.name}, got only others, such "
            f"as {brief(str(run.cells[0]))}; the same `hardy eval` adds what is missing"
        )
    told = (tuple(notes), reference, how, cells)
    return Scores(run, suite.kind, leading | scores, parts[0].images, *told)


def _score_sample(
    run: StoredRun,
    suite: Suite,
    sample: StoredSample,
    reference: StoredRun | str | None,
    metrics: list[AnyMetric],
    left_out: list[str],
) -> Scores:
    if isinstance(reference, StoredRun):
        raise InputError(
            f"expected the suite's own reference, or none, for {run.model}, of which a sample was "
            f"predicted, got {reference.model}; `hardy eval` without `until` completes it"
        )

    def around(part: ScoredCells) -> Circumstances:
        return circumstances(run, suite, part)

    names, levels = rectangle(sample.cells)
    whole = ScoredCells(names, levels, sample.cells, sample.images)
    divisor, unused = reference_for(run, suite, whole, reference, metrics)
    made = make_sampled(run, suite, sample, around, metrics, divisor)
    every = {name: made.scores[name] for name in _headline(suite.kind, made.scores)} | made.scores
    notes = (*made.notes, *note_beside(run, sample), *unused, *left_out, *_about(every, run))
    return Scores(run, suite.kind, every, sample.images, notes, reference, sampled=made)


def _about(scores: Mapping[str, Score], run: StoredRun) -> list[str]:
    """What is to be known of the model and of its run."""
    told = _trained_on(scores.values(), run) + _prompts(run) + _defence(run)
    return told + _unfinished(run) + _left_out(run) + run.doubts


def _metrics_for(suite: Suite, run: StoredRun) -> tuple[list[AnyMetric], list[str]]:
    """The metrics of a suite: one that is scored by a relative ratio has no plain one, and of five
    classes every label is among the best five."""
    metrics, notes = usable_metrics(suite.kind)
    if (run.details["width"] or 0) <= 5:
        metrics = [one for one in metrics if one.base not in (top5_error, top5_accuracy)]
    relative = any(one.is_relative for one in metrics if one.mean == suite.score)
    return [one for one in metrics if one.is_relative or not (relative and one.is_ratio)], notes


def _trained_on(scores: Iterable[Score], run: StoredRun) -> list[str]:
    """What the mark means, where there is one. Of a model by `hardy train` everything is told but
    what its first weights had seen."""
    if run.trained is not None and run.seen is None:
        return [f"what its first weights had seen is not known, and nothing is marked {MARK}"]
    names = dict.fromkeys(name for score in scores for name in score.seen(run.seen))
    return [f"{MARK} trained on {', '.join(names)}: not unseen by this model"] if names else []


def _unfinished(run: StoredRun) -> list[str]:
    """A note on cells that were asked for, and of which no image has been predicted."""
    there = set(map(str, run.cells))
    done = len(run.asked & there)
    if done == len(run.asked):
        return []
    return [f"unfinished: {done} of {len(run.asked)} cells; the same `hardy eval` resumes"]


def _left_out(run: StoredRun) -> list[str]:
    """What became of images that the run was to have."""
    if not run.left_out:
        return []
    number = sum(run.left_out.values())
    words = {UNREADABLE: "that could not be read, or whose size is another"}
    parts = ", ".join(f"{n:,} {words.get(kind, kind)}" for kind, n in run.left_out.items())
    return [f"{number:,} image{'s are' if number > 1 else ' is'} left out: {parts}"]


def _prompts(run: StoredRun) -> list[str]:
    return [] if run.prompts is None else [f"zero-shot, with the prompts {run.prompts}"]


def _defence(run: StoredRun) -> list[str]:
    if run.defence is None:
        return []
    if run.adapted:
        return [
            f"adapted to the images it is tested on, which others never see: {run.defence}; "
            "intervals take images for independent, and those of one batch are not"
        ]
    return [f"defended by {run.defence}"]


def _headline(kind: str, there: Container[str]) -> list[str]:
    """What counts, one score for tuning, and the clean images; tuning alone if nothing counts."""
    metrics = headline_metrics(kind)
    means = [metric.mean for metric in metrics if metric.mean in there]
    tuning = [one.validation for one in metrics if one.validation and one.validation in there]
    clean = [label for label in clean_labels(kind) if label in there]
    return [*means, *tuning[:1], *clean] if means else [*tuning, *clean]
