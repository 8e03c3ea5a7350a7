"""Do 95 % intervals hold the truth 95 % of the time? Simulated models whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.stats import binom, norm

from hardy.metrics import Resampling, percentile_interval, resample_means
from hardy.metrics.intervals import proportion_interval
from hardy.scores.columns import ReferenceNumbers
from hardy.scores.paired_scores import compare_scores
from hardy.scores.score import Circumstances, Score
from tests.scores.arrays import (
    CALIBRATION,
    corruption_scores,
    measured,
    moving,
    published,
    score_columns,
    sequence_scores,
)
from tests.scores.simulate import CLEAN, COUPLING, THRESHOLDS, draw, true_errors

NAMES = ("fog", "snow", "frost")
TURNS = ("tilt", "scale")
THEIRS = {"fog": 0.8, "snow": 0.7, "frost": 0.9}
REFERENCE = published("AlexNet", 0.4, THEIRS)
FLIPS = ReferenceNumbers(
    "AlexNet",
    {
        "FP": (math.nan, {"tilt": 0.1, "scale": 0.2}),
        "uT5D": (math.nan, {"tilt": 1.0, "scale": 2.0}),
    },
)
IMAGES = 300

# A share of 95 % has a standard error of 0.7 points over 1,000 simulations, of 1.5 over 200.
FULL, SHORT = 1000, 200
FEWER = Resampling(replicates=400)
# So few cannot tell 95 % from 98 %. Their widths can: the spread of 200 estimates is known to 5 %.
LOOSELY = (0.90, 0.99)
WIDTHS = (0.8, 1.2)

Held = Iterator[tuple[str, tuple[float, float], float]]  # name, interval, truth
Simulation = Callable[[np.random.Generator, Resampling], Held]


def around(
    names: tuple[str, ...], kind: str = "corruptions", images: int = IMAGES
) -> Circumstances:
    levels = (1, 2, 3, 4, 5) if kind == "corruptions" else (1,)
    return Circumstances("s", 1, "h", kind, names, levels, None, images, "i", "r", "simulated")


def check(
    simulation: Simulation,
    times: int,
    how: Resampling,
    shares: tuple[float, float],
    widths: tuple[float, float] = (0.0, math.inf),
) -> None:
    """How often the interval holds the truth, and how wide it is: half of it should be about 1.96
    standard deviations of its middle, a little less where it is lopsided."""
    rng = np.random.default_rng(7)
    found: dict[str, list[tuple[bool, float, float]]] = {}
    for seed in range(times):  # so that it is the method that is judged, not one draw
        for name, (low, high), truth in simulation(rng, how._replace(seed=seed)):
            held = low <= truth <= high
            found.setdefault(name, []).append((held, (low + high) / 2, (high - low) / 2))
    measured = {}
    for name, rows in found.items():
        held, middle, half = np.array(rows).T
        measured[name] = (held.mean(), half.mean() / (1.96 * middle.std(ddof=1)))
    text = ", ".join(
        f"{name}: {share:.3f}, {width:.2f}" for name, (share, width) in measured.items()
    )
    print(text)
    for name, (share, width) in measured.items():
        if name == "clean error":  # its interval is exact, so its coverage is known
            expected = clean_coverage()
            assert abs(share - expected) <= 3 * math.sqrt(expected * (1 - expected) / times), text
        else:
            assert shares[0] <= share <= shares[1], text
        assert widths[0] <= width <= widths[1], text


def clean_coverage() -> float:
    """How often the interval of clean errors holds the truth, by the binomial law."""
    rate, hits = float(true_errors(CLEAN)), np.arange(IMAGES + 1)
    low, high = np.array([proportion_interval(int(hit), IMAGES) for hit in hits]).T
    return float(binom.pmf(hits, IMAGES, rate)[(low <= rate) & (rate <= high)].sum())


def mean_error(clean: np.ndarray, cells: np.ndarray, how: Resampling) -> Score:
    return corruption_scores(clean, cells, around(NAMES), counted=NAMES, how=how)["mean error"]


def corruptions(rng: np.random.Generator, how: Resampling) -> Held:
    """The headline numbers of one model."""
    clean, cells = draw(rng, IMAGES)
    scores = corruption_scores(
        clean, cells, around(NAMES), counted=NAMES, reference=REFERENCE, how=how
    )
    errors, clean_error = true_errors(THRESHOLDS), float(true_errors(CLEAN))
    yardstick = np.array(list(THEIRS.values()))
    curve = np.column_stack([np.full(3, clean_error), errors])
    truth = {
        "clean error": clean_error,
        "mean error": errors.mean(),
        "mCE": (errors.mean(axis=1) / yardstick).mean(),
        "relative mCE": ((errors.mean(axis=1) - clean_error) / (yardstick - 0.4)).mean(),
        "mAUDE": ((curve[:, 1:] + curve[:, :-1]) / 2).mean(),
        "CE snow": errors[1].mean() / 0.7,
    }
    for name, value in truth.items():
        yield name, scores[name].interval, 100 * value


def ratio(rng: np.random.Generator, how: Resampling) -> Held:
    """Ratios to another model's errors on the same images, as uncertain as the model's own."""
    easier = [1, 2, 1]  # the other model has the errors of these
    errors, clean_error = true_errors(THRESHOLDS).mean(axis=1), float(true_errors(CLEAN))
    theirs = errors[easier]
    truth = {
        "mCE": (errors / theirs).mean(),
        "CE fog": errors[0] / theirs[0],
        "relative mCE": ((errors - clean_error) / (theirs - clean_error)).mean(),
    }
    for kind in ("alike", "apart"):  # whether they find the same images difficult
        z = rng.normal(size=IMAGES)
        clean, cells = draw(rng, IMAGES, z)
        other_clean, other = draw(rng, IMAGES, z if kind == "alike" else None)
        reference = measured("other", other_clean, other[:, easier])
        scores = corruption_scores(
            clean, cells, around(NAMES), counted=NAMES, reference=reference, how=how
        )
        for name, value in truth.items():
            yield f"{name}, {kind}", scores[name].interval, 100 * value


def flip_ratio(rng: np.random.Generator, how: Resampling) -> Held:
    """The same of sequences."""
    ours, theirs = (_turns(rng) for _ in range(2))
    scores = sequence_scores(
        ours,
        around(TURNS, "perturbations"),
        counted=TURNS,
        reference=moving("other", theirs),
        how=how,
    )
    yield "mFR", scores["mFR"].interval, 100.0
    yield "T5D tilt", scores["T5D tilt"].interval, 100.0


def difference(rng: np.random.Generator, how: Resampling) -> Held:
    """Two models on the same images: the paired difference."""
    z = rng.normal(size=IMAGES)
    pair = []
    for kinds in ([0, 1, 2], [1, 1, 2]):  # the second has the errors of snow under fog too
        clean, cells = draw(rng, IMAGES, z)
        pair.append(mean_error(clean, cells[:, kinds], how))
    errors = true_errors(THRESHOLDS)
    yield "difference", compare_scores(*pair).interval, 100 * (errors[1] - errors[0]).mean() / 3


def strata(rng: np.random.Generator, how: Resampling, *, within: bool = True) -> Held:
    """Three images of each class, classes of different difficulty: the class mix is fixed."""
    classes = np.repeat(np.arange(IMAGES // 3), 3)
    # Half of the variance of z lies between classes, on a fixed grid of class means.
    grid = np.sqrt(0.5) * np.linspace(-1.7, 1.7, IMAGES // 3)
    z = grid[classes] + np.sqrt(0.5) * rng.normal(size=IMAGES)
    cells = draw(rng, IMAGES, z)[1].reshape(IMAGES, -1)
    inner = np.sqrt(1 + 0.5 * COUPLING**2)
    truth = norm.cdf((COUPLING * grid[:, None] - THRESHOLDS.reshape(1, -1)) / inner).mean()
    means = resample_means(cells, how._replace(strata=classes if within else None)).mean(axis=1)
    yield "mean error", percentile_interval(means), truth


def _turns(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Top classes that flip with a probability of the image's own, π_i ~ Beta(1, 4): mean 1/5."""
    flip = rng.beta(1, 4, size=IMAGES)
    jump = rng.random((IMAGES, 2, 30)) < flip[:, None, None]
    state = np.concatenate([np.zeros((IMAGES, 2, 1), bool), jump], axis=2).cumsum(axis=2) % 2
    top5 = np.stack([state, 1 - state, *(np.full(state.shape, k) for k in (2, 3, 4))], axis=-1)
    return {name: top5[:, i] for i, name in enumerate(TURNS)}


def sequences(rng: np.random.Generator, how: Resampling) -> Held:
    """The headline numbers of one model."""
    scores = sequence_scores(
        _turns(rng), around(TURNS, "perturbations"), counted=TURNS, reference=FLIPS, how=how
    )
    yield "mFR", scores["mFR"].interval, 100 * 0.2 * (1 / 0.1 + 1 / 0.2) / 2
    yield "mT5D", scores["mT5D"].interval, 100 * 0.4 * (1 / 1.0 + 1 / 2.0) / 2


def calibration(rng: np.random.Generator, how: Resampling) -> Held:
    """Overconfident by a known amount: right with probability c − 0.1 at confidence c.

    A lucky image is right in all its cells at once. The probability that is not on the top class is
    spread over many, and the label of a wrong prediction gets 0.01.
    """
    number = 1000
    luck = rng.random(number)
    confidence = rng.uniform(0.4, 1.0, size=(number, 2, 5))
    right = luck[:, None, None] < confidence - 0.1
    label = np.where(right, confidence, 0.01)
    cells = {"rank": (~right).astype(int), "log_prob": np.log(label)}
    cells |= {"square_sum": confidence**2, "confidence": confidence}
    clean = {name: part[:, 0, 0] for name, part in cells.items()}
    names = NAMES[:2]
    scores = score_columns(
        clean, cells, around(names, images=number), CALIBRATION, counted=names, how=how
    )
    c = np.linspace(0.4, 1.0, 100_001)
    nlls = -(c - 0.1) * np.log(c) - (1.1 - c) * np.log(0.01)
    briers = c**2 - 2 * ((c - 0.1) * c + (1.1 - c) * 0.01) + 1
    yield "ECE", scores["ECE"].interval, 10.0
    yield "NLL", scores["NLL"].interval, float(nlls.mean())
    yield "Brier score", scores["Brier score"].interval, float(briers.mean())


ALL = [corruptions, ratio, difference, strata, sequences, flip_ratio, calibration]


@pytest.mark.parametrize("simulation", ALL, ids=lambda s: s.__name__)
def test_coverage_in_short(simulation: Simulation) -> None:
    check(simulation, SHORT, FEWER, LOOSELY, WIDTHS)


@pytest.mark.slow
@pytest.mark.parametrize("simulation", ALL, ids=lambda s: s.__name__)
def test_coverage(simulation: Simulation) -> None:
    check(simulation, FULL, Resampling(), (0.93, 0.97))


def test_ignoring_the_clusters_would_be_noticed() -> None:
    """All 15 variants taken as images of their own: the interval is far too narrow."""

    def naive(rng: np.random.Generator, how: Resampling) -> Held:
        cells = draw(rng, IMAGES)[1].reshape(-1, 1)
        yield (
            "naive",
            percentile_interval(resample_means(cells, how)),
            true_errors(THRESHOLDS).mean(),
        )

    with pytest.raises(AssertionError, match=r"naive: 0\.[0-6]"):
        check(naive, 40, FEWER, LOOSELY, WIDTHS)


def test_ignoring_the_classes_would_be_noticed() -> None:
    """Classes of different difficulty, in fixed numbers, taken for chance: too wide."""

    def without(rng: np.random.Generator, how: Resampling) -> Held:
        yield from strata(rng, how, within=False)

    with pytest.raises(AssertionError, match=r"mean error: 0\.9[5-9]\d, 1\.[2-9]"):
        check(without, SHORT, FEWER, LOOSELY, WIDTHS)


def test_two_equal_models_differ_at_the_level_of_the_test() -> None:
    """p-values of no difference: 5 % below 5 %, within three standard errors."""
    rng = np.random.default_rng(11)
    p_values = []
    for _ in range(SHORT):
        z = rng.normal(size=IMAGES)
        pair: list[Score] = []
        for _ in range(2):
            clean, cells = draw(rng, IMAGES, z)
            pair.append(mean_error(clean, cells, FEWER))
        p_values.append(compare_scores(*pair).p_value)
    share = np.mean(np.array(p_values) < 0.05)
    assert share < 0.05 + 3 * np.sqrt(0.05 * 0.95 / SHORT)
    assert 0.4 < np.mean(p_values) < 0.6
