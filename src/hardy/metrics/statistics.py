"""Tests and intervals that need no resampling: McNemar's test, medians and correlations."""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.classification import Floats
from hardy.metrics.intervals import LEVEL, NORMAL_QUANTILE, Interval

LEAST = 5  # points: a correlation of fewer may be chance
ROUNDING = 1e-12  # of a correlation of 1


class McNemar(NamedTuple):
    only_first: int  # images that only the first model got wrong
    only_second: int
    p_value: float


def mcnemar(first_wrong: npt.ArrayLike, second_wrong: npt.ArrayLike) -> McNemar:
    """McNemar's exact test: where two models differ, is each as often right as the other?

    Two-sided binomial, 2 P(X ≤ min) with X ~ Bin(b + c, ½), at most 1. It concerns one cell alone:
    over cells the variants of an image are not independent, and `compare` is the test.
    """
    one, two = np.asarray(first_wrong, bool), np.asarray(second_wrong, bool)
    if one.shape != two.shape or one.ndim != 1:
        raise InputError(
            f"expected both models' errors on the same images of one cell, got shapes {one.shape} "
            f"and {two.shape}"
        )
    only_first, only_second = int((one & ~two).sum()), int((two & ~one).sum())
    number, fewer = only_first + only_second, min(only_first, only_second)
    log_factorial = _log_factorials(number)
    k = np.arange(fewer + 1)
    log_terms = log_factorial[number] - log_factorial[k] - log_factorial[number - k]
    log_tail = np.logaddexp.reduce(log_terms) - number * np.log(2.0)
    return McNemar(only_first, only_second, float(min(1.0, 2 * np.exp(log_tail))))


def median_interval(values: npt.ArrayLike) -> Interval:
    """The 95 % interval of a median, whatever the distribution.

    It reaches from the k-th smallest to the k-th largest, k as large as P(X < k) ≤ 2.5 % allows for
    X ~ Bin(n, ½). With fewer than six values it is all of them, which is less than 95 %:
    1 − 2/2ⁿ, 93.75 % for five.
    """
    ordered = np.sort(np.asarray(values, np.float64))
    number = len(ordered)
    if ordered.ndim != 1 or not number:
        raise InputError(f"expected a list of at least one number, got shape {ordered.shape}")
    log_factorial = _log_factorials(number)
    terms = log_factorial[number] - log_factorial - log_factorial[::-1] - number * np.log(2.0)
    below = np.exp(np.logaddexp.accumulate(terms))  # P(X ≤ k)
    k = max(1, int((below <= (1 - LEVEL) / 2).sum()))
    return Interval(float(ordered[k - 1]), float(ordered[number - k]))


def _log_factorials(number: int) -> Floats:
    """log k! for k = 0..number: on the log scale no term of a binomial underflows."""
    return np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, number + 1)))])


def pearson(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """r = Σ (x − x̄)(y − ȳ) / √(Σ (x − x̄)² · Σ (y − ȳ)²); NaN where a row does not vary."""
    one, two = _rows(x, y)
    if not len(one):
        return math.nan
    one, two = one - one.mean(), two - two.mean()
    scale = math.sqrt(float(one @ one) * float(two @ two))
    return max(-1.0, min(1.0, float(one @ two) / scale)) if scale > 0 else math.nan


def spearman(x: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Pearson's r of the ranks; equal numbers share the mean of theirs."""
    one, two = _rows(x, y)
    return pearson(average_ranks(one), average_ranks(two))


def average_ranks(values: npt.ArrayLike) -> Floats:
    """Ranks from 0; equal numbers share the mean of theirs."""
    _, group, sizes = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    means: Floats = np.cumsum(sizes) - (sizes + 1) / 2
    return means[group]


def fisher_interval(r: float, number: int, *, ranks: bool = False) -> Interval:
    """The 95 % interval of a correlation of independent points, from Fisher's z = artanh r.

    z has the standard error 1/√(n − 3); of ranks √((1 + r²/2)/(n − 3)) (Bonett & Wright 2000).
    At |r| = 1 z is infinite, and would leave no doubt however few points there are. Ranks that
    agree wholly get the near end of those with two neighbours swapped, r = 1 − 12/(n³ − n), the
    nearest to 1 that n points can come, and reach to 1; of points on a line nothing is known,
    −1 to 1.
    """
    if number < 4 or math.isnan(r):
        return Interval(math.nan, math.nan)
    perfect = 1 - abs(r) < ROUNDING
    if perfect and not ranks:
        return Interval(-1.0, 1.0)
    near = math.copysign(1 - 12 / (number**3 - number), r) if perfect else r
    spread = NORMAL_QUANTILE * math.sqrt((1 + near * near / 2 if ranks else 1) / (number - 3))
    low, high = (math.tanh(math.atanh(near) + side * spread) for side in (-1, 1))
    if perfect:
        return Interval(low, 1.0) if r > 0 else Interval(-1.0, high)
    return Interval(low, high)


def _rows(x: npt.ArrayLike, y: npt.ArrayLike) -> tuple[Floats, Floats]:
    one, two = np.asarray(x, np.float64), np.asarray(y, np.float64)
    if one.shape != two.shape or one.ndim != 1 or not np.isfinite([one, two]).all():
        raise InputError(
            f"expected two rows of as many finite numbers, got shapes {one.shape} and {two.shape}"
        )
    return one, two
