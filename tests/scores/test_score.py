"""What a score prints, and which scores may be compared."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.metrics import METRICS, Interval
from hardy.scores.paired_scores import compare_scores, differences
from hardy.scores.score import Circumstances, Score, score_of
from tests.scores.arrays import corruption_scores

FIFTEEN = tuple(f"corruption_{i}" for i in range(15))
AROUND = Circumstances(
    suite="imagenet_c",
    version=1,
    suite_hash="ab" * 32,
    kind="corruptions",
    names=FIFTEEN,
    levels=(1, 2, 3, 4, 5),
    reference="AlexNet",
    images=50_000,
    images_hash="cd" * 32,
    recipe="resize256_crop224@1",
    made="on the fly + jpeg:85",
)
SPREAD = np.linspace(-0.3, 0.3, 1001)


def score(value: float = 76.7, name: str = "mCE", **changes: Any) -> Score:
    made = replace(AROUND, **changes)
    return score_of(name, value, value + SPREAD, made, "1,000 replicates", metric=METRICS["CE"])


def test_a_score_prints_what_it_is() -> None:
    assert str(score()) == (
        "mCE 76.7 ± 0.3 (AlexNet reference, 15 corruptions × 5, 50,000 images, imagenet_c v1, "
        "on the fly + jpeg:85)"
    )


@pytest.mark.parametrize(
    ("changes", "cells"),
    [
        ({"names": ()}, "clean images"),
        ({"names": ("fog",)}, "1 corruption × 5"),
        ({"levels": (3,)}, "15 corruptions, severity 3"),
        ({"kind": "perturbations", "levels": (2,)}, "15 perturbations, difficulty 2"),
    ],
)
def test_what_it_averages_over(changes: dict[str, Any], cells: str) -> None:
    assert f"({cells}, 50,000 images" in str(score(reference=None, **changes))


def test_a_part_of_the_images_says_of_how_many() -> None:
    assert "× 5, 1,000 of 50,000 images, imagenet_c v1" in str(score(images=1000, total=50_000))


@pytest.mark.parametrize(
    ("value", "low", "high", "figure"),
    [
        (76.7, 76.4, 77.0, "76.7 ± 0.3"),
        (57.62, 45.1, 70.2, "57.6 ± 12.6"),
        (26.224, 26.17, 26.27, "26.22 ± 0.05"),
        (0.7443, 0.7437, 0.7449, "0.7443 ± 0.0006"),
        (0.0, 0.0, 3.7, "0.0 [0.0 to 3.7]"),
        (3.9, 0.0, 8.73, "3.9 [0.0 to 8.7]"),  # ± 4.4 would reach below 0
        (96.1, 91.27, 100.0, "96.1 [91.3 to 100.0]"),
        (-3.9, -8.73, 0.0, "-3.9 [-8.7 to 0.0]"),
        (3.9, -0.4, 8.3, "3.9 ± 4.4"),
        (99.0, 95.0, 103.4, "99.0 ± 4.2"),  # an mCE, which has no bound there
        (12.0, 12.0, 12.0, "12.0"),
        (122.0518, 122.0518 - 2e-14, 122.0518 - 1e-14, "122.1"),
        (100.0, 100 - 1e-13, 100 + 1e-13, "100.0"),
    ],
)
def test_digits_follow_the_interval(value: float, low: float, high: float, figure: str) -> None:
    assert replace(score(value), interval=Interval(low, high)).figure() == figure


@pytest.mark.parametrize("value", [0.0, 30.0, 100.0])
def test_where_resampling_shows_nothing_images_that_were_not_seen_make_the_interval(
    value: float,
) -> None:
    made = replace(AROUND, images=20)
    same = np.full(100, value) * (1 + np.linspace(0, 1e-14, 100))  # but for rounding
    how = {"metric": METRICS["error"], "unseen": Interval(value - 3, value + 5)}
    made_of = score_of("mean error", value, same, made, "100", **how)
    assert made_of.interval == (max(0, value - 3), value + 5)
    assert made_of.leeway == 8
    varied = score_of("mean error", value, same + np.linspace(0, 2, 100), made, "100", **how)
    assert varied.interval.high < value + 2.1


@pytest.mark.parametrize("unseen", [Interval(90, 100 - 1e-14), Interval(100 + 1e-14, 101)])
def test_rounding_does_not_put_a_value_outside_its_interval(unseen: Interval) -> None:
    how = {"metric": METRICS["accuracy"], "unseen": unseen}
    low, high = score_of("accuracy", 100.0, np.full(9, 100.0), AROUND, "9", **how).interval
    assert low <= 100 <= high


def test_the_unit() -> None:
    assert replace(score(23.9), unit="%").figure() == "23.9 ± 0.3 %"


def test_as_dict_is_plain() -> None:
    kept = json.loads(json.dumps(score().as_dict()))
    assert kept["value"] == 76.7
    assert kept["level"] == 0.95
    assert kept["reference"] == "AlexNet"
    assert kept["low"] < 76.7 < kept["high"]
    assert "replicates" not in kept


def test_compare_pairs_the_replicates() -> None:
    """A constant gap on every replicate is certain, however wide each interval is."""
    comparison = compare_scores(score(76.7), score(76.5))
    assert comparison.difference == pytest.approx(-0.2)
    assert comparison.interval == pytest.approx((-0.2, -0.2))
    assert comparison.significant
    assert comparison.p_value == pytest.approx(2 / 1002)
    assert str(comparison).startswith("mCE -0.2, p ≤ 0.002 (AlexNet reference, 15")
    kept = json.loads(json.dumps(comparison.as_dict()))
    assert (kept["first"], kept["second"], kept["significant"]) == (76.7, 76.5, True)
    assert (kept["name"], kept["low"]) == ("mCE", pytest.approx(-0.2))


def test_compare_equal_models() -> None:
    comparison = compare_scores(score(), score())
    assert (comparison.difference, comparison.p_value) == (0, 1)
    assert not comparison.significant


def test_rounding_is_no_difference() -> None:
    """The same errors, added up in another order."""
    first = score()
    second = replace(first, value=76.7 - 1e-14, replicates=first.replicates - 1e-14)
    comparison = compare_scores(first, second)
    assert (comparison.difference, comparison.interval) == (0, (0, 0))
    assert not comparison.significant
    assert comparison.p_value == 1
    assert comparison.figure() == "+0.0"


def test_models_that_agree_on_all_images_may_differ_on_others() -> None:
    one, two = (replace(score(), leeway=leeway) for leeway in (0.5, 0.7))
    assert compare_scores(one, two).figure() == "+0.0 ± 0.7"


def test_the_same_images_are_the_same_whatever_they_are_a_part_of() -> None:
    part = score(total=90_000)
    assert part.circumstances == score().circumstances
    assert not differences(part, score())


def test_the_p_value_goes_with_the_interval() -> None:
    """Student's: 5 % where the interval ends at 0."""
    change = np.linspace(-0.9, 0.9, 1001)
    second = replace(score(images=20), replicates=score().replicates + change)
    error = change.std(ddof=1)
    for shift, p_value in ((0.0, 1.0), (2.093 * error, 0.05), (2.861 * error, 0.01)):
        found = compare_scores(score(images=20), replace(second, value=76.7 + shift))
        assert found.p_value == pytest.approx(p_value, rel=2e-3)
        assert found.interval.high - found.interval.low == pytest.approx(
            2 * 2.093 * error, rel=1e-3
        )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"suite": "cifar10_c"}, r"different suites \(imagenet_c and cifar10_c\)"),
        ({"version": 2}, r"different suite versions \(1 and 2\)"),
        ({"suite_hash": "ef" * 32}, r"different suite contents \(abababababab… and efef"),
        ({"levels": (1, 2)}, r"different severities \(1, 2, 3, 4, 5 and 1, 2\)"),
        ({"reference": "resnet50"}, r"different references \(AlexNet and resnet50\)"),
        ({"reference": None}, r"different references \(AlexNet and none\)"),
        ({"images": 5000}, r"different numbers of images \(50,000 and 5,000\)"),
        (
            {"sampled": (5962, 760_000)},
            r"different samples \(a full run and 5,962 of 760,000 predictions\)",
        ),
        ({"images_hash": "00" * 32}, "different image sets"),
        ({"recipe": "crop224@1"}, "different preprocessing recipes"),
        ({"made": "files " * 9}, r"and files files files files files files …\)"),
        ({"made": "official files"}, r"ways of making the images \(on the fly .* official files"),
        ({"names": FIFTEEN[1:]}, r"different corruptions \(only the first has corruption_0\)"),
        ({"names": (*FIFTEEN, "rain")}, r"only the second has rain"),
        ({"names": FIFTEEN[::-1]}, "in another order"),
        ({"name": "relative mCE"}, r"different metrics \(mCE and relative mCE\)"),
    ],
)
def test_unlike_scores_are_refused_and_the_difference_named(
    changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=f"expected two scores made alike, got .*{message}"):
        compare_scores(score(), score(**changes))


def test_every_circumstance_is_checked() -> None:
    """A field added to the circumstances and forgotten in the comparison fails here."""
    for name, value in vars(AROUND).items():
        if name == "total":
            continue
        other = ("x",) if isinstance(value, tuple) else (1, 2) if name == "sampled" else "another"
        unlike = replace(score(), circumstances=replace(AROUND, **{name: other}))
        assert differences(score(), unlike), name


def test_all_differences_are_named_at_once() -> None:
    assert len(differences(score(), score(suite="x", recipe="y", images=3))) == 3


def test_other_replicates_are_refused() -> None:
    other = replace(score(), resampling="500 replicates", replicates=np.zeros(500))
    with pytest.raises(InputError, match=r"different intervals \(1,000 replicates and 500"):
        compare_scores(score(), other)


def test_a_score_is_finite() -> None:
    with pytest.raises(InputError, match="expected a finite mCE, got nan"):
        score(float("nan"))


def test_a_handful_of_images_is_not_significant() -> None:
    """A all right and B all wrong on two images: one coin thrown twice does that."""
    for images, expected in ((2, False), (5, False), (8, True)):
        right, wrong = np.zeros(images, np.int64), np.full(images, 9)
        around = replace(AROUND, images=images, names=("fog",), levels=(1,), reference=None)
        scores = [
            corruption_scores(rank, rank[:, None, None], around, counted=["fog"])["mean error"]
            for rank in (right, wrong)
        ]
        compared = compare_scores(*scores)
        assert compared.p_value >= 2.0 ** (1 - images)
        assert compared.significant is expected
        assert scores[0].interval.high > 0
        assert scores[1].interval.low < 100
