"""Intervals hold the truth with twenty images too; docs/metrics.md has the whole table."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom, binomtest

from bench.coverage import LEAST, simulate
from hardy.metrics import Interval, Resampling
from hardy.metrics.bootstrap import freedom
from hardy.metrics.intervals import difference_interval, mean_interval, proportion_interval
from hardy.metrics.laws import beta_quantile, student_quantile, student_tails
from hardy.scores import score_run
from hardy.scores.run_scores import Scores
from hardy.suites import SEVERITIES
from hardy.suites.cells import CLEAN, Cell
from tests.scores.helpers import FEW, errors, write_run

TIMES = 40
# The least of so many that is no surprise, for about thirty scores of 93 % each.
AT_LEAST = 31


def test_every_kind_of_score_holds_the_truth_with_twenty_images() -> None:
    held: dict[str, list[bool]] = {}
    for seed in range(TIMES):
        rng = np.random.default_rng([20, seed])
        for one in simulate(rng, 20, Resampling(replicates=200, seed=seed)):
            low, high = one.interval
            assert low < high, one.name
            held.setdefault(one.name, []).append(low <= one.truth <= high)
    missed = {name: len(some) - sum(some) for name, some in held.items()}
    assert max(missed.values()) <= TIMES - AT_LEAST, missed


@pytest.mark.parametrize("images", [20, 50])
def test_a_share_of_images_holds_the_truth_however_rare_errors_are(images: int) -> None:
    """Added up by the binomial law. Wilson's held rates of 0.18 / n in 84 of 100 cases."""
    hits = np.arange(images + 1)
    low, high = np.array([proportion_interval(int(hit), images) for hit in hits]).T
    for rate in np.concatenate([np.linspace(0.05, 3, 60) / images, np.linspace(0.02, 0.98, 97)]):
        assert binom.pmf(hits, images, rate)[(low <= rate) & (rate <= high)].sum() > LEAST, rate


@pytest.mark.parametrize("reference", [None, "theirs"])
def test_a_first_error_makes_no_interval_narrower(tmp_path: Path, reference: str | None) -> None:
    """One wrong image of 36, under the worst fog, brought 8.3 % down to 3.1 as the most."""
    cells = {CLEAN: np.zeros(36, bool)} | {Cell("fog", k): np.zeros(36, bool) for k in SEVERITIES}
    theirs = write_run(tmp_path, errors(images=36, names=["fog"], rate=0.8), model="theirs")
    divisor = theirs if reference else "suite"

    def scores(model: str, changed: dict[Cell, Any]) -> Scores:
        run = write_run(tmp_path, cells | changed, model=model)
        return score_run(run, reference=divisor, how=FEW)

    one, every = np.arange(36) == 3, np.ones(36, bool)
    none, first = scores("none", {}), scores("first", {Cell("fog", 5): one})
    names = ("mean error", "error fog", "mCE", "CE fog", "mAUDE")
    for name in names:
        assert none[name].interval.high == pytest.approx(first[name].interval.high), name
        assert 0 < first[name].value < first[name].interval.high, name
    assert first["error fog"].interval.high == pytest.approx(8.3, abs=0.05)
    wrong = dict.fromkeys(cells, every)
    all_wrong, last = scores("all", wrong), scores("last", wrong | {Cell("fog", 5): ~one})
    for name in names:
        assert all_wrong[name].interval.low == pytest.approx(last[name].interval.low), name


def test_many_images_have_the_interval_that_they_had() -> None:
    for hits in (500, 2500, 7000):
        wilson = binomtest(hits, 10_000).proportion_ci(0.95, method="wilson")
        low, high = proportion_interval(hits, 10_000)
        assert 1 <= (high - low) / (wilson.high - wilson.low) < 1.01
    error = 0.25 / 100  # an image's mean error varies by a quarter around 0.4
    low, high = mean_interval(0.4, error, Interval(0.0, 1.0), 10_000)
    assert 1 <= (high - low) / (2 * 1.96 * error) < 1.01
    (low, high), p_value = difference_interval(0.1, 0.1, 0.0, 9_999)
    assert high - low == pytest.approx(2 * 1.96 * 0.1, rel=1e-3)
    assert p_value == pytest.approx(0.3173, rel=1e-3)


def test_intervals_have_a_width_and_stay_within_reach() -> None:
    for images in (2, 5, 20, 1000):
        for hits in {0, 1, images // 2, images}:
            low, high = proportion_interval(hits, images)
            assert 0 <= low < high <= 1
            assert low <= hits / images <= high
    assert mean_interval(3.0, 0.5, Interval(-4.0, 4.0), 20).high < 4
    assert mean_interval(0.3, 0.2, Interval(0.0, math.inf), 20).low > 0
    low, high = mean_interval(0.3, 0.2, Interval(-math.inf, math.inf), 20)
    assert (low, high) == pytest.approx((0.3 - 2.093 * 0.2, 0.3 + 2.093 * 0.2), rel=1e-3)


def test_the_freedom_is_one_less_per_class() -> None:
    assert freedom(20) == 19
    assert freedom(20, np.arange(20) % 10) == 10
    assert freedom(20, np.arange(20)) == 19, "an image alone in its class joins the others"


def test_quantiles_of_the_tables() -> None:
    for degrees, t in ((1, 12.706), (4, 2.776), (19, 2.093), (10**6, 1.960)):
        assert student_quantile(0.95, degrees) == pytest.approx(t, rel=1e-3)
        assert student_tails(t, degrees) == pytest.approx(0.05, rel=2e-3)
    assert beta_quantile(0.975, 1, 20) == pytest.approx(1 - 0.025 ** (1 / 20), rel=1e-3)
    assert beta_quantile(0.025, 20, 1) == pytest.approx(0.025 ** (1 / 20), rel=1e-3)
    assert beta_quantile(0.5, 3e5, 3e5) == pytest.approx(0.5)
