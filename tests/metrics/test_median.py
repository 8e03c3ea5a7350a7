"""The interval of a median, against the binomial distribution of SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from hardy.errors import InputError
from hardy.metrics.statistics import median_interval


@pytest.mark.parametrize("number", [6, 7, 25, 100, 1001])
def test_the_ranks_are_the_binomial_ones(number: int) -> None:
    low, high = median_interval(np.random.default_rng(0).permutation(number))
    k = int(low)  # values are their ranks from 0: so many are below
    assert high == number - 1 - k
    assert binom.cdf(k, number, 0.5) <= 0.025 < binom.cdf(k + 1, number, 0.5)


def test_few_numbers_and_many() -> None:
    assert median_interval([3.0, 1.0, 2.0]) == (1, 3)
    low, high = median_interval(np.arange(50_000))
    assert 24_999.5 - low == pytest.approx(1.96 * 50_000**0.5 / 2, rel=0.02)
    assert low + high == 49_999
    with pytest.raises(InputError, match="at least one number"):
        median_interval([])


def test_five_cannot_reach_the_level() -> None:
    draws = np.random.default_rng(2).exponential(size=(4000, 5))
    inside = [low <= np.log(2) <= high for low, high in map(median_interval, draws)]
    assert np.mean(inside) == pytest.approx(1 - 2 / 2**5, abs=0.012)


def test_it_covers() -> None:
    draws = np.random.default_rng(1).exponential(size=(2000, 30))
    inside = [low <= np.log(2) <= high for low, high in map(median_interval, draws)]
    assert 0.95 <= np.mean(inside) < 0.99
