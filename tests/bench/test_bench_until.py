"""What samples are drawn from in the bench of `--until`."""

from __future__ import annotations

import numpy as np
import pytest

from bench.until import replay
from bench.until_truths import Truth, pair_of, truth_of
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell

CELLS = (CLEAN, *(Cell(name, n) for name in load("cifar10_c").counted for n in range(1, 6)))


def errs(name: str, share: float, seed: int) -> Truth:
    """Errs on so many of 1,500 images, by chance, whatever the cell."""
    draws = np.random.default_rng(seed)
    missed = draws.random((1500, len(CELLS))) < share
    return truth_of(name, CELLS, missed, np.arange(1500) % 10)


def test_a_pair_is_by_how_much_the_second_errs_more() -> None:
    pair = pair_of(errs("good", 0.2, 0), errs("bad", 0.5, 1))
    assert pair.name == "bad − good"
    assert pair.value("mean error") == pytest.approx(30, abs=1)
    assert pair.value("clean error") == pytest.approx(30, abs=5)


def test_a_sample_of_a_pair_is_stopped_by_the_width_of_the_difference() -> None:
    pair = pair_of(errs("bad", 0.5, 1), errs("good", 0.2, 0))
    found = replay(pair, 2.0, None, seed=0)
    value, interval = found.estimates["mean error"]
    assert interval.high - interval.low <= 4
    assert interval.low < value < interval.high
    # An interval of shares would end at nothing; that of a difference goes on below it.
    assert value == pytest.approx(pair.value("mean error"), abs=4)
    assert found.cells < 0.1 * pair.wrong.size
