"""Two models of which one is sampled, or both: differences on the predictions that both have.

All samples of the same images take them in the same order, so those that two have in common are a
sample again, and a full run has all of any. What is estimated is the difference itself, image by
image under each cell: it varies less than either score.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics import METRICS
from hardy.metrics.classification import Floats
from hardy.metrics.intervals import difference_interval
from hardy.metrics.sampled_means import SampledTable
from hardy.run.sample_plan import LEAST
from hardy.scores.paired_scores import ScoreDifference, refuse_unlike
from hardy.scores.run_scores import Scores
from hardy.scores.sampled_scores import SampledScores
from hardy.scores.sampled_tables import read_numbers
from hardy.scores.score import Score, unseen_share
from hardy.scores.scored_cells import suite_of
from hardy.scores.stored_sample import StoredSample
from hardy.suites.cells import CLEAN, Cell


class SampledPairs(NamedTuple):
    """What two models have in common."""

    first: Scores
    second: Scores
    like: SampledScores  # of either, whose cells they are
    wanted: npt.NDArray[np.bool_]  # (images of both runs, clean images and cells)
    tables: dict[str, SampledTable]  # second minus first, by metric

    @property
    def note(self) -> str:
        made, every = int(self.wanted.sum()), self.like.sample.population * self.wanted.shape[1]
        return (
            f"B − A is estimated from the {made:,} of {every:,} predictions that both have, and "
            "need not be the difference of the two scores beside it"
        )

    def table_of(self, name: str) -> tuple[SampledTable, Floats]:
        """The differences that a score is made of, and their weights."""
        base = METRICS[self.first[name].metric].base
        return self.tables[base.name], self.like.estimates[name].weights

    def compare(self, name: str) -> ScoreDifference:
        first, second = self.first[name], self.second[name]
        refuse_unlike(*map(_of_the_full_run, (first, second)))
        metric = METRICS[first.metric].base
        table, weights = self.table_of(name)
        used = weights != 0
        difference = float(weights[used] @ table.means[used])
        error, images, freedom, _ = table.error_of(weights)
        most = 0.0 if metric.most is None else metric.most * float(np.abs(weights).sum())
        leeway = unseen_share(images) * most
        interval, p_value = difference_interval(difference, error, leeway, freedom)
        return ScoreDifference(first, second, difference, interval, min(1.0, p_value))


def pair_samples(first: Scores, second: Scores) -> SampledPairs:
    """What both have, of which at least one is sampled; refused where that is too little."""
    like = first.sampled or second.sampled
    assert like is not None  # one is sampled
    refuse_unlike(*(_of_the_full_run(scores.headline[0]) for scores in (first, second)))
    runs = (first.run, second.run)
    same = first.run.ids == second.run.ids
    if not (same and np.array_equal(first.run.labels, second.run.labels)):
        raise InputError(
            f"expected runs that sample the same images, got {len(first.run.ids):,} of "
            f"{first.model} and {len(second.run.ids):,} of {second.model}, or others; evaluate "
            "both on the same"
        )
    cells = (CLEAN, *like.cells)
    ours, theirs = (_has(scores, cells) for scores in (first, second))
    wanted = ours & theirs
    counts = wanted[:, 1:].sum(axis=0)
    if counts.min() < LEAST:
        raise InputError(
            f"expected at least {LEAST} images under every cell that {first.model} and "
            f"{second.model} both have, got {counts.min()}; sample both with the same `until`"
        )
    rows = np.flatnonzero(wanted.any(axis=1))
    if not np.array_equal(first.run.pixels[rows], second.run.pixels[rows]):
        raise InputError("expected the same images for both models, got other pixels")
    bases = {METRICS[score.metric].base.name for score in like.scores.values()}
    metrics = [METRICS[name] for name in sorted(bases)]
    one, two = (read_numbers(run, suite_of(run), cells, wanted, metrics) for run in runs)
    facts = (like.sample.population, first.run.labels[rows])
    tables = {name: SampledTable((two[name] - one[name])[rows], *facts) for name in one}
    return SampledPairs(first, second, like, wanted, tables)


def _has(scores: Scores, cells: Sequence[Cell]) -> npt.NDArray[np.bool_]:
    """(images, cells): what may be used of a run."""
    if scores.sampled is None:
        return scores.run.have(cells)
    sample: StoredSample = scores.sampled.sample
    every = (CLEAN, *sample.cells)
    found = np.zeros((len(scores.run.ids), len(cells)), np.bool_)
    for column, cell in enumerate(cells):
        if cell in every:
            found[sample.images, column] = sample.wanted[:, every.index(cell)]
    return found


def _of_the_full_run(score: Score) -> Score:
    """The score as if all had been predicted, to see whether the two are alike otherwise."""
    around = replace(score.circumstances, sampled=None, images=0, images_hash="", total=None)
    return replace(score, circumstances=around, resampling="", replicates=np.empty(0))
