"""Correlations, against SciPy and by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hardy.errors import InputError
from hardy.metrics.statistics import average_ranks, fisher_interval, pearson, spearman


def test_by_hand() -> None:
    # Deviations (−1, 0, 1) and (−2, −1, 3): (2 + 3) / √(2 · 14).
    assert pearson([1, 2, 3], [0, 1, 5]) == pytest.approx(5 / math.sqrt(28))
    assert spearman([1, 2, 3], [0, 1, 5]) == 1
    # Ranks with a tie: (0, 1.5, 1.5, 3) and (0, 1, 2, 3): 4.5 / √(4.5 · 5).
    assert spearman([1, 2, 2, 9], [1, 2, 3, 4]) == pytest.approx(4.5 / math.sqrt(22.5))


def test_ranks_share_their_mean() -> None:
    assert average_ranks([5, 1, 5, 5, 2]).tolist() == [3, 0, 3, 3, 1]


def test_as_scipy_has_it() -> None:
    draws = np.random.default_rng(0)
    for _ in range(20):
        x, y = draws.integers(0, 6, (2, 15)).astype(float)
        assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
        assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)


def test_the_interval_is_fishers() -> None:
    x, y = np.random.default_rng(3).random((2, 21))
    found = fisher_interval(pearson(x, y), 21)
    low, high = stats.pearsonr(x, y).confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((low, high))
    ranks = fisher_interval(0.5, 21, ranks=True)
    half = 1.959964 * math.sqrt(1.125 / 18)
    assert ranks == pytest.approx(
        (math.tanh(math.atanh(0.5) - half), math.tanh(math.atanh(0.5) + half))
    )


def test_what_does_not_vary() -> None:
    assert math.isnan(pearson([1, 1, 1], [1, 2, 3]))
    assert math.isnan(spearman([], []))
    assert math.isnan(fisher_interval(math.nan, 9).low)
    assert math.isnan(fisher_interval(0.5, 3).high)


def test_a_perfect_correlation_of_few_is_no_certainty() -> None:
    assert fisher_interval(1.0, 9) == fisher_interval(-1.0, 9) == (-1, 1)
    # On a line too, where some processors bring r out a little below 1.
    k = np.arange(6)
    assert fisher_interval(pearson(0.4 - k / 100, 0.33 - 0.017 * k), 6) == (-1, 1)
    rounded = 1 - 2.0**-52
    assert fisher_interval(rounded, 6) == fisher_interval(-rounded, 6) == (-1, 1)
    for number in (5, 9, 40):
        swapped = np.arange(number)
        swapped[:2] = 1, 0
        nearest = spearman(np.arange(number), swapped)
        low, high = fisher_interval(1.0, number, ranks=True)
        assert (low, high) == pytest.approx((fisher_interval(nearest, number, ranks=True).low, 1))
        assert fisher_interval(-1.0, number, ranks=True) == pytest.approx((-1, -low))
    assert fisher_interval(1.0, 5, ranks=True).low < 0 < fisher_interval(1.0, 9, ranks=True).low


@pytest.mark.parametrize(("x", "y"), [([1, 2], [1]), ([1, math.nan], [1, 2]), ([[1]], [[1]])])
def test_bad_rows(x, y) -> None:
    with pytest.raises(InputError, match="two rows of as many finite numbers"):
        pearson(x, y)
