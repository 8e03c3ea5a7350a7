"""The largest set, against trying all sets."""

from __future__ import annotations

from itertools import combinations
from math import fsum

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardy.design.independent_sets import Search, select_independent
from hardy.design.matrix import MOST, Matrix
from hardy.errors import InputError
from tests.design.matrices import blocks, named, random_matrix


def brute_force(matrix: Matrix, threshold: float) -> tuple[str, ...] | None:
    """The documented choice, by trying all: size, then the order of the sums of overlaps."""
    order = sorted(range(len(matrix.names)), key=lambda node: fsum(matrix.values[node]))
    for size in range(len(order), 1, -1):
        for some in combinations(order, size):  # in lexicographic order of `order`
            if all(matrix.values[a, b] < threshold for a, b in combinations(some, 2)):
                return tuple(matrix.names[node] for node in sorted(some))
    return None


@settings(deadline=None, max_examples=150)
@given(st.integers(2, 12), st.integers(0, 10_000), st.sampled_from([0.1, 0.3, 0.5, 0.7, 0.9, 1.0]))
def test_as_large_as_any(number, seed, threshold) -> None:
    matrix = random_matrix(number, seed)
    expected = brute_force(matrix, threshold)
    if expected is None:
        with pytest.raises(InputError, match="leaves two corruptions or more"):
            select_independent(matrix, threshold)
    else:
        assert select_independent(matrix, threshold).names == expected


@settings(deadline=None, max_examples=100)
@given(st.integers(2, 9), st.integers(0, 10_000))
def test_ties_go_to_the_least_overlapping_and_then_the_first(number, seed) -> None:
    draws = np.random.default_rng(seed).choice([0.0, 0.5], (number, number))
    values = np.triu(draws, 1)
    matrix = named(values + values.T + np.eye(number))
    expected = brute_force(matrix, 0.5)
    if expected is not None:
        assert select_independent(matrix, 0.5).names == expected


def test_one_of_each_group() -> None:
    assert select_independent(blocks(3, 2, 4), 0.5).names == ("c00", "c03", "c05")


def test_the_threshold_itself_is_too_much() -> None:
    values = np.array([[1, 0.5, 0.2], [0.5, 1, 0.3], [0.2, 0.3, 1]])
    assert select_independent(named(values), 0.5).names == ("c00", "c02")
    assert select_independent(named(values), 0.51).names == ("c00", "c01", "c02")


@pytest.mark.parametrize("threshold", [0.03, 0.1, 0.2, 0.5, 0.9])
def test_fifty_corruptions_take_few_tries(threshold) -> None:
    chosen = select_independent(random_matrix(50, 3), 1 - threshold)
    assert len(chosen.names) <= chosen.tried < 10_000  # of 2 ** 50 sets


def petersen(copies: int) -> list[int]:
    """Petersen's graph again and again: the largest set of one is 4, a cover by cliques has 5."""
    neighbours = []
    for first in range(0, 10 * copies, 10):
        for inner, step in ((0, 1), (5, 2)):
            for k in range(5):
                near = [inner + (k + step) % 5, inner + (k - step) % 5, 5 - inner + k]
                neighbours.append(sum(1 << first + other for other in near))
    return neighbours


def test_parts_are_searched_one_by_one() -> None:
    search = Search(petersen(5))
    assert search.largest((1 << 50) - 1) == 20
    assert len(search.known) < 100  # together they take 1,872


def test_nothing_is_left() -> None:
    with pytest.raises(InputError, match=r"got 0.05; the least overlap of all is 0.1, of c00 and"):
        select_independent(blocks(2, 2), 0.05)


@pytest.mark.parametrize("threshold", [0.0, -1.0, float("nan")])
def test_thresholds_below_which_nothing_is(threshold) -> None:
    with pytest.raises(InputError, match="expected a threshold above 0"):
        select_independent(blocks(2, 2), threshold)


def test_as_many_as_a_matrix_may_have() -> None:
    """A search that takes one after the other goes as deep as there are corruptions."""
    assert len(select_independent(named(np.eye(MOST)), 0.5).names) == MOST
