"""The published grouping, on matrices whose groups are known, and what is drawn from it."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import comb
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from hardy.design.categories import (
    Categories,
    categorise,
    correlations,
    draw_balanced,
    k_means,
    measure,
    possible,
    within,
)
from hardy.design.matrix import read_matrix
from hardy.errors import InputError
from tests.design.matrices import blocks, named, random_matrix

OVERLAPS = Path(__file__).parents[2] / "results/overlap/overlap_raw.csv"


def test_groups_that_are_there() -> None:
    found = categorise(blocks(3, 2, 4))
    assert found.groups == (("c00", "c01", "c02"), ("c03", "c04"), ("c05", "c06", "c07", "c08"))


def test_it_stops_at_the_first_number_of_groups_that_is_enough() -> None:
    """Two pairs and a pair between them. With K = 2 the best grouping joins the middle pair to one
    side; the mean correlation of its ordered pairs decides whether K = 3 is tried at all."""
    matrix = blocks(2, 2, 2, inside=0.9, outside=0.0)
    rows = matrix.values
    correlation = correlations(rows)
    near, far = correlation[0, 1], correlation[0, 2]
    # K = 2: a group of four (4 near and 8 far ordered pairs) and one of two (2 near).
    joined = (6 * near + 8 * far) / 14
    assert joined < 0.5 < near
    found = categorise(matrix)
    assert len(found.groups) == 3
    assert found.correlation == pytest.approx(near)
    # Where a common background makes all rows alike, two are enough.
    alike = named(
        np.array([[1, 0.9, 0.1, 0.1], [0.9, 1, 0.1, 0.1], [0.1, 0.1, 1, 0.9], [0.1, 0.1, 0.9, 1]])
    )
    assert len(categorise(alike).groups) == 2


def test_no_number_is_enough() -> None:
    found = categorise(named(np.eye(5)))
    assert found.groups == (("c00",), ("c01",), ("c02",), ("c03",), ("c04",))
    assert np.isnan(found.correlation)


@pytest.mark.parametrize("sizes", [(1, 1, 1), (2, 1, 1), (2, 2), (3, 1), (2, 2, 1), (3, 2)])
def test_no_number_that_may_do_is_left_out(sizes) -> None:
    """Against all ways to group; correlations are of blocks, and of nothing."""
    number = sum(sizes)
    drawn = random_matrix(number, seed=number).values
    for correlation in (blocks(*sizes, inside=0.7).values, 2 * drawn - 1, drawn):
        may = {
            len(set(labels))
            for labels in product(range(number), repeat=number)
            if within(correlation, np.array(labels)) > 0.5
        }
        assert may & set(range(2, number)) <= set(possible(correlation))


def test_what_cannot_do_is_not_tried() -> None:
    """n − K pairs within, and of those one has 1 and all others 0."""
    correlation = blocks(2, *[1] * 8, inside=1.0, outside=0.0).values
    assert possible(correlation) == [8, 9]
    assert possible(np.eye(400)) == []
    tried: list[int] = []
    found = categorise(
        named(np.eye(400)), track=lambda numbers, *_: tried.extend(numbers) or numbers
    )
    assert len(found.groups) == 400
    assert tried == []


def test_within_counts_ordered_pairs_of_different_members() -> None:
    correlation = np.array([[1, 0.5, 0.1], [0.5, 1, 0.2], [0.1, 0.2, 1]])
    assert within(correlation, np.array([0, 0, 1])) == 0.5
    assert within(correlation, np.array([0, 0, 0])) == pytest.approx(0.8 / 3)
    assert np.isnan(within(correlation, np.array([0, 1, 2])))


def test_correlations_are_numpys() -> None:
    rows = random_matrix(6).values
    assert correlations(rows) == pytest.approx(np.corrcoef(rows))


@pytest.mark.parametrize("k", [2, 4, 6])
def test_k_means_is_as_good_as_another(k) -> None:
    rows = blocks(4, 3, 5, 4, 4, 3).values + 0.3 * random_matrix(23, seed=5).values
    labels = k_means(rows, k, np.random.default_rng(0))
    cost = sum(
        ((rows[labels == one] - rows[labels == one].mean(axis=0)) ** 2).sum() for one in range(k)
    )
    other = KMeans(k, n_init=100, max_iter=1000, random_state=0).fit(rows).inertia_
    assert cost == pytest.approx(other)


@pytest.mark.parametrize("seed", range(8))
def test_other_seeds_find_the_same_categories(seed) -> None:
    matrix = read_matrix(OVERLAPS)
    assert categorise(matrix, seed) == categorise(matrix, 100)


def test_more_groups_than_different_rows() -> None:
    labels = k_means(np.zeros((4, 2)), 3, np.random.default_rng(0))
    assert len(set(labels.tolist())) == 1


def test_a_seed_decides() -> None:
    matrix = random_matrix(20, seed=2)
    assert categorise(matrix, 3) == categorise(matrix, 3)


FOUR = Categories((("a", "b", "c"), ("d", "e"), ("f",), ("g", "h")), 0.6)


def test_coverage_and_balance_by_hand() -> None:
    found = measure(FOUR, ["a", "b", "d", "g"])
    assert found.counts == (2, 1, 0, 1)
    assert found.coverage == 0.75
    assert found.balance == pytest.approx(np.sqrt(2) / 3)  # of 2, 1, 1
    assert measure(FOUR, ["a", "d", "f", "g"])[1:] == (1.0, 0.0)
    assert str(found).startswith("coverage 0.75 (3 of 4 categories), balance 0.47")


def test_measuring_what_is_not_there() -> None:
    with pytest.raises(InputError, match='unknown corruption of the matrix "fog"'):
        measure(FOUR, ["a", "fog"])
    with pytest.raises(InputError, match="expected a set of corruptions to measure"):
        measure(FOUR, [])


def test_balanced_sets_are_different_and_balanced() -> None:
    sets = draw_balanced(FOUR, 2, 2, 5, seed=1)
    # Of categories with 2 or more: 3·1 + 3·1 + 1·1 sets.
    assert len({*map(frozenset, sets)}) == 5
    for one in sets:
        assert sorted(measure(FOUR, one).counts)[-2:] == [2, 2]
        assert len(one) == 4
    assert sets == draw_balanced(FOUR, 2, 2, 5, seed=1)
    assert sets != draw_balanced(FOUR, 2, 2, 5, seed=2)


def test_all_sets_are_found_and_equally_likely() -> None:
    every = draw_balanced(FOUR, 2, 2, 7)
    assert len(every) == 7
    with pytest.raises(InputError, match="but there are 7: 3 of 4 categories have 2 or more"):
        draw_balanced(FOUR, 2, 2, 8)
    drawn = Counter(draw_balanced(FOUR, 2, 2, 1, seed)[0] for seed in range(1400))
    assert len(drawn) == 7
    assert min(drawn.values()) > 140  # of 200 expected; 140 is 4.6 standard deviations off


def test_more_than_there_is() -> None:
    with pytest.raises(InputError, match="but there are 0"):
        draw_balanced(FOUR, 5, 1)
    with pytest.raises(InputError, match="but there are 0: 0 of 4"):
        draw_balanced(FOUR, 1, 4)
    with pytest.raises(InputError, match="expected 1 or more"):
        draw_balanced(FOUR, 0, 1)


def test_many_categories() -> None:
    groups = tuple((f"{k}a", f"{k}b") for k in range(25))
    assert len(draw_balanced(Categories(groups, 1.0), 12, 1, 3)) == 3
    assert comb(25, 12) * 2**12 > 3
