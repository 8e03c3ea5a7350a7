"""Named scores of sequences, from frames."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.metrics import Resampling, proportion_interval, resample_means
from hardy.metrics.frame_distance import zipf_columns
from hardy.scores.columns import ReferenceNumbers
from hardy.scores.score import Circumstances
from hardy.suites import load
from tests.scores.arrays import moves, moving, sequence_scores

RNG = np.random.default_rng(0)
IMAGES = 200
FEW = Resampling(replicates=50)
TURNS = ("gaussian_noise", "tilt", "shear")
FRAMES = 6
SCORES = {name: RNG.normal(size=(40, FRAMES, 10)).cumsum(axis=1) for name in TURNS}
TOP5 = {name: np.argsort(-s, axis=-1)[..., :5] for name, s in SCORES.items()}
ALEXNET = load("imagenet_p").flips
assert ALEXNET is not None
PUBLISHED = ReferenceNumbers(
    "AlexNet",
    {"FP": (np.nan, ALEXNET.flips), "uT5D": (np.nan, ALEXNET.top5_distance)},
)
SEQUENCES = Circumstances(
    "s", 1, "h", "perturbations", TURNS, (1,), None, 40, "i", "r", "on the fly"
)


def test_sequence_scores() -> None:
    zipf = {name: zipf_columns(s) for name, s in SCORES.items()}
    made = sequence_scores(
        TOP5,
        SEQUENCES,
        counted=["gaussian_noise", "tilt"],
        validation=["shear"],
        zipf=zipf,
        reference=PUBLISHED,
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
    assert made["FP tilt (difficulty 2)"].value == pytest.approx(
        100 * (tops[:, 2:] != tops[:, :-2]).mean()
    )
    assert not any(s.circumstances.reference for s in made.values())
    assert not [name for name in made if "Zipf" in name]


def test_a_measured_reference_of_sequences() -> None:
    reference = moving("mine", TOP5)
    made = sequence_scores(TOP5, SEQUENCES, counted=TURNS, reference=reference, how=FEW)
    for name in ("mFR", "mT5D", "FR tilt", "T5D gaussian_noise"):
        assert made[name].value == pytest.approx(100), name
        assert made[name].circumstances.reference == "mine"
        assert made[name].replicates == pytest.approx(np.full(50, 100.0)), name


def test_a_measured_reference_of_sequences_is_resampled_with_the_model() -> None:
    other = {name: best[::-1] for name, best in TOP5.items()}
    reference = moving("other", other)
    made = sequence_scores(TOP5, SEQUENCES, counted=TURNS, reference=reference, how=FEW)
    ours, theirs = moves(TOP5)[0], moves(other)[0]
    tilt = TURNS.index("tilt")
    for metric, ratio in (("FP", "FR tilt"), ("uT5D", "T5D tilt")):
        columns = np.column_stack([one[metric].cells[:, tilt, 0] for one in (ours, theirs)])
        means = resample_means(columns, FEW)
        assert made[ratio].replicates == pytest.approx(100 * means[:, 0] / means[:, 1])
    less = moving("less", {name: best[1:] for name, best in TOP5.items()})
    with pytest.raises(InputError, match=r"\(40, 3, 1\).*, got None and \(39, 3, 1\)"):
        sequence_scores(TOP5, SEQUENCES, counted=TURNS, reference=less, how=FEW)


def test_a_reference_that_never_moves() -> None:
    still = {**TOP5, "tilt": np.repeat(TOP5["tilt"][:, :1], FRAMES, axis=1)}
    reference = moving("still", still)
    made = sequence_scores(TOP5, SEQUENCES, counted=TURNS, reference=reference, how=FEW)
    assert {"FR shear", "T5D shear", "FP tilt"} <= set(made)
    assert not {"FR tilt", "T5D tilt", "mFR", "mT5D"} & set(made)


def test_a_model_that_never_moves_may_do_so_on_images_that_were_not_seen() -> None:
    still = {name: np.broadcast_to(top[:, :1], top.shape)[:5] for name, top in TOP5.items()}
    zipf = {name: np.zeros((5, FRAMES, 4)) for name in TURNS}
    around = replace(SEQUENCES, images=5)
    made = sequence_scores(still, around, zipf=zipf, counted=TURNS, reference=PUBLISHED, how=FEW)
    others = proportion_interval(0, 5).high
    for score in made.values():
        assert (score.value, score.interval.low) == (0, 0)
        assert score.interval.high > others, score.name
    assert ALEXNET is not None
    ratios = [others / ALEXNET.flips[name] for name in TURNS]
    assert made["mFR"].interval.high == pytest.approx(100 * np.mean(ratios))
    assert made["top-5 distance"].interval.high == pytest.approx(15 * others)
