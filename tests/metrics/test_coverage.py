"""Do 95 % intervals hold the truth 95 % of the time? Simulated models whose truth is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from scipy.stats import norm

from hardy.metrics import (
    Circumstances,
    Outcomes,
    Resampling,
    Score,
    calibration_scores,
    compare,
    corruption_error,
    corruption_scores,
    percentile_interval,
    resample_means,
    sequence_scores,
)
from hardy.metrics.corruption import MeasuredReference
from hardy.suites import FlipReference
from tests.metrics.simulate import CLEAN, COUPLING, THRESHOLDS, draw, true_errors

NAMES = ("fog", "snow", "frost")
REFERENCE = MeasuredReference("AlexNet", 0.4, {"fog": 0.8, "snow": 0.7, "frost": 0.9})
FLIPS = FlipReference("AlexNet", "", {"tilt": 0.1, "scale": 0.2}, {"tilt": 1.0, "scale": 2.0})
IMAGES = 300

# A share of 95 % has a standard error of 0.7 points over 1,000 simulations, of 2.2 over 100.
FULL, SHORT = 1000, 100
FEWER = Resampling(replicates=400)

Held = Iterator[tuple[str, tuple[float, float], float]]  # name, interval, truth
Simulation = Callable[[np.random.Generator, Resampling], Held]


def around(
    names: tuple[str, ...], kind: str = "corruptions", images: int = IMAGES
) -> Circumstances:
    levels = (1, 2, 3, 4, 5) if kind == "corruptions" else (1,)
    return Circumstances("s", 1, "h", kind, names, levels, None, images, "i", "r", "simulated")


def check(simulation: Simulation, times: int, how: Resampling, low: float, high: float) -> None:
    rng = np.random.default_rng(7)
    hits: dict[str, list[bool]] = {}
    for seed in range(times):  # so that it is the method that is judged, not one draw
        for name, interval, truth in simulation(rng, how._replace(seed=seed)):
            hits.setdefault(name, []).append(interval[0] <= truth <= interval[1])
    shares = {name: float(np.mean(held)) for name, held in hits.items()}
    print(shares)
    assert all(low <= share <= high for share in shares.values()), shares


def mean_error(clean: np.ndarray, cells: np.ndarray, how: Resampling) -> Score:
    return corruption_scores(clean, cells, around(NAMES), counted=NAMES, how=how)["mean error"]


def corruptions(rng: np.random.Generator, how: Resampling) -> Held:
    """The headline numbers of one model."""
    clean, cells = draw(rng, IMAGES)
    scores = corruption_scores(
        clean, cells, around(NAMES), counted=NAMES, reference=REFERENCE, how=how
    )
    errors, clean_error = true_errors(THRESHOLDS), float(true_errors(CLEAN))
    yardstick = np.array(list(REFERENCE.errors.values()))
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
    """A ratio to another model's errors on the same images, both resampled together."""
    z = rng.normal(size=IMAGES)
    cells, other = draw(rng, IMAGES, z)[1], draw(rng, IMAGES, z)[1]
    means = resample_means(np.concatenate([cells[:, 1], other[:, 0]], axis=1), how)
    ces = corruption_error(means[:, :5].mean(axis=1), means[:, 5:].mean(axis=1))
    errors = true_errors(THRESHOLDS)
    yield "CE", percentile_interval(ces), errors[1].mean() / errors[0].mean()


def difference(rng: np.random.Generator, how: Resampling) -> Held:
    """Two models on the same images: the paired difference."""
    z = rng.normal(size=IMAGES)
    pair = []
    for kinds in ([0, 1, 2], [1, 1, 2]):  # the second has the errors of snow under fog too
        clean, cells = draw(rng, IMAGES, z)
        pair.append(mean_error(clean, cells[:, kinds], how))
    errors = true_errors(THRESHOLDS)
    yield "difference", compare(*pair).interval, 100 * (errors[1] - errors[0]).mean() / 3


def strata(rng: np.random.Generator, how: Resampling) -> Held:
    """Three images of each class, classes of different difficulty: the class mix is fixed."""
    classes = np.repeat(np.arange(IMAGES // 3), 3)
    # Half of the variance of z lies between classes, on a fixed grid of class means.
    grid = np.sqrt(0.5) * np.linspace(-1.7, 1.7, IMAGES // 3)
    z = grid[classes] + np.sqrt(0.5) * rng.normal(size=IMAGES)
    cells = draw(rng, IMAGES, z)[1].reshape(IMAGES, -1)
    inner = np.sqrt(1 + 0.5 * COUPLING**2)
    truth = norm.cdf((COUPLING * grid[:, None] - THRESHOLDS.reshape(1, -1)) / inner).mean()
    means = resample_means(cells, how._replace(strata=classes)).mean(axis=1)
    yield "mean error", percentile_interval(means), truth


def sequences(rng: np.random.Generator, how: Resampling) -> Held:
    """Top classes that flip with a probability of the image's own, π_i ~ Beta(1, 4): mean 1/5."""
    flip = rng.beta(1, 4, size=IMAGES)
    jump = rng.random((IMAGES, 2, 30)) < flip[:, None, None]
    state = np.concatenate([np.zeros((IMAGES, 2, 1), bool), jump], axis=2).cumsum(axis=2) % 2
    top5 = np.stack([state, 1 - state, *(np.full(state.shape, k) for k in (2, 3, 4))], axis=-1)
    names = ("tilt", "scale")

    arrays = {name: top5[:, i] for i, name in enumerate(names)}
    scores = sequence_scores(
        arrays, around(names, "perturbations"), counted=names, reference=FLIPS, how=how
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
    cells = Outcomes((~right).astype(int), np.log(label), confidence**2, confidence)
    clean = Outcomes(*(part[:, 0, 0] for part in cells))
    names = NAMES[:2]
    scores = calibration_scores(clean, cells, around(names, images=number), counted=names, how=how)
    c = np.linspace(0.4, 1.0, 100_001)
    nlls = -(c - 0.1) * np.log(c) - (1.1 - c) * np.log(0.01)
    briers = c**2 - 2 * ((c - 0.1) * c + (1.1 - c) * 0.01) + 1
    yield "ECE", scores["ECE"].interval, 10.0
    yield "NLL", scores["NLL"].interval, float(nlls.mean())
    yield "Brier score", scores["Brier score"].interval, float(briers.mean())


ALL = [corruptions, ratio, difference, strata, sequences, calibration]


@pytest.mark.parametrize("simulation", ALL, ids=lambda s: s.__name__)
def test_coverage_in_short(simulation: Simulation) -> None:
    check(simulation, SHORT, FEWER, 0.88, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("simulation", ALL, ids=lambda s: s.__name__)
def test_coverage(simulation: Simulation) -> None:
    check(simulation, FULL, Resampling(), 0.93, 0.97)


def test_ignoring_the_clusters_would_be_noticed() -> None:
    """All 15 variants taken as images of their own: the interval is far too narrow."""

    def naive(rng: np.random.Generator, how: Resampling) -> Held:
        cells = draw(rng, IMAGES)[1].reshape(-1, 1)
        yield (
            "naive",
            percentile_interval(resample_means(cells, how)),
            true_errors(THRESHOLDS).mean(),
        )

    with pytest.raises(AssertionError, match=r"naive': 0\.[0-6]"):
        check(naive, 40, FEWER, 0.88, 1.0)


def test_two_equal_models_differ_at_the_level_of_the_test() -> None:
    """p-values of no difference: 5 % below 5 %, within three standard errors of 100 tries."""
    rng = np.random.default_rng(11)
    p_values = []
    for _ in range(SHORT):
        z = rng.normal(size=IMAGES)
        pair: list[Score] = []
        for _ in range(2):
            clean, cells = draw(rng, IMAGES, z)
            pair.append(mean_error(clean, cells, FEWER))
        p_values.append(compare(*pair).p_value)
    share = np.mean(np.array(p_values) < 0.05)
    assert share < 0.05 + 3 * np.sqrt(0.05 * 0.95 / SHORT)
    assert 0.4 < np.mean(p_values) < 0.6
