"""The scores of natural shifts beside plain implementations of what the authors' scripts do."""

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, roc_auc_score

from hardy.metrics.natural_shifts import (
    accuracy,
    aupr,
    auroc,
    full_rms_calibration,
    rms_calibration,
    top5_accuracy,
)


def test_accuracy_and_top_5_accuracy_by_hand():
    rank = np.array([[0], [1], [4], [5]])
    assert accuracy(rank).tolist() == [[True], [False], [False], [False]]
    assert top5_accuracy(rank).tolist() == [[True], [True], [True], [False]]


def plain_rms(confidence, right, *, whole, size=100):
    order = np.argsort(confidence, kind="stable")
    edges = [size * number for number in range(max(1, len(order) // size))]
    total = 0.0
    for number, start in enumerate(edges):
        last = number == len(edges) - 1
        if last and number and not whole:
            continue
        some = order[start:] if last else order[start : start + size]
        gap = abs(confidence[some].mean() - right[some].mean())
        total += len(some) / len(order) * gap**2
    return np.sqrt(total)


@pytest.mark.parametrize("number", [60, 150, 200, 1049])
@pytest.mark.parametrize(
    ("made", "whole"), [(rms_calibration, False), (full_rms_calibration, True)]
)
def test_rms_calibration_error_leaves_the_last_bin_out_as_the_authors_do(number, made, whole):
    random = np.random.default_rng(number)
    confidence = random.beta(4, 2, number).astype(np.float32)
    right = random.random(number) < 0.7 * confidence
    terms = made.base(confidence[:, None], np.where(right, 0, 3)[:, None])
    assert terms.shape == (number, 1)
    got = made(terms.mean(axis=0))
    assert got == pytest.approx(plain_rms(confidence.astype(float), right, whole=whole))


def test_rms_calibration_error_by_hand():
    """Two bins of 300 images count: sure of 0.5 and half right, and sure of 0.6 and all wrong."""
    confidence = np.repeat([0.5, 0.6, 0.9], 100)
    rank = np.concatenate([np.tile([0, 1], 50), np.ones(200, int)])
    assert rms_calibration(rms_calibration.base(confidence, rank).mean()) == pytest.approx(
        np.sqrt(0.6**2 / 3)
    )
    assert full_rms_calibration(full_rms_calibration.base(confidence, rank).mean()) == (
        pytest.approx(np.sqrt((0.6**2 + 0.9**2) / 3))
    )


def outliers(number=800, seed=0):
    random = np.random.default_rng(seed)
    rank = np.where(random.random(number) < 0.2, -1, 0)
    # Rounded, so that many are equal.
    confidence = np.round(random.beta(3, 2, number) - 0.1 * (rank < 0), 2)
    return confidence, rank


@pytest.mark.parametrize(
    ("made", "plain"), [(aupr, average_precision_score), (auroc, roc_auc_score)]
)
def test_outliers_are_told_by_low_confidence(made, plain):
    confidence, rank = outliers()
    terms = made(confidence[:, None], rank[:, None])
    assert terms.mean() == pytest.approx(plain(rank < 0, -confidence))


def test_aupr_by_hand():
    """The outliers are first and third: precision 1, then 2/3."""
    confidence, rank = np.array([0.1, 0.2, 0.3, 0.4]), np.array([-1, 0, -1, 0])
    assert aupr(confidence, rank).mean() == pytest.approx((1 + 2 / 3) / 2)
    assert auroc(confidence, rank).mean() == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    ("made", "plain"), [(aupr, average_precision_score), (auroc, roc_auc_score)]
)
def test_terms_vary_as_the_score_of_resampled_images_does(made, plain):
    confidence, rank = outliers()
    terms, random = made(confidence, rank), np.random.default_rng(1)
    draws = random.integers(0, len(rank), (300, len(rank)))
    whole = np.std([plain(rank[some] < 0, -confidence[some]) for some in draws])
    assert np.std(terms[draws].mean(axis=1)) == pytest.approx(whole, rel=0.1)


@pytest.mark.parametrize("rank", [-1, 0])
@pytest.mark.parametrize("made", [aupr, auroc])
def test_images_of_one_kind_have_a_number_all_the_same(made, rank):
    assert np.isfinite(made(np.array([0.5, 0.7]), np.array([rank, rank]))).all()
