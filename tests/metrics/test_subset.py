from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardy.errors import InputError
from hardy.metrics import stratified_subset

LABELS = np.repeat(np.arange(10), 20)
IDS = [f"image_{i:03d}" for i in range(200)]


@given(st.lists(st.integers(0, 4), min_size=1, max_size=60), st.data())
def test_classes_keep_their_proportion(labels: list[int], data: st.DataObject) -> None:
    """Each class gets its share: at any cut of the line it is half an image off at most, and so is
    every other class, of which it has its part of what all are off together."""
    size = data.draw(st.integers(1, len(labels)))
    chosen = stratified_subset(labels, range(len(labels)), size=size)
    assert len(set(chosen.tolist())) == size
    for label in set(labels):
        part = labels.count(label) / len(labels)
        off = abs((np.array(labels)[chosen] == label).sum() - size * part)
        assert off <= 0.5 + 0.5 * len(set(labels)) * part + 1e-9


def test_a_smaller_subset_is_part_of_a_larger_one() -> None:
    nested = [set(stratified_subset(LABELS, IDS, size=n).tolist()) for n in (7, 30, 31, 150, 200)]
    assert all(a < b for a, b in pairwise(nested))
    some = stratified_subset(LABELS, IDS, size=30)
    assert (some == stratified_subset(LABELS, IDS, per_class=3)).all()


def test_the_choice_depends_on_ids_not_on_their_order() -> None:
    order = np.random.default_rng(0).permutation(200)
    ids = [IDS[i] for i in order]
    chosen = stratified_subset(LABELS[order], ids, size=33)
    assert {ids[i] for i in chosen} == {IDS[i] for i in stratified_subset(LABELS, IDS, size=33)}
    other = stratified_subset(LABELS, [f"photo_{i}" for i in range(200)], size=33)
    assert set(other.tolist()) != set(stratified_subset(LABELS, IDS, size=33).tolist())


def test_it_stays_what_it_was() -> None:
    """Stored runs on a subset would no longer match if this changed."""
    assert stratified_subset(LABELS, IDS, per_class=1).tolist() == [
        3,
        36,
        42,
        74,
        97,
        116,
        131,
        144,
        168,
        194,
    ]


def test_refusals() -> None:
    with pytest.raises(InputError, match=r"`images_per_class` from 1 to 20.*got 21"):
        stratified_subset(LABELS, IDS, per_class=21)
    with pytest.raises(InputError, match=r"`subset` from 1 to 200, the number of images, got 0"):
        stratified_subset(LABELS, IDS, size=0)
    expected = "either `subset`, a number of images, or `images_per_class`, how many of each class"
    with pytest.raises(InputError, match=f"{expected}, got neither"):
        stratified_subset(LABELS, IDS)
    with pytest.raises(InputError, match=f"{expected}, got both"):
        stratified_subset(LABELS, IDS, size=4, per_class=2)
    with pytest.raises(InputError, match=r"a label per image, 200, got shape \(3,\)"):
        stratified_subset([1, 2, 3], IDS, size=1)
