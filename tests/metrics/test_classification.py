"""Errors and calibration against direct computation from full probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss, log_loss, top_k_accuracy_score

from hardy.errors import InputError
from hardy.metrics import Metric, error, wrong
from hardy.metrics.calibration import brier, calibration_gap, ece, nll
from hardy.metrics.classification import top5_error


def simulate(n: int = 500, classes: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, classes, n)
    logits = rng.normal(size=(n, classes)) + 1.5 * np.eye(classes)[labels]
    p = np.exp(logits)
    return labels, p / p.sum(axis=1, keepdims=True)


def stored(labels: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, ...]:
    label = p[np.arange(len(p)), labels]
    rank = (p > label[:, None]).sum(axis=1)
    return rank, np.log(label), (p**2).sum(axis=1), p.max(axis=1)


@pytest.mark.parametrize(("metric", "k"), [(error, 1), (top5_error, 5)])
def test_errors_against_scikit_learn(metric: Metric[[np.ndarray]], k: int) -> None:
    labels, p = simulate()
    rank = stored(labels, p)[0]
    assert metric(rank).mean() == pytest.approx(1 - top_k_accuracy_score(labels, p, k=k))


def test_nll_and_brier_against_scikit_learn() -> None:
    labels, p = simulate()
    _, log_prob, square_sum, _ = stored(labels, p)
    assert nll(log_prob).mean() == pytest.approx(log_loss(labels, p))
    ours = brier(log_prob, square_sum).mean()
    assert ours == pytest.approx(brier_score_loss(labels, p, scale_by_half=False))


def test_ece_against_its_definition() -> None:
    labels, p = simulate()
    rank, _, _, confidence = stored(labels, p)
    correct = rank == 0
    expected = 0.0
    for b in range(15):
        inside = (confidence > b / 15) & (confidence <= (b + 1) / 15)
        if inside.any():
            gap = abs(correct[inside].mean() - confidence[inside].mean())
            expected += inside.mean() * gap
    assert ece(confidence, rank).mean() == pytest.approx(expected, abs=1e-12)


def test_ece_of_known_cases() -> None:
    sure = np.full(10, 1.0)
    assert calibration_gap(sure, np.ones(10)).mean() == 0
    assert calibration_gap(sure, np.zeros(10)).mean() == 1
    assert calibration_gap(np.full(10, 0.7), np.arange(10) < 7).mean() == pytest.approx(0)
    # one bin too sure by .2, one too unsure by .2: they must not cancel
    confidence = np.repeat([0.7, 0.3], 10)
    correct = np.concatenate([np.arange(10) < 5, np.arange(10) < 5])
    assert calibration_gap(confidence, correct).mean() == pytest.approx(0.2)


def test_ece_is_taken_per_cell() -> None:
    rng = np.random.default_rng(1)
    confidence, correct = rng.uniform(0.1, 1, (200, 3, 2)), rng.random((200, 3, 2)) < 0.5
    cells = calibration_gap(confidence, correct).mean(axis=0)
    assert cells.shape == (3, 2)
    for i in range(3):
        for j in range(2):
            one = calibration_gap(confidence[:, i, j], correct[:, i, j]).mean()
            assert cells[i, j] == pytest.approx(one, abs=1e-12)


def test_bins_are_closed_on_the_right_also_for_float32() -> None:
    """3/15 and just above it are in different bins, so their opposite gaps do not cancel."""
    on_edge = np.array([3 / 15], np.float32)
    above = np.array([3 / 15 + 1e-4], np.float32)
    gaps = calibration_gap(np.concatenate([on_edge, above]), np.array([1, 0]))
    assert gaps == pytest.approx([0.8, 0.2001], abs=1e-6)


def test_wrong_counts_ranks_from_0() -> None:
    assert wrong([0, 1, 4, 5]).tolist() == [False, True, True, True]
    assert wrong([0, 1, 4, 5], 5).tolist() == [False, False, False, True]


def test_refusals() -> None:
    with pytest.raises(InputError, match="ranks of the label as whole numbers from 0"):
        wrong([0.5])
    with pytest.raises(InputError, match="minimum -1"):
        wrong([-1])
    with pytest.raises(InputError, match=r"finite log-probabilities.*log-softmax"):
        nll([-np.inf])
    with pytest.raises(InputError, match="top probability, above 0 and up to 1"):
        calibration_gap([3.2], [1])
