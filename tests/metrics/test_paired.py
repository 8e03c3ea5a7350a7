from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from hardy.errors import InputError
from hardy.metrics.statistics import mcnemar


@pytest.mark.parametrize(
    ("only_first", "only_second"), [(0, 0), (1, 0), (5, 5), (3, 14), (400, 470), (9000, 9700)]
)
def test_against_the_exact_binomial_test(only_first: int, only_second: int) -> None:
    """The images on which both are right or both are wrong do not matter."""
    first = np.repeat([True, False, True, False], [only_first, only_second, 7, 11])
    second = np.repeat([False, True, True, False], [only_first, only_second, 7, 11])
    found = mcnemar(first, second)
    assert found[:2] == (only_first, only_second)
    number = only_first + only_second
    expected = binomtest(only_first, number).pvalue if number else 1.0
    assert found.p_value == pytest.approx(expected, rel=1e-9)


def test_no_underflow() -> None:
    first = np.repeat([True, False], [20, 30_000])
    assert mcnemar(first, ~first).p_value == 0.0  # below the smallest float, and no warning


def test_refusal() -> None:
    with pytest.raises(InputError, match=r"same images of one cell, got shapes \(3,\) and \(4,\)"):
        mcnemar([True] * 3, [True] * 4)
