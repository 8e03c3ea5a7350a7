"""The stand-in for overlap: similarities of features, and how well two matrices agree."""

from __future__ import annotations

import io
import re
import zipfile
from itertools import permutations

import numpy as np
import pytest

from hardy.design.proxy import (
    Features,
    agree,
    read_features,
    shared_errors,
    similarities,
    write_features,
)
from hardy.errors import InputError
from hardy.metrics.statistics import spearman
from tests.design.matrices import random_matrix


def by_hand() -> Features:
    """Two classes of 1 and 3 images, two features, three corruptions, each image as its class."""
    shifts = np.array([[[1.0, 0.0], [1.0, 0.0]], [[0.0, 4.0], [4.0, 0.0]], [[-2.0, 0.0]] * 2])
    sizes = np.array([1.0, 3.0])
    each = np.einsum("acf,bcf,c->ab", shifts, shifts, sizes)
    return Features(("a", "b", "c"), shifts, sizes, each)


def test_similarities_by_hand() -> None:
    found = similarities(by_hand())
    # Means over images: a (1, 0), b (3, 1), c (−2, 0).
    assert found["distance"][0, 1] == pytest.approx(-np.sqrt(5))
    assert found["shift"][0, 1] == pytest.approx(3 / np.sqrt(10))
    assert found["shift"][0, 2] == -1
    # By class, weighted by size: a·b = 3 · 4, ‖a‖² = 4, ‖b‖² = 64.
    assert found["by_class"][0, 1] == pytest.approx(12 / 16)
    assert found["by_image"][0, 1] == pytest.approx(12 / 16)
    for matrix in found.values():
        assert np.array_equal(matrix, matrix.T)


def test_what_moves_nothing_is_like_nothing() -> None:
    features = by_hand()
    features.shifts[1] = 0
    features.products[1] = features.products[:, 1] = 0
    found = similarities(features)
    for kind in ("shift", "by_class", "by_image"):
        assert np.isnan(found[kind][1]).all()
        assert np.isfinite(found[kind][0, 2])
    assert found["distance"][0, 1] == -1


# Right on clean images and under corruptions a, b, c and d: six images, the last wrong when clean.
RIGHT = np.array(
    [
        [1, 0, 0, 1, 1],
        [1, 0, 0, 1, 1],
        [1, 0, 1, 1, 1],
        [1, 1, 0, 0, 1],
        [1, 1, 0, 1, 1],
        [0, 0, 0, 0, 0],
    ],
    np.uint8,
)


def test_shared_errors_by_hand() -> None:
    found = shared_errors(RIGHT, np.ones(5))
    # a costs images 0, 1 and 2, b costs 0, 1, 3 and 4, c costs 3.
    assert found[0, 1] == pytest.approx(2 / 5)
    assert found[0, 2] == 0
    assert found[1, 2] == pytest.approx(1 / 4)
    assert np.array_equal(found, found.T, equal_nan=True)
    assert np.diagonal(found)[:3].tolist() == [1, 1, 1]
    assert np.isnan(found[3]).all()  # d costs nothing


def test_shared_errors_count_severities_as_parts() -> None:
    """Two severities of a, four of b: l is 1, ½ and 0 under a, ¾, ¾ and ¼ under b."""
    correct = np.array([[1, 0, 1], [1, 1, 1], [1, 2, 3], [0, 0, 0]], np.uint8)
    found = shared_errors(correct, np.array([1, 2, 4]))
    assert found[0, 1] == pytest.approx((0.75 + 0.5 + 0) / (1 + 0.75 + 0.25))
    assert found[1, 1] == 1


def test_features_are_kept(tmp_path) -> None:
    write_features(tmp_path / "f.npz", by_hand())
    found = read_features(tmp_path / "f.npz", ("a", "b", "c"))
    assert found.names == ("a", "b", "c")
    for one, two in zip(found[1:], by_hand()[1:], strict=True):
        assert np.array_equal(one, two)


def test_damaged_features(tmp_path) -> None:
    write_features(tmp_path / "f.npz", by_hand())
    whole = (tmp_path / "f.npz").read_bytes()
    array = io.BytesIO()
    np.save(array, np.zeros(3))
    small = io.BytesIO()
    np.savez_compressed(small, **by_hand()._asdict())
    packed = bytearray(small.getvalue())
    start = 30 + int.from_bytes(packed[26:28], "little") + int.from_bytes(packed[28:30], "little")
    packed[start : start + 4] = b"\xff" * 4  # no block of that type
    encrypted, strange = bytearray(whole), bytearray(whole)
    for place in found_all(whole, b"PK\x01\x02"):
        encrypted[place + 8] |= 1
        strange[place + 10] = 99
    no_array = io.BytesIO()
    np.savez(no_array, names=np.array(["a", "b", "c"]))
    with zipfile.ZipFile(no_array, "a") as archive:
        for name in ("shifts", "sizes", "products"):
            archive.writestr(name, b"text")
    for content in (
        b"nothing",
        b"",
        whole[:-30],
        whole[: len(whole) // 2],
        array.getvalue(),
        no_array.getvalue(),
        packed,
        encrypted,
        strange,
    ):
        (tmp_path / "f.npz").write_bytes(content)
        with pytest.raises(InputError, match=r"expected the features of an overlap.*delete it"):
            read_features(tmp_path / "f.npz", ("a", "b", "c"))


def found_all(content: bytes, mark: bytes) -> list[int]:
    return [found.start() for found in re.finditer(re.escape(mark), content)]


@pytest.mark.parametrize(
    ("part", "change"),
    [
        ("names", lambda names: np.array("abc")),
        ("names", lambda names: names[::-1]),
        ("names", lambda names: ("a", "b", "d")),
        ("names", lambda names: names[:2]),
        ("shifts", lambda shifts: shifts[:2]),
        ("shifts", lambda shifts: shifts[:, :1]),
        ("shifts", lambda shifts: shifts[..., 0]),
        ("shifts", lambda shifts: shifts * np.nan),
        ("shifts", lambda shifts: shifts.astype(complex)),
        ("shifts", lambda shifts: shifts.astype(str)),
        ("sizes", lambda sizes: sizes - 2),
        ("sizes", lambda sizes: sizes * 0),
        ("sizes", lambda sizes: sizes[0]),
        ("sizes", lambda sizes: np.array([1, np.inf])),
        ("products", lambda products: products[:2]),
        ("products", lambda products: -products),
    ],
)
def test_features_that_do_not_fit(tmp_path, part, change) -> None:
    """Some would be computed with, under other corruptions' names."""
    given = by_hand()
    write_features(tmp_path / "f.npz", given._replace(**{part: change(getattr(given, part))}))
    with pytest.raises(InputError, match=r"expected the features of an overlap.*delete it"):
        read_features(tmp_path / "f.npz", given.names)


def test_agreement_is_over_pairs_and_not_the_diagonal() -> None:
    one, two = random_matrix(8, 1).values, random_matrix(8, 2).values
    found = agree(one, two)
    upper = np.triu_indices(8, 1)
    assert found is not None
    assert found.rho == pytest.approx(spearman(one[upper], two[upper]))
    assert found.pairs == 28
    assert found.interval.low < found.rho < found.interval.high


def test_chance_is_told_from_agreement() -> None:
    one = random_matrix(12, 1).values
    noisy = one + 0.3 * random_matrix(12, 7).values
    same = agree(one, noisy)
    assert same is not None
    assert same.rho > 0.8
    assert same.p_value < 0.01
    assert same.interval.low > 0.6
    others = [agree(one, random_matrix(12, seed).values) for seed in range(20, 30)]
    values = [other.p_value for other in others if other is not None]
    assert 0.2 < np.mean(values) < 0.8
    covered = [other.interval.low < 0 < other.interval.high for other in others if other]
    assert sum(covered) >= 8


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_the_p_value_is_the_share_of_orders_that_agree_as_well(seed) -> None:
    one, two = random_matrix(5, 1).values, random_matrix(5, seed).values
    upper = np.triu_indices(5, 1)
    rho = [
        spearman(one[upper], two[np.ix_(order, order)][upper]) for order in permutations(range(5))
    ]
    share = np.mean(np.array(rho) >= rho[0] - 1e-12)
    found = agree(one, two)
    assert found is not None
    assert found.p_value == pytest.approx(share, abs=3 * np.sqrt(share * (1 - share) / 1000))


def test_undefined_corruptions_are_left_out() -> None:
    one, two = random_matrix(8, 1).values, random_matrix(8, 2).values
    spoiled = two.copy()
    spoiled[3, :] = spoiled[:, 3] = np.nan
    spoiled[3, 3] = 1
    kept = [0, 1, 2, 4, 5, 6, 7]
    assert agree(one, spoiled) == agree(one[np.ix_(kept, kept)], two[np.ix_(kept, kept)])
    assert agree(one[:3, :3], two[:3, :3]) is None
    assert agree(one, np.eye(8)) is None


def test_in_words() -> None:
    one = random_matrix(10, 1).values
    assert str(agree(one, one)) == ("Spearman's ρ 1.00 [1.00 to 1.00] over 45 pairs, p ≤ 0.001")
