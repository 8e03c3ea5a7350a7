"""Correlations of two rows of numbers, and how far chance may have moved them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.bootstrap import Interval
from hardy.metrics.classification import Floats

_Z = 1.959963984540054  # the normal quantile of 95 %
LEAST = 5  # of fewer points any correlation may be chance
ROUNDING = 1e-12  # of a correlation of 1


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
    """From 0; equal numbers share the mean of their ranks."""
    _, group, sizes = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(sizes)
    means: Floats = (ends - sizes + ends - 1) / 2
    return means[group]


def fisher_interval(r: float, number: int, *, ranks: bool = False) -> Interval:
    """95 % of Fisher's z = artanh r, whose standard error is 1/√(n − 3); of rank correlations
    √((1 + r²/2)/(n − 3)) (Bonett & Wright 2000). Points are taken for independent.

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
    spread = _Z * math.sqrt((1 + near * near / 2 if ranks else 1) / (number - 3))
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
