"""From frames to named scores of sequences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.metrics import Resampling, resample_means, zipf_columns
from hardy.scores.movement_scores import measure_flips, movements, sequence_scores
from hardy.scores.score import Circumstances
from hardy.suites import load

RNG = np.random.default_rng(0)
IMAGES = 200
FEW = Resampling(replicates=50)
TURNS = ("gaussian_noise", "tilt", "shear")
FRAMES = 6
SCORES = {name: RNG.normal(size=(40, FRAMES, 10)).cumsum(axis=1) for name in TURNS}
TOP5 = {name: np.argsort(-s, axis=-1)[..., :5] for name, s in SCORES.items()}
SEQUENCES = Circumstances(
    "s", 1, "h", "perturbations", TURNS, (1,), None, 40, "i", "r", "on the fly"
)


def test_sequence_scores() -> None:
    zipf = {name: zipf_columns(s) for name, s in SCORES.items()}
    suite = load("imagenet_p")
    made = sequence_scores(
        TOP5,
        SEQUENCES,
        counted=["gaussian_noise", "tilt"],
        validation=["shear"],
        zipf=zipf,
        reference=suite.flips,
        how=FEW,
    )
    tops = {name: top[..., 0] for name, top in TOP5.items()}
    noise = (tops["gaussian_noise"][:, 1:] != tops["gaussian_noise"][:, :1]).mean()
    tilt = (tops["tilt"][:, 1:] != tops["tilt"][:, :-1]).mean()
    shear = (tops["shear"][:, 1:] != tops["shear"][:, :-1]).mean()
    assert made["flip probability"].value == pytest.approx(100 * (noise + tilt) / 2)
    assert made["FP tilt"].value == pytest.approx(100 * tilt)
    assert made["mFR"].value == pytest.approx(100 * (noise / 0.2365 + tilt / 0.0705) / 2)
    assert made["validation mFR"].value == pytest.approx(100 * shear / 0.1066)
    ratios = [made["uT5D gaussian_noise"].value / 4.77, made["uT5D tilt"].value / 1.75]
    assert made["mT5D"].value == pytest.approx(100 * np.mean(ratios))
    assert made["top-5 distance"].value == pytest.approx(
        (made["uT5D gaussian_noise"].value + made["uT5D tilt"].value) / 2
    )
    assert made["Zipf tilt"].value == pytest.approx(zipf["tilt"][:, 1:, 1].mean())
    assert made["Zipf gaussian_noise"].value == pytest.approx(
        zipf["gaussian_noise"][:, 1:, 0].mean()
    )
    assert "10 perturbations" not in str(made["mFR"])
    assert "AlexNet reference, 2 perturbations, difficulty 1" in str(made["mFR"])


def test_difficulty_changes_the_pairs_and_has_no_reference() -> None:
    harder = replace(SEQUENCES, levels=(2,))
    made = sequence_scores(TOP5, harder, counted=TURNS, how=FEW)
    tops = TOP5["tilt"][..., 0]
    assert made["FP tilt"].value == pytest.approx(100 * (tops[:, 2:] != tops[:, :-2]).mean())
    assert not any(s.circumstances.reference for s in made.values())
    assert "Zipf tilt" not in made
    with pytest.raises(InputError, match=r"difficulty 1 for scores against AlexNet.*got 2"):
        sequence_scores(TOP5, harder, counted=TURNS, reference=load("imagenet_p").flips)


def test_a_measured_reference_of_sequences() -> None:
    reference = measure_flips("mine", {name: movements(name, TOP5[name]) for name in TURNS})
    made = sequence_scores(TOP5, SEQUENCES, counted=TURNS, reference=reference, how=FEW)
    for name in ("mFR", "mT5D", "FR tilt", "T5D gaussian_noise"):
        assert made[name].value == pytest.approx(100), name
        assert made[name].circumstances.reference == "mine"
    tops = TOP5["tilt"][..., 0]
    assert reference.flips["tilt"] == pytest.approx((tops[:, 1:] != tops[:, :-1]).mean())
    assert reference.top5_distance["shear"] == pytest.approx(made["uT5D shear"].value)
    for name in ("mFR", "mT5D", "FR tilt", "T5D gaussian_noise"):
        assert made[name].figure() == "100.0 ± 0.0", name


def test_a_measured_reference_of_sequences_is_resampled_with_the_model() -> None:
    moves = {name: movements(name, TOP5[name]) for name in TURNS}
    other = {name: move[::-1] for name, move in moves.items()}
    reference = measure_flips("other", other)
    made = sequence_scores(TOP5, SEQUENCES, counted=TURNS, reference=reference, how=FEW)
    means = resample_means(np.concatenate([moves["tilt"], other["tilt"]], axis=1), FEW)
    assert made["FR tilt"].replicates == pytest.approx(100 * means[:, 0] / means[:, 2])
    assert made["T5D tilt"].replicates == pytest.approx(100 * means[:, 1] / means[:, 3])
    less = measure_flips("less", {name: move[1:] for name, move in moves.items()})
    with pytest.raises(InputError, match="gaussian_noise of each of the 40 images, got 39"):
        sequence_scores(TOP5, SEQUENCES, counted=TURNS, reference=less, how=FEW)


def test_a_reference_that_never_moves() -> None:
    still = {**TOP5, "tilt": np.repeat(TOP5["tilt"][:, :1], FRAMES, axis=1)}
    reference = measure_flips("still", {name: movements(name, still[name]) for name in TURNS})
    made = sequence_scores(TOP5, SEQUENCES, counted=TURNS, reference=reference, how=FEW)
    assert {"FR shear", "T5D shear", "FP tilt"} <= set(made)
    assert not {"FR tilt", "T5D tilt", "mFR", "mT5D"} & set(made)


def test_sequence_refusals() -> None:
    with pytest.raises(InputError, match="gaussian_noise of each of the 41 images, got 40"):
        sequence_scores(TOP5, replace(SEQUENCES, images=41), counted=TURNS)
    with pytest.raises(InputError, match=r"tilt as \(images, frames, 5\), got \(40, 6\)"):
        movements("tilt", TOP5["tilt"][..., 0])
    odd = {"wobble": TOP5["tilt"]}
    with pytest.raises(InputError, match=r"flips of AlexNet.*none for wobble"):
        sequence_scores(
            odd,
            replace(SEQUENCES, names=("wobble",)),
            counted=[],
            reference=load("imagenet_p").flips,
        )
