"""The resampling engine: exact moments, pairing, strata, and refusals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from hardy.errors import InputError
from hardy.metrics import Resampling, percentile_interval, proportion_interval, resample_means
from hardy.metrics.bootstrap import _slots, resample_tables

RNG = np.random.default_rng(0)


def test_same_seed_same_replicates_another_seed_others() -> None:
    values = RNG.random((50, 3))
    first = resample_means(values)
    assert (first == resample_means(values)).all()
    assert (first != resample_means(values, Resampling(seed=1))).any()
    assert first.shape == (1000, 3)


def test_all_columns_draw_the_same_images() -> None:
    """That is the clustering: a column and its copy move together, so do two models' columns."""
    column = RNG.random((40, 1))
    replicates = resample_means(np.hstack([column, 1 - column]))
    assert replicates.sum(axis=1) == pytest.approx(np.ones(1000))
    assert resample_means(column)[:, 0] == pytest.approx(replicates[:, 0])


def test_chunks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    values = RNG.random((30, 2))
    whole = resample_means(values)
    for name, size in (("_CHUNK", 77), ("_KEPT", 1234), ("_BLOCK", 7)):
        monkeypatch.setattr(f"hardy.metrics.bootstrap.{name}", size)
        assert resample_means(values) == pytest.approx(whole, abs=1e-14), name


@pytest.mark.parametrize(
    "strata", [None, np.arange(600) % 40, np.arange(600) % 41], ids=["none", "even", "uneven"]
)
def test_whole_numbers_are_added_up_exactly(strata: np.ndarray | None) -> None:
    """Single precision gives the same as double precision, where it is exact."""
    how = Resampling(strata=strata, replicates=100)
    flags = RNG.random((600, 3)) < 0.3
    counts = RNG.integers(0, 6, (600, 2)).astype(np.uint8)
    found = resample_tables([flags, counts], how)
    expected = resample_tables([flags.astype(np.float64), counts.astype(np.float64)], how)
    for one, two in zip(found, expected, strict=True):
        assert one == pytest.approx(two, rel=1e-13)


def test_sums_too_large_for_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hardy.metrics.bootstrap._BLOCK", 10**6)
    full = np.full((70_000, 1), 255, np.uint8)
    assert resample_means(full, Resampling(replicates=2)) == pytest.approx(255, rel=1e-13)


def test_tables_share_the_draws() -> None:
    values = RNG.random((50, 3))
    first, second = resample_tables([values[:, :2], values[:, 1:] > 0.5])
    assert first == pytest.approx(resample_means(values[:, :2]), rel=1e-13)
    assert second == pytest.approx(resample_means(values[:, 1:] > 0.5), rel=1e-13)


def test_mean_and_variance_of_the_replicates() -> None:
    """E = the mean, Var = s²/n with the unbiased s²; both within five Monte Carlo errors."""
    values = RNG.exponential(size=(12, 1))
    replicates = resample_means(values, Resampling(replicates=200_000))[:, 0]
    variance = values.var(ddof=1) / 12
    assert abs(replicates.mean() - values.mean()) < 5 * np.sqrt(variance / 200_000)
    error = np.sqrt((np.mean((replicates - values.mean()) ** 4) - variance**2) / 200_000)
    assert abs(replicates.var() - variance) < 5 * error


def test_variance_within_strata() -> None:
    """Var = Σ_h (n_h/n)² s_h²/n_h: what differs between classes does not count."""
    strata = np.repeat([5, 1, 9], [2, 7, 4])
    values = RNG.normal(size=(13, 1)) + 10 * strata[:, None]
    how = Resampling(replicates=100_000, strata=strata)
    replicates = resample_means(values, how)[:, 0]
    expected = sum(
        values[strata == h].var(ddof=1) * (strata == h).sum() / 13**2 for h in np.unique(strata)
    )
    assert replicates.mean() == pytest.approx(values.mean(), rel=1e-3)
    assert replicates.var() == pytest.approx(expected, rel=0.03)


def test_strata_may_come_in_any_order() -> None:
    """Shuffled rows: the same law, here seen by strata of constant value, which have no spread."""
    strata = RNG.permutation(np.repeat(np.arange(5), 6))
    replicates = resample_means(strata[:, None] * 1.0, Resampling(strata=strata))
    assert replicates == pytest.approx(np.full((1000, 1), 2.0))


def test_an_image_alone_in_its_class_is_pooled() -> None:
    sizes = _slots(6, np.array([0, 0, 1, 2, 2, 2])).size  # class 1 joins class 0
    assert sorted(sizes.tolist()) == [3, 3, 3, 3]
    sizes = _slots(6, np.array([0, 0, 1, 2, 3, 3])).size  # classes 1 and 2 form one stratum
    assert sorted(sizes.tolist()) == [2, 2, 2]
    assert len(_slots(3, np.array([4, 5, 6])).first) == 2


def test_percentile_interval() -> None:
    replicates = np.arange(1.0, 1000.0)  # 999 values: the 25th and the 975th
    assert percentile_interval(replicates) == pytest.approx((25.0, 975.0))


@pytest.mark.parametrize(("hits", "number"), [(0, 20), (3, 20), (20, 20), (11_950, 50_000)])
def test_proportion_interval_beside_the_exact_one(hits: int, number: int) -> None:
    """It lies within Clopper and Pearson's, which hold too often, and is not much narrower."""
    low, high = proportion_interval(hits, number)
    exact = binomtest(hits, number).proportion_ci(0.95, method="exact")
    assert exact.low <= low < high <= exact.high
    assert (high - low) / (exact.high - exact.low) > 0.85


def test_refusals() -> None:
    with pytest.raises(InputError, match="at least 2 images for scores with intervals, got 1"):
        resample_means(np.zeros((1, 3)))
    with pytest.raises(InputError, match="one stratum per image, 4 in all"):
        resample_means(np.zeros((4, 1)), Resampling(strata=np.zeros(3, np.int64)))
    with pytest.raises(InputError, match="from 0 to 5 of at least one image, got 6"):
        proportion_interval(6, 5)
