"""Both published scores against numbers worked out by hand, and their intervals."""

from __future__ import annotations

import numpy as np
import pytest

from hardy.design.accuracy import Accuracy
from hardy.design.overlap_score import (
    FORMS,
    Overlap,
    resample_accuracy,
    resampled_overlap,
    score_overlap,
    scores,
)
from hardy.errors import InputError
from hardy.metrics import Resampling

# Rows: trained with none, a, b; columns: tested on none, a, b.
TWO = Accuracy(
    ("a", "b"),
    np.array(
        [
            [0.80, 0.40, 0.50],
            [0.75, 0.60, 0.55],
            [0.50, 0.35, 0.45],
        ]
    ),
)


def test_ratio_by_hand() -> None:
    # R_0 = (1/2, 5/8), R_a = (4/5, 11/15), R_b = (7/10, 9/10).
    # a on b: (11/15 − 5/8) / (9/10 − 5/8) = 13/33; b on a: (7/10 − 1/2) / (4/5 − 1/2) = 2/3.
    found = score_overlap(TWO, "ratio")
    assert found.values == pytest.approx(np.array([[1, 35 / 66], [35 / 66, 1]]))
    assert found.undefined == ()


def test_raw_is_undefined_where_training_does_not_help() -> None:
    # On b itself the model of b is worse than the clean one: 0.45 < 0.50.
    found = score_overlap(TWO, "raw")
    assert np.isnan(found.values[0, 1])
    assert np.isnan(found.values[1, 0])
    assert np.diagonal(found.values).tolist() == [1, 1]
    (reason,) = found.undefined
    assert reason.startswith("b: training with it does not help against it, accuracy 45.00 %")


def three() -> Accuracy:
    values = np.array(
        [
            [0.9, 0.2, 0.4, 0.6],
            [0.9, 0.6, 0.5, 0.5],
            [0.9, 0.4, 0.8, 0.5],
            [0.9, 0.1, 0.4, 0.8],
        ]
    )
    return Accuracy(("a", "b", "c"), values)


def test_raw_by_hand_and_the_floor_is_under_the_average() -> None:
    # a, b: (0.1/0.4 + 0.2/0.4)/2 = 3/8; a, c: (−0.1/0.2 − 0.1/0.4)/2 < 0; b, c: (−1/2 + 0)/2 < 0.
    expected = [[1, 3 / 8, 0], [3 / 8, 1, 0], [0, 0, 1]]
    assert score_overlap(three(), "raw").values == pytest.approx(np.array(expected))
    # One fraction of −1/2 takes away from the other, 3/4, instead of counting as 0.
    values = three().values.copy()
    values[3, 1] = 0.5
    assert score_overlap(Accuracy(("a", "b", "c"), values), "raw").values[0, 2] == pytest.approx(
        1 / 8
    )


def test_clean_accuracy_cancels_only_from_the_ratio() -> None:
    values = three().values.copy()
    values[1] *= 0.25
    other = Accuracy(("a", "b", "c"), values)
    assert score_overlap(other, "ratio").values == pytest.approx(
        score_overlap(three(), "ratio").values
    )
    assert np.isnan(score_overlap(other, "raw").values[0, 1])


@pytest.mark.parametrize("form", FORMS)
def test_symmetric_with_ones_and_never_negative(form) -> None:
    values = np.random.default_rng(1).random((50, 6, 6))
    found = scores(values, form)
    assert np.array_equal(found, np.swapaxes(found, 1, 2), equal_nan=True)
    assert (np.diagonal(found, axis1=1, axis2=2) == 1).all()
    assert np.nanmin(found) == 0
    helped = values / values[:, :, :1] if form == "ratio" else values
    own = np.diagonal(helped, axis1=1, axis2=2)[:, 1:] - helped[:, 0, 1:]
    lost = (own[:, :, None] <= 0) | (own[:, None, :] <= 0)
    lost &= ~np.eye(5, dtype=bool)
    assert np.array_equal(np.isnan(found), lost)


def test_no_gain_at_all_is_undefined_too() -> None:
    values = three().values.copy()
    values[1, 1] = values[0, 1]
    found = score_overlap(Accuracy(("a", "b", "c"), values), "raw")
    assert np.isnan(found.values).sum() == 4
    assert [reason[0] for reason in found.undefined] == ["a"]


def test_equal_ratios_are_no_gain_however_they_are_rounded() -> None:
    # 9 of 27 right, and 3 of 9: as floats the second third is larger, by one in the last place.
    counts = np.array([[27, 9, 9], [9, 3, 9], [27, 12, 20]])
    found = score_overlap(Accuracy(("a", "b"), counts / 30), "ratio")
    assert np.isnan(found.values[0, 1])
    assert [reason[0] for reason in found.undefined] == ["a"]


def test_one_image_of_many_is_a_gain() -> None:
    counts = np.array([[40_000, 20_000, 1], [40_000, 20_000.2, 1], [40_000, 1, 2]])  # of 50,000
    accuracy = Accuracy(("a", "b"), counts / 50_000)
    assert not score_overlap(accuracy, "ratio").undefined
    assert not score_overlap(accuracy, "raw").undefined


def test_a_model_that_is_never_right_has_no_ratio() -> None:
    values = three().values.copy()
    values[2] = 0
    found = score_overlap(Accuracy(("a", "b", "c"), values), "ratio")
    assert np.isnan(found.values[1, [0, 2]]).all()
    assert found.values[0, 2] == 0
    assert found.undefined == ("b: its model is never right on clean images",)


def correct_images(number: int) -> np.ndarray:
    """Images whose shares of right answers are those of `three`, the rest by chance."""
    draws = np.random.default_rng(0).random((number, 4, 4))
    return (draws < three().values).astype(np.uint8)


def test_intervals_follow_the_closed_form() -> None:
    """The delta method: with all else fixed, the variance of a quotient of means."""
    number = 20_000
    correct = correct_images(number)
    accuracy = Accuracy(("a", "b", "c"), correct.mean(axis=0))
    replicates = resample_accuracy(correct, np.ones(4), Resampling(2000))
    found = resampled_overlap(accuracy, replicates, "raw")
    a = accuracy.values
    # O(a, b) = ½ (u/v + s/t) with u = A[a,b] − A[0,b], v = A[b,b] − A[0,b], and so on.
    u, v = a[1, 2] - a[0, 2], a[2, 2] - a[0, 2]
    s, t = a[2, 1] - a[0, 1], a[1, 1] - a[0, 1]
    slopes = np.zeros((4, 4))
    slopes[1, 2] += 1 / v
    slopes[0, 2] += -1 / v + u / v**2
    slopes[2, 2] += -u / v**2
    slopes[2, 1] += 1 / t
    slopes[0, 1] += -1 / t + s / t**2
    slopes[1, 1] += -s / t**2
    variance = ((slopes / 2) ** 2 * a * (1 - a)).sum() / number
    assert found.low is not None
    assert found.high is not None
    half = (found.high[0, 1] - found.low[0, 1]) / 2
    assert half == pytest.approx(1.96 * np.sqrt(variance), rel=0.08)
    assert found.low[0, 1] < found.values[0, 1] < found.high[0, 1]
    assert (np.diagonal(found.low) == 1).all()


def test_an_upper_end_is_infinite_where_the_gain_may_be_chance() -> None:
    correct = correct_images(300)
    correct[:, 1, 1] = correct[:, 0, 1]  # the model of a gains two images of 300
    correct[np.flatnonzero(correct[:, 0, 1] == 0)[:2], 1, 1] = 1
    accuracy = Accuracy(("a", "b", "c"), correct.mean(axis=0))
    replicates = resample_accuracy(correct, np.ones(4))
    found = resampled_overlap(accuracy, replicates, "raw")
    assert np.isfinite(found.values).all()
    assert found.high is not None
    assert np.isinf(found.high[0, 1:]).all()
    assert np.isfinite(found.high[1, 2])
    assert np.array_equal(found.doubtful, [[0, 1, 1], [1, 0, 0], [1, 0, 0]])
    assert found.doubts() == (
        "2 overlaps (raw) cannot be told from chance, since training helps too little: a with all "
        "others"
    )


def doubted(number: int, *pairs: tuple[int, int], gone: int | None = None) -> str | None:
    """What is said where these pairs have no upper end, and one corruption no overlap at all."""
    values, high = np.ones((2, number, number))
    for one, two in pairs:
        high[one, two] = high[two, one] = np.inf
    if gone is not None:
        for matrix in (values, high):
            matrix[gone] = matrix[:, gone] = np.nan
            matrix[gone, gone] = 1
    return Overlap("raw", tuple("abcdefg"[:number]), values, (), np.zeros_like(high), high).doubts()


def test_doubts_in_words() -> None:
    said = "(raw) cannot be told from chance, since training helps too little:"
    assert doubted(3) is None
    assert score_overlap(three(), "raw").doubts() is None
    assert doubted(2, (0, 1)) == f"1 overlap {said} a and b"
    assert doubted(4, (0, 1), (0, 2), (1, 3)) == f"3 overlaps {said} a and b, a and c, b and d"
    assert doubted(4, (0, 1), (1, 2), gone=3) == f"2 overlaps {said} b with all others"
    many = [(one, two) for one in range(3) for two in range(3, 7)]
    listed = "a and d, a and e, a and f, a and g, b and d, 7 more"
    assert doubted(7, *many) == f"12 overlaps {said} {listed}"


def test_an_interval_of_nothing_is_nothing() -> None:
    replicates = np.broadcast_to(TWO.values, (10, 3, 3))
    found = resampled_overlap(TWO, replicates, "raw")
    assert found.low is not None
    assert np.isnan(found.low[0, 1])
    assert found.high is not None
    assert np.isnan(found.high[0, 1])


def test_severities_are_averaged() -> None:
    correct = np.array([[[1, 5, 2], [1, 0, 5], [0, 5, 5]], [[0, 0, 3], [1, 5, 0], [1, 1, 0]]])
    replicates = resample_accuracy(correct.astype(np.uint8), np.array([1.0, 5.0, 5.0]))
    assert replicates.mean(axis=0) == pytest.approx(correct.mean(axis=0) / [1, 5, 5], abs=0.05)


def test_a_thousand_replicates_of_a_full_experiment() -> None:
    correct = np.random.default_rng(0).integers(0, 2, (10_000, 24, 24)).astype(np.uint8)
    names = tuple(f"c{k}" for k in range(23))
    replicates = resample_accuracy(correct, np.ones(24))
    for form in FORMS:
        found = resampled_overlap(Accuracy(names, correct.mean(axis=0)), replicates, form)
        assert found.low is not None
        assert found.low.shape == (23, 23)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda a: a[:3], r"accuracy matrix of 4 x 4.*got \(3, 4\)"),
        (lambda a: np.where(a == 0.1, np.nan, a), "trained with c on a, got none"),
        (lambda a: 100 * a, "shares from 0 to 1, got 90.0 for none on none; divide"),
        (lambda a: a - 0.3, "shares from 0 to 1"),
    ],
)
def test_bad_accuracies(spoil, message) -> None:
    with pytest.raises(InputError, match=message):
        Accuracy(("a", "b", "c"), spoil(three().values))


@pytest.mark.parametrize("names", [("a", "b", "a"), ("a", "none", "b"), ("a",)])
def test_bad_names(names) -> None:
    with pytest.raises(InputError, match="expected two or more corruptions, each once"):
        Accuracy(names, np.full((len(names) + 1,) * 2, 0.5))
