"""What is drawn from categories, and how a set covers them, by hand."""

from __future__ import annotations

from collections import Counter
from math import comb

import numpy as np
import pytest

from hardy.design.balanced_sets import draw_balanced, measure_balance
from hardy.design.categories import Categories
from hardy.errors import InputError

FOUR = Categories((("a", "b", "c"), ("d", "e"), ("f",), ("g", "h")), 0.6)


def test_coverage_and_balance_by_hand() -> None:
    found = measure_balance(FOUR, ["a", "b", "d", "g"])
    assert found.counts == (2, 1, 0, 1)
    assert found.coverage == 0.75
    assert found.balance == pytest.approx(np.sqrt(2) / 3)  # of 2, 1, 1
    assert measure_balance(FOUR, ["a", "d", "f", "g"])[1:] == (1.0, 0.0)
    assert str(found).startswith("coverage 0.75 (3 of 4 categories), balance 0.47")


def test_measuring_what_is_not_there() -> None:
    with pytest.raises(InputError, match='unknown corruption of the matrix "fog"'):
        measure_balance(FOUR, ["a", "fog"])
    with pytest.raises(InputError, match="expected a set of corruptions to measure"):
        measure_balance(FOUR, [])


def test_balanced_sets_are_different_and_balanced() -> None:
    sets = draw_balanced(FOUR, 2, 2, 5, seed=1)
    # Of categories with 2 or more: 3·1 + 3·1 + 1·1 sets.
    assert len({*map(frozenset, sets)}) == 5
    for one in sets:
        assert sorted(measure_balance(FOUR, one).counts)[-2:] == [2, 2]
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
