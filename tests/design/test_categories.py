"""The published grouping, on matrices whose groups are known."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import numpy as np
import pytest
from sklearn.cluster import KMeans

from hardy.design.categories import categorise, correlations, k_means, possible, within
from hardy.design.matrix import read_matrix
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
