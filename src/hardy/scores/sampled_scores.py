"""Scores of a run that holds a designed sample of its predictions (`hardy eval --until`).

Every score here is linear in the means of cells, so its estimate is unbiased and its error follows
from the sample. The interval is one of the full run's value: images are drawn from those that the
run is of, and what is known of all of them has no error.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from hardy.errors import InputError
from hardy.metrics import Interval
from hardy.metrics.sampled_means import SampledTable
from hardy.run.sample_plan import LEAST
from hardy.scores.columns import AnyMetric, ColumnPlace, Published, ReferenceNumbers
from hardy.scores.formulas import ScoreFormula
from hardy.scores.sample_controls import find_controls
from hardy.scores.sampled_estimates import SampledEstimate, estimate_mean
from hardy.scores.sampled_tables import sampled_tables
from hardy.scores.score import NOISE, Circumstances, Score
from hardy.scores.scored_cells import ScoredCells, rectangle
from hardy.scores.stored_sample import StoredSample
from hardy.scores.wanted_scores import wanted_scores
from hardy.store.reader import StoredRun
from hardy.suites.cells import CLEAN, Cell
from hardy.suites.suite import Suite

_HOW = "a designed sample of the full run, clustered by image"


class SampledScores(NamedTuple):
    sample: StoredSample
    cells: tuple[Cell, ...]  # that are scored, besides the clean images
    scores: dict[str, Score]
    estimates: dict[str, SampledEstimate]
    notes: list[str]


def make_sampled(
    run: StoredRun,
    suite: Suite,
    sample: StoredSample,
    around: Callable[[ScoredCells], Circumstances],
    metrics: Sequence[AnyMetric],
    reference: ReferenceNumbers | None,
) -> SampledScores:
    """The scores by name."""
    refuse_thin(sample)
    names, levels = rectangle(sample.cells)
    cells = (CLEAN, *(Cell(name, level) for name in names for level in levels))
    usable = [metric for metric in metrics if metric.base.beneath is None]
    bases = list({one.base.name: one.base for one in usable}.values())
    has_clean = bool(sample.wanted[:, 0].any())
    place = ColumnPlace(0, 0, len(names), len(levels), 1, has_clean)
    part = ScoredCells(names, levels, cells if has_clean else cells[1:], sample.images)
    controls = find_controls(run, sample, part, bases)
    tables = sampled_tables(run, suite, sample, cells, bases, controls)
    circumstances = replace(around(part), sampled=sample.predictions)
    scores: dict[str, Score] = {}
    estimates: dict[str, SampledEstimate] = {}
    for wanted in wanted_scores(usable, circumstances, suite.counted, suite.validation):
        metric, base = wanted.metric, wanted.metric.base.name
        index = [names.index(name) for name in wanted.names]
        formula = ScoreFormula(metric, place, _divisor(reference, base, names))
        if not formula.possible(wanted.part, circumstances):
            continue
        table, control = tables[base]
        estimate = _estimate(table, formula, wanted.part, index)
        if estimate is None:
            continue
        estimates[wanted.label] = estimate
        own = replace(
            circumstances,
            names=wanted.names,
            levels=levels if wanted.names else (),
            reference=reference.name if reference and metric.is_ratio else None,
        )
        scores[wanted.label] = Score(
            wanted.label,
            estimate.value,
            estimate.interval,
            metric.unit,
            own,
            _HOW + (f", with {control}'s full run as control" if control else ""),
            np.empty(0),
            metric.lower_is_better,
            metric.signed,
            metric.name,
            wanted.part,
            freedom=estimate.freedom,
        )
    notes = _notes(sample, tables, [one for one in metrics if one not in usable])
    return SampledScores(sample, cells[1:], scores, estimates, notes)


def refuse_thin(sample: StoredSample) -> None:
    """Refuse a sample that has too few images of a cell to be scored."""
    counts = sample.wanted[:, 1:].sum(axis=0)
    if counts.min() < LEAST:
        raise InputError(
            f"expected at least {LEAST} images under every cell for scores of a sample, got "
            f"{counts.min()} under {sample.cells[int(counts.argmin())]}; the same call goes on, "
            "with a larger `at_most` further"
        )


def _divisor(
    reference: ReferenceNumbers | None, base: str, names: Sequence[str]
) -> Published | None:
    if reference is None or base not in reference.published:
        return None
    clean, numbers = reference.published[base]
    return Published(clean, np.array([numbers[name] for name in names]))


def _estimate(
    table: SampledTable, formula: ScoreFormula, part: str, index: list[int]
) -> SampledEstimate | None:
    """The value with its interval; None for a ratio without a divisor."""
    metric, means = formula.metric, table.means
    value = float(formula([means], part, index)) * metric.scale
    # A linear formula changes by its weight where a mean changes by 1.
    moved = np.asarray(formula([means + np.eye(len(means))], part, index)) * metric.scale
    if not (np.isfinite(value) and np.isfinite(moved).all()):
        return None
    weights = np.where(np.abs(moved - value) > NOISE * max(1, abs(value)), moved - value, 0.0)

    def reach(share: float) -> Interval | None:
        return formula.reach([means], part, index, share)

    return estimate_mean(table, weights, value, reach, signed=metric.signed)


def _notes(
    sample: StoredSample,
    tables: Mapping[str, tuple[SampledTable, str]],
    unusable: Sequence[AnyMetric],
) -> list[str]:
    made, every = sample.predictions
    notes = [
        f"sampled: {made:,} of {every:,} predictions, of {len(sample.images):,} of "
        f"{sample.population:,} images; ± is how far off the full run may be, and `hardy eval` "
        "without `until` completes it"
    ]
    notes += [
        f"{who}'s full run on the same images takes {100 * table.gain:.0f} % off the variance of "
        f"{name}"
        for name, (table, who) in tables.items()
        if who
    ]
    if unusable:
        names = ", ".join(dict.fromkeys(metric.base.name for metric in unusable))
        notes.append(f"no {names}: it is no mean over images, and of a sample errs upwards")
    return notes
