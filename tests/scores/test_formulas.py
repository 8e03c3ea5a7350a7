"""Named scores, from stored arrays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.metrics import Resampling, proportion_interval, resample_means
from hardy.scores.paired_scores import compare_scores
from hardy.scores.score import Circumstances, Score
from hardy.suites import load
from tests.scores.arrays import (
    CALIBRATION,
    ERRORS,
    corruption_scores,
    measured,
    published,
    score_columns,
)

RNG = np.random.default_rng(0)
NAMES = ("fog", "snow", "spatter")
IMAGES = 200
AROUND = Circumstances(
    "s", 1, "h", "corruptions", NAMES, (1, 2, 3, 4, 5), None, IMAGES, "i", "r", "on the fly"
)
CLEAN = RNG.integers(0, 3, IMAGES)
RANK = RNG.integers(0, 9, (IMAGES, 3, 5))
THEIRS = {"fog": 0.8, "snow": 0.9, "spatter": 0.6}
REFERENCE = published("AlexNet", 0.5, THEIRS)
FEW = Resampling(replicates=50)


def scores(**changes: object) -> dict[str, float]:
    settings: dict[str, object] = {"counted": ["fog", "snow"], "validation": ["spatter"]}
    settings |= {"reference": REFERENCE, "how": FEW, **changes}
    made = corruption_scores(CLEAN, RANK, AROUND, **settings)  # type: ignore[arg-type]
    return {name: score.value for name, score in made.items()}


def test_corruption_scores() -> None:
    e0, e = (CLEAN > 0).mean(), (RANK > 0).mean(axis=(0, 2))
    by_severity = (RANK > 0).mean(axis=0)
    areas = (e0 / 2 + by_severity[:, :4].sum(axis=1) + by_severity[:, 4] / 2) / 5
    expected = {
        "clean error": e0,
        "clean top-5 error": 0.0,
        "mean error": e[:2].mean(),
        "mCE": (e[0] / 0.8 + e[1] / 0.9) / 2,
        "relative mCE": ((e[0] - e0) / 0.3 + (e[1] - e0) / 0.4) / 2,
        "mAUDE": areas[:2].mean(),
        "validation error": e[2],
        "validation mCE": e[2] / 0.6,
        "mean top-5 error": (RANK[:, :2] >= 5).mean(),
    }
    for i, name in enumerate(NAMES):
        yardstick = THEIRS[name]
        expected[f"error {name}"] = e[i]
        expected[f"CE {name}"] = e[i] / yardstick
        expected[f"relative CE {name}"] = (e[i] - e0) / (yardstick - 0.5)
        expected[f"AUDE {name}"] = areas[i]
    found = scores()
    assert set(found) == set(expected)
    for name, value in expected.items():
        assert found[name] == pytest.approx(100 * value), name


def test_validation_does_not_touch_the_test_corruptions() -> None:
    """Tuning on it must not see them."""
    made = corruption_scores(
        CLEAN, RANK, AROUND, counted=["fog", "snow"], validation=["spatter"], how=FEW
    )
    assert made["validation error"].circumstances.names == ("spatter",)
    assert made["mean error"].circumstances.names == ("fog", "snow")
    clean = made["clean error"].circumstances  # the same whatever else was run
    assert (clean.names, clean.levels) == ((), ())


def test_only_scores_with_a_reference_name_it() -> None:
    made = corruption_scores(CLEAN, RANK, AROUND, counted=NAMES, reference=REFERENCE, how=FEW)
    named = {n for n, s in made.items() if s.circumstances.reference == "AlexNet"}
    assert named == {n for n in made if "CE" in n}
    assert all(s.circumstances.reference is None for n, s in made.items() if n not in named)


def test_the_interval_holds_the_value_and_narrows_with_more_images() -> None:
    few = corruption_scores(CLEAN, RANK, AROUND, counted=NAMES)["mean error"]
    four = replace(AROUND, images=4 * IMAGES)
    many = corruption_scores(np.tile(CLEAN, 4), np.tile(RANK, (4, 1, 1)), four, counted=NAMES)
    assert few.interval.low < few.value < few.interval.high
    width = many["mean error"].interval
    ratio = (few.interval.high - few.interval.low) / (width.high - width.low)
    assert ratio == pytest.approx(2, rel=0.15)


def test_a_faultless_model_still_has_an_interval_on_clean_images() -> None:
    made = corruption_scores(0 * CLEAN, RANK, AROUND, counted=NAMES, how=FEW)
    assert made["clean error"].interval == pytest.approx((0.0, 1.6), abs=0.1)
    assert proportion_interval(0, IMAGES).high < 3.7 / IMAGES, "Clopper and Pearson's"


def test_some_severities_only() -> None:
    part = replace(AROUND, levels=(1, 3))
    made = corruption_scores(CLEAN, RANK[..., [0, 2]], part, counted=NAMES, how=FEW)
    assert "mAUDE" not in made  # its curve needs all of them
    assert made["mean error"].value == pytest.approx(100 * (RANK[..., [0, 2]] > 0).mean())


def test_without_clean_images_what_needs_them_is_left_out() -> None:
    settings = {"counted": NAMES[:2], "validation": NAMES[2:], "reference": REFERENCE, "how": FEW}
    whole = corruption_scores(CLEAN, RANK, AROUND, **settings)  # type: ignore[arg-type]
    part = corruption_scores(None, RANK, AROUND, **settings)  # type: ignore[arg-type]
    words = ("clean", "relative", "AUDE")
    assert set(part) == {name for name in whole if not any(word in name for word in words)}
    assert all(part[name] == whole[name] for name in part)


def test_a_reference_that_a_corruption_costs_nothing() -> None:
    """A measured reference may have no error to divide by; the other scores are still there."""
    unmoved = published("AlexNet", 0.5, {"fog": 0.5, "snow": 0.9, "spatter": 0.0})
    found = scores(reference=unmoved)
    gone = {"relative mCE", "relative CE fog", "validation mCE", "CE spatter"}
    assert set(scores()) - set(found) == {*gone, "relative CE spatter"}
    assert found["CE fog"] == pytest.approx(200 * (RANK[:, 0] > 0).mean())


def test_a_measured_reference() -> None:
    reference = measured("mine", CLEAN, RANK)
    found = scores(reference=reference)
    assert found["mCE"] == pytest.approx(100)
    assert found["relative CE snow"] == pytest.approx(100)
    assert "relative mCE" not in scores(reference=measured("mine", None, RANK))


def test_a_measured_reference_is_resampled_with_the_model() -> None:
    """Ratio by ratio from the same draws: a model divided by itself is 1 without any doubt."""
    own = measured("mine", CLEAN, RANK)
    made = corruption_scores(CLEAN, RANK, AROUND, counted=NAMES, reference=own, how=FEW)
    for name in ("mCE", "relative mCE", "CE fog", "relative CE snow"):
        assert made[name].replicates == pytest.approx(np.full(50, 100.0)), name
    ranks, clean = RANK[::-1], CLEAN[::-1]
    other = measured("other", clean, ranks)
    made = corruption_scores(CLEAN, RANK, AROUND, counted=NAMES, reference=other, how=FEW)
    stacked = np.concatenate([RANK[:, 0], ranks[:, 0]], axis=1) > 0
    means = resample_means(np.column_stack([stacked, CLEAN > 0, clean > 0]), FEW)
    ours, theirs = means[:, :5].mean(axis=1), means[:, 5:10].mean(axis=1)
    assert made["CE fog"].replicates == pytest.approx(100 * ours / theirs)
    rises = (ours - means[:, 10]) / (theirs - means[:, 11])
    assert made["relative CE fog"].replicates == pytest.approx(100 * rises)
    assert made["CE fog"].value == pytest.approx(100)
    less = measured("other", clean[1:], ranks[1:])
    with pytest.raises(InputError, match=r"got \(199,\) and \(199, 3, 5\)"):
        corruption_scores(CLEAN, RANK, AROUND, counted=NAMES, reference=less, how=FEW)


def test_a_measured_reference_that_hardly_errs() -> None:
    """One image is not drawn in a third of the replicates: then there is nothing to divide by."""
    ranks = RANK.copy()
    ranks[1:, 0] = 0
    ranks[0, 0] = 1
    rare = measured("rare", CLEAN, ranks)
    found = scores(reference=rare)
    assert not {"CE fog", "relative CE fog", "mCE", "relative mCE"} & set(found)
    assert {"CE snow", "relative CE snow", "validation mCE", "error fog"} <= set(found)


def test_a_suite_brings_its_own_reference() -> None:
    suite = load("imagenet_c")
    around = replace(AROUND, names=suite.counted)
    ranks = np.ones((IMAGES, 15, 5), int)
    assert suite.reference is not None
    theirs = published("AlexNet", suite.reference.clean_error, suite.reference.errors)
    made = corruption_scores(CLEAN, ranks, around, counted=suite.counted, reference=theirs, how=FEW)
    fine = [suite.reference.errors[name] for name in suite.counted]
    assert made["mCE"].value == pytest.approx(np.mean([100 / error for error in fine]))


def test_refusals() -> None:
    with pytest.raises(InputError, match=r"got \(200,\) and \(200, 2, 5\)"):
        corruption_scores(CLEAN, RANK[:, :2], AROUND, counted=NAMES)


def outcomes(rank: np.ndarray) -> dict[str, np.ndarray]:
    confidence = RNG.uniform(0.3, 1, rank.shape)
    log_prob = np.log(RNG.uniform(0.1, 1, rank.shape))
    return {
        "rank": rank,
        "log_prob": log_prob,
        "square_sum": confidence**2,
        "confidence": confidence,
    }


def calibration_scores(clean, cells, around: Circumstances, **settings) -> dict[str, Score]:
    return score_columns(clean, cells, around, CALIBRATION, **settings)


def test_calibration_scores() -> None:
    clean, cells = outcomes(CLEAN), outcomes(RANK)
    made = calibration_scores(clean, cells, AROUND, counted=["fog", "snow"], how=FEW)
    kinds = ("", "clean ", " fog", " snow", " spatter")
    assert len(made) == 3 * len(kinds)
    assert made["NLL"].value == pytest.approx(-cells["log_prob"][:, :2].mean())
    assert made["NLL spatter"].value == pytest.approx(-cells["log_prob"][:, 2].mean())
    assert made["clean NLL"].value == pytest.approx(-clean["log_prob"].mean())
    briers = cells["square_sum"] - 2 * np.exp(cells["log_prob"]) + 1
    assert made["Brier score"].value == pytest.approx(briers[:, :2].mean())
    assert made["Brier score snow"].value == pytest.approx(briers[:, 1].mean())
    assert made["ECE"].unit == "%"
    eces = []
    for cell in range(15):
        confidence = cells["confidence"].reshape(IMAGES, 15)[:, cell]
        right = RANK.reshape(IMAGES, 15)[:, cell] == 0
        bins = np.ceil(confidence * 15)
        gaps = [abs((right - confidence)[bins == b].sum()) for b in range(1, 16)]
        eces.append(sum(gaps) / IMAGES)
    assert made["ECE"].value == pytest.approx(100 * np.mean(eces[:10]))
    assert made["ECE spatter"].value == pytest.approx(100 * np.mean(eces[10:]))


def test_an_interval_of_few_images_ends_at_zero() -> None:
    """Half sure, and right three times of four: in a replicate it may be the other way round."""
    half = np.full(4, 0.5)
    clean = {"rank": np.array([0, 1, 0, 0]), "log_prob": np.log(half)}
    clean |= {"square_sum": half, "confidence": half}
    nothing = {name: np.empty((4, 0, 0), one.dtype) for name, one in clean.items()}
    around = replace(AROUND, names=(), levels=(), images=4)
    ece = calibration_scores(clean, nothing, around, counted=())["clean ECE"]
    assert ece.value == pytest.approx(25)
    assert ece.replicates.min() < -10
    assert ece.interval.low == 0
    assert ece.interval.high > 40


def test_a_corruption_may_lower_the_error() -> None:
    made = corruption_scores(
        np.ones(IMAGES, int), np.zeros_like(RANK), AROUND, counted=NAMES, reference=REFERENCE
    )
    assert made["relative mCE"].interval.high < 0


def test_calibration_without_clean_images() -> None:
    clean, cells = outcomes(CLEAN), outcomes(RANK)
    whole = calibration_scores(clean, cells, AROUND, counted=["fog", "snow"], how=FEW)
    part = calibration_scores(None, cells, AROUND, counted=["fog", "snow"], how=FEW)
    assert list(part) == [name for name in whole if "clean" not in name]
    assert all(part[name] == whole[name] for name in part)
    with pytest.raises(InputError, match=r"got None and \(200, 2, 5\)"):
        calibration_scores(None, outcomes(RANK[:, :2]), AROUND, counted=NAMES)


def test_metrics_do_not_disturb_each_other() -> None:
    clean, cells = outcomes(CLEAN), outcomes(RANK)
    settings = {"counted": NAMES[:2], "validation": NAMES[2:], "reference": REFERENCE, "how": FEW}
    both = score_columns(clean, cells, AROUND, [*ERRORS, *CALIBRATION], **settings)
    halves = corruption_scores(CLEAN, RANK, AROUND, **settings)
    halves |= calibration_scores(clean, cells, AROUND, **settings)
    assert both == halves
    for name, one in halves.items():
        np.testing.assert_array_equal(both[name].replicates, one.replicates)


def test_two_models_on_the_same_images_are_paired() -> None:
    """The second is wrong wherever the first is, and on one image more."""
    worse = RANK.copy()
    worse[(RANK == 0).any(axis=(1, 2)).argmax()] = 1
    first, second = (
        corruption_scores(CLEAN, ranks, AROUND, counted=NAMES)["mean error"]
        for ranks in (RANK, worse)
    )
    assert (second.replicates >= first.replicates).all()
    apart, one = compare_scores(first, second).interval, first.interval
    assert apart.high - apart.low < (one.high - one.low) / 2


def test_where_all_images_are_alike_every_score_says_how_few_they_are() -> None:
    """Worked out: of all images, as many as the limit of a share never seen may have 0 or 1."""
    images, wrong = 6, np.array([0, 1, 1, 1, 0])
    rank = np.tile(9 * wrong, (images, 3, 1))
    around = replace(AROUND, images=images)
    made = corruption_scores(
        np.zeros(images, int), rank, around, counted=NAMES, reference=REFERENCE, how=FEW
    )
    others = proportion_interval(0, images).high
    low, high = 0.6 * (1 - others), 0.6 * (1 - others) + others
    weight = 100 * np.mean([1 / error for error in THEIRS.values()])
    assert made["mCE"].interval == pytest.approx((weight * low, weight * high))
    assert made["mean error"].interval == pytest.approx((100 * low, 100 * high))
    rises = 100 * np.mean([1 / (error - 0.5) for error in THEIRS.values()])
    assert made["relative mCE"].interval == pytest.approx((rises * (low - others), rises * high))
    for score in made.values():
        assert score.interval.low < score.interval.high, score.name
    theirs = measured("theirs", np.zeros(images, int), rank)
    made = corruption_scores(
        np.zeros(images, int), rank, around, counted=NAMES, reference=theirs, how=FEW
    )
    assert made["mCE"].interval == pytest.approx((100 * low / high, 100 * high / low))
    assert "relative mCE" not in made, "the reference's rise may be none"
    itself = replace(theirs, itself=True)
    exact = corruption_scores(None, rank, around, counted=NAMES, reference=itself, how=FEW)
    assert exact["mCE"].figure() == "100.0"


def test_calibration_of_few_images_that_are_alike() -> None:
    columns = {"log_prob": np.full((5, 3, 5), -0.1), "square_sum": np.full((5, 3, 5), 0.8)}
    columns |= {"confidence": np.full((5, 3, 5), 0.9), "rank": np.zeros((5, 3, 5), int)}
    made = score_columns(None, columns, replace(AROUND, images=5), CALIBRATION, counted=NAMES)
    assert made["Brier score"].interval.high > made["Brier score"].value + 0.5
    assert made["ECE"].interval.high > 40
    assert "±" not in made["NLL"].figure(), "which has no bound"
