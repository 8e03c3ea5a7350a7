"""The laws of Beta and Student, which intervals are quantiles of."""

import math
from functools import lru_cache

import numpy as np

from hardy.metrics.classification import Floats

_STEPS = 1000  # on either side of the mode: quantiles are exact to four digits


def beta_quantile(share: float, a: float, b: float) -> float:
    """The number that a Beta(a, b) variable is below with such a probability."""
    log_odds, below = _beta_law(a, b)
    return 1 / (1 + math.exp(-float(np.interp(share, below, log_odds))))


@lru_cache
def student_quantile(share: float, freedom: float) -> float:
    """The t that Student's law lies between −t and t with such a probability."""
    log_odds, below = _beta_law(0.5, freedom / 2)
    return math.sqrt(freedom * math.exp(float(np.interp(share, below, log_odds))))


def student_tails(t: float, freedom: float) -> float:
    """The probability that Student's law gives more than |t| on either side: the p-value of t."""
    if t == 0:
        return 1.0
    log_odds, below = _beta_law(0.5, freedom / 2)
    return 1 - float(np.interp(2 * math.log(abs(t)) - math.log(freedom), log_odds, below))


def _beta_law(a: float, b: float) -> tuple[Floats, Floats]:
    """Log-odds u = log(y / (1 − y)) of a Beta(a, b) variable y, and the probability below each.

    Of log-odds the density e^(a u) / (1 + e^u)^(a + b) is smooth and has one mode whatever a and b
    are: it is added up on a grid. Student's t has y = t² / (t² + ν) with a = ½ and b = ν / 2.
    """
    mode, spread = math.log(a / b), math.sqrt(1 / a + 1 / b)
    left, right = (max(12 * spread, 40 / one) for one in (a, b))
    log_odds = mode + np.concatenate(
        [np.linspace(-left, 0, _STEPS, endpoint=False), np.linspace(0, right, _STEPS + 1)]
    )
    log_density = a * log_odds - (a + b) * np.logaddexp(0, log_odds)
    density = np.exp(log_density - log_density.max())
    parts = (density[1:] + density[:-1]) / 2 * np.diff(log_odds)
    below = np.concatenate([[0.0], np.cumsum(parts)])
    return log_odds, below / below[-1]
