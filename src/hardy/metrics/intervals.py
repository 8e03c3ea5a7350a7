"""95 % intervals of scores, which hold from about twenty images on.

A score is a mean over images, and an error is its standard error, clustered by image: all that was
made of an image counts as one. `docs/metrics.md` tells the reasons, and how often they hold.
"""

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.laws import beta_quantile, student_quantile, student_tails

LEVEL = 0.95
NORMAL_QUANTILE = 1.959963984540054  # that belongs to LEVEL
_TAIL = (1 - LEVEL) / 2

# How many images as uneven as can be, all wrong or all right, are added to those seen.
_ADDED = 0.5
# A count lies this far inside its own limits: ½ is Jeffreys' interval, 0 Clopper and Pearson's.
_INSIDE = 0.25
# The standard error of what pairs that were not seen add to a difference, in parts of its leeway.
_UNSEEN_PAIRS = 0.1
# Means without an upper bound: as if it were so many times the mean, where Beta's law is Gamma's.
_FAR = 1000.0


class Interval(NamedTuple):
    low: float
    high: float

    def around(self, value: float, least: float) -> "Interval":
        """The same from `least` on, with its value inside: rounding can leave it just outside."""
        return Interval(min(value, max(least, self.low)), max(value, self.high))


def mean_interval(
    value: float, error: float, reach: Interval, images: int, freedom: int | None = None
) -> Interval:
    """The interval of a mean over images of numbers within `reach`, with its standard error.

    It is that of n* coins of which a share p fell on one side: p is where the mean lies in its
    reach, and n* so many that p has the error of the mean (Korn & Graubard 1998). Student's t in
    the place of the normal quantile, with `freedom`, makes n* smaller, and so does a part of an
    image as uneven as can be. Without an upper bound it is Gamma's interval (Fay & Feuer 1997),
    without any bound Student's.
    """
    freedom = freedom or images - 1
    t = student_quantile(LEVEL, freedom)
    low, high = reach
    if not math.isfinite(low):
        return Interval(value - t * error, value + t * error)
    bounded = math.isfinite(high)
    width = high - low if bounded else _FAR * (value - low)
    if width <= 0:
        return Interval(value, value)
    share = min(1.0, max(0.0, (value - low) / width))
    uneven = 1.0  # the variance of an image, as a part of the greatest that goes with the mean
    if 0 < share < 1:
        uneven = (images - 1) * (error / width) ** 2 / (share * (1 - share))
        if bounded:
            uneven = (images * uneven + _ADDED) / (images + _ADDED)
    if uneven == 0:
        return Interval(value, value)
    coins = (images - 1) / uneven * (NORMAL_QUANTILE / t) ** 2
    ends = _coin_interval(share, coins)
    return Interval(low + width * ends.low, low + width * ends.high)


def _coin_interval(share: float, coins: float) -> Interval:
    one, other = share * coins, (1 - share) * coins
    low = beta_quantile(_TAIL, one + _INSIDE, other + 1 - _INSIDE)
    high = beta_quantile(1 - _TAIL, one + 1 - _INSIDE, other + _INSIDE)
    return Interval(low if share > 0 else 0.0, high if share < 1 else 1.0)


def proportion_interval(hits: int, number: int) -> Interval:
    """The interval of one proportion, for a single cell: here images are the coins themselves, and
    nothing is estimated but the share. It has a width when nothing went wrong."""
    if not 0 <= hits <= number or number < 1:
        raise InputError(f"expected from 0 to {number} of at least one image, got {hits}")
    return _coin_interval(hits / number, number)


def difference_interval(
    difference: float, error: float, leeway: float, freedom: int, step: float = 0.0
) -> tuple[Interval, float]:
    """Student's interval of a paired difference, and its p-value, which is below 5 % where 0 is
    outside.

    Pairs that were not seen may bring it as far up or down as `leeway`, which counts for a part
    where pairs vary, and alone where all came out alike. A difference of shares of images moves by
    a `step` at a time, of which it is allowed one half (Yates 1934).
    """
    if error == 0:
        return Interval(difference - leeway, difference + leeway), float(difference == 0)
    error = math.hypot(error, _UNSEEN_PAIRS * leeway)
    half = student_quantile(LEVEL, freedom) * error + step / 2
    p_value = student_tails(max(0.0, abs(difference) - step / 2) / error, freedom)
    return Interval(difference - half, difference + half), p_value


def percentile_interval(replicates: npt.ArrayLike) -> Interval:
    """The middle 95 % of the replicates.

    It can only show what was drawn from: of few images, or where a handful fail, it is too narrow.
    """
    tails = [_TAIL, 1 - _TAIL]
    low, high = np.quantile(np.asarray(replicates, np.float64), tails, method="weibull")
    return Interval(float(low), float(high))
