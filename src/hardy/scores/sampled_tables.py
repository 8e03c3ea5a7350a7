"""The numbers of a sample: one per metric, image and cell that it has."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.metrics.classification import Floats
from hardy.metrics.sampled_means import SampledTable
from hardy.scores.columns import AnyMetric
from hardy.scores.sample_controls import FullRun
from hardy.scores.stored_sample import StoredSample
from hardy.store.reader import StoredRun
from hardy.suites.cells import CLEAN, Cell
from hardy.suites.suite import Suite

_WORTH = 0.02  # of the variance: less is chance


def sampled_tables(
    run: StoredRun,
    suite: Suite,
    sample: StoredSample,
    cells: Sequence[Cell],
    metrics: Sequence[AnyMetric],
    controls: Sequence[FullRun],
) -> dict[str, tuple[SampledTable, str]]:
    """The numbers of each metric, of the cells in this order, and the control that helps most, if
    one does."""
    order = [(CLEAN, *sample.cells).index(cell) for cell in cells]
    wanted = np.zeros((len(run.ids), len(cells)), np.bool_)
    wanted[sample.images] = sample.wanted[:, order]
    numbers = read_numbers(run, suite, cells, wanted, metrics)

    def best(name: str, values: Floats) -> tuple[SampledTable, str]:
        facts = (values[sample.images], sample.population, run.labels[sample.images])
        made = {"": SampledTable(*facts)}
        for one in controls:
            made[one.name] = SampledTable(*facts, one.control(name, sample.images))
        who = max(made, key=lambda who: made[who].gain)
        return (made[who], who) if made[who].gain >= _WORTH else (made[""], "")

    return {name: best(name, values) for name, values in numbers.items()}


def read_numbers(
    run: StoredRun,
    suite: Suite,
    cells: Sequence[Cell],
    wanted: npt.NDArray[np.bool_],
    metrics: Sequence[AnyMetric],
) -> dict[str, Floats]:
    """One by metric, image and cell, as `wanted` is; NaN where it is not wanted."""
    columns = list(dict.fromkeys(name for metric in metrics for name in metric.needs))
    numbers: dict[str, Floats] = {one.name: np.full(wanted.shape, np.nan) for one in metrics}
    for some, how in _alike(suite, cells):
        there = np.where(np.isin(np.arange(len(cells)), some), wanted, False)
        kept = run.read_some([cells[place] for place in some], columns, there[:, some])
        for metric in metrics:
            found = metric(*(kept[name] for name in metric.needs), **how)
            numbers[metric.name][there] = found
    return numbers


def _alike(suite: Suite, cells: Sequence[Cell]) -> Iterator[tuple[list[int], dict[str, Any]]]:
    """Places of cells that are read together, and what a metric is to know of them: sequences one
    by one, as they are at first, and images all at once."""
    if suite.kind == "corruptions":
        yield list(range(len(cells))), {}
        return
    for place, cell in enumerate(cells):
        if cell != CLEAN and cell.level == 1:
            yield [place], {"noise": suite.edition.steps(cell.name).is_noise, "difficulty": 1}
