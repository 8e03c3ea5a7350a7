"""What is computed from the counts of an experiment."""

from __future__ import annotations

import numpy as np

from hardy.design.accuracy import from_counts
from hardy.design.proxy import shared_errors
from hardy.design.results import MeasuredOverlap, analyse
from hardy.metrics import Resampling
from tests.design.test_proxy import by_hand


def measured() -> MeasuredOverlap:
    """Three corruptions, the second with two severities; 600 images; training helps."""
    severities = np.array([1, 1, 2, 1])
    chance = 0.5 + 0.1 * (np.arange(4) > 0)[:, None] + 0.3 * np.eye(4)
    draws = np.random.default_rng(0).random((600, 4, 4, 2))
    correct = (draws < chance[:, :, None]).sum(axis=3, dtype=np.uint8)
    correct = np.minimum(correct, severities.astype(np.uint8))
    features = by_hand()
    collected = from_counts(features.names, correct, severities, Resampling(seed=3))
    return MeasuredOverlap({"suite": "s", "recipe": {}}, collected, features)


def test_accuracies_are_means_over_severities() -> None:
    _, collected, _ = measured()
    assert collected.accuracy.values[0, 2] == collected.correct[:, 0, 2].mean() / 2
    assert collected.accuracy.values[3, 1] == collected.correct[:, 3, 1].mean()


def test_shared_errors_are_those_of_the_clean_model() -> None:
    given = measured()
    found = analyse(given)
    correct, severities = given.collected.correct, given.collected.severities
    assert list(found.similarities) == ["distance", "shift", "by_class", "by_image", "errors"]
    assert np.array_equal(found.similarities["errors"], shared_errors(correct[:, 0], severities))
    assert not np.array_equal(
        found.similarities["errors"], shared_errors(correct[:, 1], severities)
    )
    assert [row["errors"] for row in found.pairs()] == [
        found.similarities["errors"][row, column] for row, column in ((0, 1), (0, 2), (1, 2))
    ]


def test_intervals_are_drawn_as_the_record_says() -> None:
    given = measured()
    found = analyse(given)
    assert found.resampling == "1,000 bootstrap replicates over images, seed 3"
    assert found.images == 600
    other = given.collected._replace(how=Resampling(seed=4))
    again = analyse(given._replace(collected=other))
    one, two = found.overlaps[1], again.overlaps[1]
    assert np.array_equal(one.values, two.values, equal_nan=True)
    assert not np.array_equal(one.low, two.low, equal_nan=True)
