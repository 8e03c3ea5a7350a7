"""Two models on the same images, cell by cell."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError


class McNemar(NamedTuple):
    only_first: int  # images that only the first model got wrong
    only_second: int
    p_value: float


def mcnemar(first_wrong: npt.ArrayLike, second_wrong: npt.ArrayLike) -> McNemar:
    """McNemar's exact test on one cell: of the images on which the models differ, is each as often
    right as the other? Two-sided binomial, 2 P(X ≤ min) with X ~ Bin(b + c, ½), at most 1.

    It concerns one cell alone; over cells the variants of an image are not independent, and
    `compare` is the test.
    """
    one, two = np.asarray(first_wrong, bool), np.asarray(second_wrong, bool)
    if one.shape != two.shape or one.ndim != 1:
        raise InputError(
            f"expected both models' errors on the same images of one cell, got shapes {one.shape} "
            f"and {two.shape}"
        )
    only_first = int((one & ~two).sum())
    only_second = int((two & ~one).sum())
    number, fewer = only_first + only_second, min(only_first, only_second)
    # log k! for k = 0..number; the terms are added on the log scale, where none underflows.
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, number + 1)))])
    k = np.arange(fewer + 1)
    log_terms = log_factorial[number] - log_factorial[k] - log_factorial[number - k]
    log_tail = np.logaddexp.reduce(log_terms) - number * np.log(2.0)
    return McNemar(only_first, only_second, float(min(1.0, 2 * np.exp(log_tail))))
