"""Flips, top-5 and Zipf distances: the fact sheet's examples and brute-force definitions."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata

from hardy.errors import InputError
from hardy.metrics.frame_distance import pairs, ranks, ranks_after, top5_distance, zipf_columns
from hardy.metrics.stability import flips, top5_distances, zipf_distances

CLASSES = 1000


def sigma(*start: int) -> np.ndarray:
    return np.array([*start, *range(len(start) + 1, CLASSES + 1)])


# σ, top-5 distance, Zipf distance: the table of the fact sheet.
EXAMPLES = [
    (sigma(1), 0, "0.000000"),
    (sigma(1, 2, 3, 4, 6, 5), 1, "0.012222"),
    (sigma(1, 2, 3, 4, 6, 7, 5), 1, "0.018798"),
    (sigma(2, 1), 2, "0.750000"),
    (sigma(3, 1, 2), 4, "0.972222"),
    (np.array([*range(2, CLASSES + 1), 1]), 5, "0.645933"),
    (sigma(1, 2, 3, 5, 6, 4), 2, "0.033056"),
    (sigma(5, 4, 3, 2, 1), 12, "1.147500"),
]


@pytest.mark.parametrize(("moved", "distance", "zipf"), EXAMPLES)
def test_worked_examples(moved: np.ndarray, distance: int, zipf: str) -> None:
    assert top5_distance(moved) == distance
    ranked = np.stack([np.arange(1, CLASSES + 1), moved])
    assert f"{zipf_columns(-ranked)[1, 0]:.6f}" == zipf


def double_sum(moved: np.ndarray) -> int:
    """The paper's definition."""
    total = 0
    for i in range(1, 6):
        low, high = sorted((i, int(moved[i - 1])))
        total += sum(1 <= j - 1 <= 5 for j in range(low + 1, high + 1))
    return total


def test_closed_form_is_the_double_sum() -> None:
    rng = np.random.default_rng(0)
    moved = rng.permuted(np.tile(np.arange(1, 11), (100_000, 1)), axis=1)
    cache = {key: double_sum(np.array(key)) for key in set(map(tuple, moved[:, :5].tolist()))}
    expected = [cache[tuple(row)] for row in moved[:, :5].tolist()]
    assert (top5_distance(moved) == expected).all()
    many = np.array([rng.permutation(CLASSES)[:5] + 1 for _ in range(1000)])
    assert top5_distance(many).tolist() == [double_sum(row) for row in many]


def test_properties_of_the_top5_distance() -> None:
    """At most 18, 0 only for equal lists, not symmetric."""
    every = np.array(list(itertools.permutations(range(1, 11), 5)))
    distances = top5_distance(every)
    assert distances.max() == 18
    assert (every[distances == 0] == [1, 2, 3, 4, 5]).all()
    assert top5_distance([6, 7, 8, 2, 1]) == 18
    shift = np.array([2, 3, 4, 5, 6, 7, 8, 9, 1])
    inverse = np.argsort(shift) + 1
    assert (top5_distance(shift), top5_distance(inverse)) == (5, 9)


def test_five_classes_are_enough_for_the_distance() -> None:
    """Full rankings and the stored lists of five give the same distance, in the same direction."""
    rng = np.random.default_rng(1)
    scores = rng.normal(size=(2, 400, 12))
    before, after = ranks(scores[0]), ranks(scores[1])
    order = np.argsort(-scores, axis=-1)
    full = np.take_along_axis(after, order[0], axis=-1)
    assert (np.take_along_axis(before, order[0], axis=-1) == np.arange(1, 13)).all()
    lists = ranks_after(order[0, :, :5], order[1, :, :5])
    assert (lists == np.minimum(full[:, :5], 6)).all()
    assert (top5_distance(lists) == top5_distance(full)).all()


def test_ranks_break_ties_by_class_index() -> None:
    scores = np.array([[0.5, 2, 2, -1, 0.5], [0, 0, 0, 0, 0]])
    assert ranks(scores).tolist() == [[3, 1, 2, 5, 4], [1, 2, 3, 4, 5]]
    rng = np.random.default_rng(5)
    many = rng.integers(0, 20, (3, CLASSES))
    assert (ranks(many) == rankdata(-many, method="ordinal", axis=-1)).all()
    mixed = rng.normal(size=(2, 3, CLASSES)).astype(np.float32)  # one row with ties among others
    mixed[1, 0] = np.round(mixed[1, 0], 1)
    assert (ranks(mixed) == rankdata(-mixed, method="ordinal", axis=-1)).all()


def test_pairs() -> None:
    def listed(frames: int, noise: bool, difficulty: int) -> list[tuple[int, int]]:
        earlier, later = pairs(frames, noise=noise, difficulty=difficulty)
        return list(zip(earlier.tolist(), later.tolist(), strict=True))

    assert listed(4, False, 1) == [(0, 1), (1, 2), (2, 3)]
    assert listed(5, False, 3) == [(0, 3), (1, 4)]
    for difficulty in (1, 2, 3):  # noise: other sequences, the same pairs
        assert listed(4, True, difficulty) == [(0, 1), (0, 2), (0, 3)]


@pytest.mark.parametrize("difficulty", [1, 2, 3])
def test_interleaved_subsequences_are_steps(difficulty: int) -> None:
    """The reference evaluator's way: D subsequences with offsets 0..D−1, pooled."""
    top1 = np.random.default_rng(2).integers(0, 3, 31)
    pooled = [
        a != b
        for offset in range(difficulty)
        for a, b in itertools.pairwise(top1[offset::difficulty].tolist())
    ]
    assert flips(top1, noise=False, difficulty=difficulty) == pytest.approx(np.mean(pooled))


def test_flips_of_a_known_sequence() -> None:
    top1 = np.array([[7, 7, 8, 8, 7], [1, 1, 1, 1, 1]])
    assert flips(top1, noise=False).tolist() == [0.5, 0]
    assert flips(top1, noise=True).tolist() == [0.5, 0]
    assert flips(top1, noise=False, difficulty=2).tolist() == [1, 0]
    assert flips(np.array([7, 8, 8, 8]), noise=True) == 1  # always against the first frame


@pytest.mark.parametrize("noise", [False, True])
@pytest.mark.parametrize("difficulty", [1, 2, 3])
def test_sequences_against_loops(noise: bool, difficulty: int) -> None:
    rng = np.random.default_rng(3)
    scores = np.cumsum(rng.normal(size=(6, 9, 20)), axis=1)
    order = np.argsort(-scores, axis=-1)
    kept = zipf_columns(scores)
    distances = top5_distances(order[..., :5], noise=noise, difficulty=difficulty)
    zipfs = zipf_distances(kept, noise=noise, difficulty=difficulty)
    for i in range(6):
        d, z = [], []
        for j in range(1 if noise else difficulty, 9):
            first = 0 if noise else j - difficulty
            before, after = order[i, first].tolist(), order[i, j].tolist()
            moved = [after.index(c) + 1 for c in before]
            d.append(double_sum(np.array(moved)))
            z.append(sum(abs(1 / r - 1 / s) / r for r, s in enumerate(moved, 1)))
        assert distances[i] == pytest.approx(np.mean(d))
        assert zipfs[i] == pytest.approx(np.mean(z))


def test_zipf_columns_have_no_number_where_there_is_no_frame() -> None:
    missing = np.isnan(zipf_columns(np.random.default_rng(4).normal(size=(5, 8))))
    assert missing.sum(axis=0).tolist() == [1, 1, 2, 3]
    assert missing[0].all()
    short = np.isnan(zipf_columns(np.zeros((2, 8))))
    assert short.sum(axis=0).tolist() == [1, 1, 2, 2]


def test_refusals() -> None:
    with pytest.raises(InputError, match="difficulty 1, 2 or 3, got 4"):
        pairs(31, noise=False, difficulty=4)
    with pytest.raises(InputError, match="more than 3 frames to compare, got 3"):
        pairs(3, noise=False, difficulty=3)
    with pytest.raises(InputError, match="at most 5 best classes"):
        ranks_after(np.zeros((2, 6)), np.zeros((2, 6)))
