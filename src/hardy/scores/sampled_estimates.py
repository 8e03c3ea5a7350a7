"""A score that is linear in the means of cells, estimated from a sample, with its interval."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from hardy.metrics import Interval
from hardy.metrics.classification import Floats
from hardy.metrics.intervals import mean_interval
from hardy.metrics.sampled_means import SampledTable
from hardy.scores.score import NOISE, unseen_share


class SampledEstimate(NamedTuple):
    """A score, and the weights of the means that it is made of."""

    value: float
    interval: Interval
    freedom: int
    known: float  # see `SampledMean`
    table: SampledTable
    weights: Floats


def estimate_mean(
    table: SampledTable,
    weights: Floats,
    value: float,
    reach: Callable[[float], Interval | None],
    *,
    signed: bool = False,
) -> SampledEstimate:
    """A score that is linear in the means; `reach` is where it can lie if that share of all images
    is unlike those seen."""
    error, images, freedom, known = table.error_of(weights)
    bounds = reach(1.0)
    if bounds is None or not np.isfinite(bounds).all():
        bounds = Interval(-np.inf if signed else 0.0, np.inf)
    if (table.counts[weights != 0] >= table.population).all():
        interval = Interval(value, value)
    elif error <= NOISE * max(1.0, abs(value)):
        interval = reach(unseen_share(images)) or Interval(value, value)
    else:
        interval = mean_interval(value, error, bounds, images, freedom)
    interval = interval.around(value, bounds.low)
    return SampledEstimate(value, interval, freedom, known, table, weights)
