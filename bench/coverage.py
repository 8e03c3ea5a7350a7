"""How often 95 % intervals hold the truth: `python -m bench.coverage` simulates models whose true
scores are known, and writes the table of docs/metrics.md.

An image has a difficulty, which all its variants share. A prediction is wrong where difficulty,
something of the image under this corruption, and chance exceed the threshold of the cell together.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import binom, norm

from bench.cpu import RESULTS
from bench.table import grid
from hardy.files import write_file
from hardy.metrics import METRICS, Interval, Resampling, percentile_interval, proportion_interval
from hardy.metrics.statistics import NORMAL_QUANTILE
from hardy.scores.columns import Measured, ReferenceNumbers
from hardy.scores.formulas import make_scores
from hardy.scores.paired_scores import compare_scores
from hardy.scores.score import Circumstances, Score

IMAGES = (20, 30, 50, 100, 500)
LEAST = 0.93  # that every score should reach
NAMES = ("noise", "blur", "snow", "fog", "contrast", "jpeg")
LEVELS = (1, 2, 3, 4, 5)
# True errors: clean, and per corruption (rows) and severity, from 5 to 70 %; the second model's.
CLEAN = (0.15, 0.05)
ERRORS = np.outer((0.2, 0.3, 0.45, 0.25, 0.4, 0.15), (0.35, 0.6, 0.9, 1.2, 1.55)).clip(0.05, 0.7)
SECOND = (0.75 * ERRORS).clip(0.05, 0.7)
# Standard deviations of what an image, and an image under a corruption, add to chance, which has 1.
SHARED, OWN = 1.5, 0.7
REFERENCE = (0.43, dict(zip(NAMES, (0.85, 0.8, 0.87, 0.82, 0.79, 0.61), strict=True)))
PERTURBED = ("tilt", "scale", "snow", "shot_noise")
FLIPS = {"tilt": 0.08, "scale": 0.25, "snow": 0.12, "shot_noise": 0.2}
DISTANCES = {"tilt": 1.1, "scale": 3.0, "snow": 1.6, "shot_noise": 2.4}
SINGLE = ("CE", "ECE", "FR")  # the metrics whose single scores are looked at too: the rest is like
RATES = (0.02, 0.05, 0.2)  # of clean errors by themselves


class Outcome(NamedTuple):
    """One interval of a simulated score."""

    name: str
    interval: Interval
    truth: float
    percentiles: Interval  # of the replicates: what the interval was before


def simulate(rng: np.random.Generator, images: int, how: Resampling) -> Iterator[Outcome]:
    """One drawing of all images, and all scores of them."""
    z = rng.normal(size=images)
    yield from _errors(rng, z, how)
    yield from _calibration(rng, z, how, honest=1.0)
    yield from _calibration(rng, z, how, honest=0.8)
    yield from _sequences(rng, z, how)


def _errors(rng: np.random.Generator, z: np.ndarray, how: Resampling) -> Iterator[Outcome]:
    pair = [_wrong(rng, z, *truth) for truth in zip(CLEAN, (ERRORS, SECOND), strict=True)]
    metrics = ("error", "CE", "relative CE", "AUDE")
    published = ReferenceNumbers("AlexNet", {"error": REFERENCE})
    one, two = (_scores({"error": some}, metrics, NAMES, published, how) for some in pair)
    e, divisor = ERRORS.mean(axis=1), np.array(list(REFERENCE[1].values()))
    rise, theirs = e - CLEAN[0], divisor - REFERENCE[0]
    curve = np.column_stack([np.full(len(NAMES), CLEAN[0]), ERRORS])
    truth = {
        "mean error": e.mean(),
        "mCE": (e / divisor).mean(),
        "relative mCE": (rise / theirs).mean(),
        "mAUDE": ((curve[:, 1:] + curve[:, :-1]) / 2).mean(),
    }
    truth |= {f"CE {name}": e[i] / divisor[i] for i, name in enumerate(NAMES)}
    yield from _held(one, truth)
    other = SECOND.mean(axis=1)
    apart = {"mean error": (other - e).mean(), "mCE": ((other - e) / divisor).mean()}
    apart |= {"clean error": CLEAN[1] - CLEAN[0], "CE jpeg": (other - e)[-1] / divisor[-1]}
    apart["relative mCE"] = ((other - CLEAN[1]) / theirs - rise / theirs).mean()
    for name, value in apart.items():
        change = two[name].replicates - one[name].replicates
        found = compare_scores(one[name], two[name]).interval
        yield Outcome(f"B − A, {name}", found, 100 * value, percentile_interval(change))
    measured = ReferenceNumbers("B", measured={"error": pair[1]})
    ratios = _scores({"error": pair[0]}, ("error", "CE"), NAMES, measured, how)
    yield from _held(ratios, {"mCE": (e / other).mean(), "CE jpeg": e[-1] / other[-1]}, " to B")


def _wrong(rng: np.random.Generator, z: np.ndarray, clean: float, errors: np.ndarray) -> Measured:
    images = len(z)
    own = OWN * rng.normal(size=(images, *errors.shape[:1], 1))
    chance = rng.normal(size=(images, *errors.shape))
    spread = math.sqrt(1 + SHARED**2 + OWN**2)
    wrong = SHARED * z[:, None, None] + own + chance > -norm.ppf(errors) * spread
    alone = SHARED * z + rng.normal(size=images) > -norm.ppf(clean) * math.hypot(1, SHARED)
    return Measured(alone, wrong)


def _calibration(
    rng: np.random.Generator, z: np.ndarray, how: Resampling, *, honest: float
) -> Iterator[Outcome]:
    """Predictions of confidence c are right with probability `honest` · c; the label of a wrong one
    has a tenth of what is left."""
    names, shape = NAMES[:2], (len(z), 2, len(LEVELS))
    sure = rng.beta(4, 2, size=shape)
    luck = norm.cdf((SHARED * z[:, None, None] + rng.normal(size=shape)) / math.hypot(1, SHARED))
    right = luck < honest * sure
    label = np.where(right, sure, (1 - sure) / 10)
    columns = {"rank": (~right).astype(int), "confidence": sure, "log_prob": np.log(label)}
    columns["square_sum"] = sure**2 + (1 - sure) ** 2 / 10
    metrics = [METRICS[name] for name in ("NLL", "Brier score", "ECE")]
    every = [one for base in metrics for one in (base, base.beneath) if one is not None]
    numbers = {
        one.name: Measured(None, one(*(columns[name] for name in one.needs))) for one in every
    }
    scores = _scores(numbers, [one.name for one in metrics], names, None, how)
    grid = norm.cdf(np.linspace(-8, 8, 20_001))  # of a Beta(4, 2) variable, by its own density
    c = (grid[1:] + grid[:-1]) / 2
    weight = c**3 * (1 - c) * np.diff(grid)
    weight /= weight.sum()
    p, missed = honest * c, (1 - c) / 10
    nll = -(p * np.log(c) + (1 - p) * np.log(missed))
    brier = c**2 + (1 - c) ** 2 / 10 + 1 - 2 * (p * c + (1 - p) * missed)
    truth = {"ECE": (1 - honest) * (weight * c).sum()}
    truth["ECE noise"] = truth["ECE"]
    kind = ", calibrated" if honest == 1 else ", overconfident"
    yield from _held(scores, truth, kind)
    if honest < 1:
        plain = {"NLL": (weight * nll).sum() / 100, "Brier score": (weight * brier).sum() / 100}
        yield from _held(scores, plain)


def _sequences(rng: np.random.Generator, z: np.ndarray, how: Resampling) -> Iterator[Outcome]:
    """Flips along 30 frames and distances of the five best classes: both skewed over images, as an
    unstable image is unstable under all perturbations."""
    images, flips, moves = len(z), [], []
    shared = norm.cdf(z)
    for name in PERTURBED:
        # The square of the mean of two uniform variables, which has the mean 7/24, divided by it.
        unstable = (shared + rng.random(images)) ** 2 * 6 / 7
        flips.append(rng.binomial(30, FLIPS[name] * unstable) / 30)
        moves.append(DISTANCES[name] * unstable)
    numbers = {
        "FP": Measured(None, np.stack(flips, axis=1)[..., None]),
        "uT5D": Measured(None, np.stack(moves, axis=1)[..., None]),
    }
    nan = math.nan
    reference = ReferenceNumbers(
        "AlexNet",
        {"FP": (nan, dict.fromkeys(PERTURBED, 0.2)), "uT5D": (nan, dict.fromkeys(PERTURBED, 2.0))},
    )
    scores = _scores(numbers, ("FP", "uT5D", "FR", "T5D"), PERTURBED, reference, how)
    flip, move = (np.array(list(some.values())) for some in (FLIPS, DISTANCES))
    yield from _held(scores, {"mFR": flip.mean() / 0.2, "mT5D": move.mean() / 2, "FR tilt": 0.4})
    yield from _held(scores, {"flip probability": flip.mean(), "top-5 distance": move.mean() / 100})


def _scores(
    numbers: dict[str, Measured],
    metrics: Any,
    names: tuple[str, ...],
    reference: ReferenceNumbers | None,
    how: Resampling,
) -> dict[str, Score]:
    cells = next(iter(numbers.values())).cells
    kind, levels = ("perturbations", (1,)) if "FP" in numbers else ("corruptions", LEVELS)
    images = len(cells)
    around = Circumstances("s", 1, "h", kind, names, levels, None, images, "i", "r", "simulated")
    some = [replace(METRICS[name], single=name in SINGLE) for name in metrics]
    return make_scores(numbers, around, some, counted=names, reference=reference, how=how)[0]


def _held(scores: dict[str, Score], truth: dict[str, float], kind: str = "") -> Iterator[Outcome]:
    """A ratio that is left out, for want of something to divide by, has no interval."""
    for name, score in ((name, scores[name]) for name in truth if name in scores):
        before = percentile_interval(score.replicates)
        yield Outcome(name + kind, score.interval, 100 * truth[name], before)


class Held(NamedTuple):
    """How often the truth was held, and how wide the intervals were."""

    now: float
    before: float
    wider: float  # the median of the ratio of widths


def coverage(images: int, times: int, how: Resampling, seed: int = 0) -> dict[str, Held]:
    """Over many simulations, each with random numbers and a drawing of its own."""
    rows: dict[str, list[tuple[bool, bool, float]]] = {}
    with ProcessPoolExecutor() as pool:
        drawn = [(images, how._replace(seed=number), seed) for number in range(times)]
        for outcomes in pool.map(_once, drawn, chunksize=10):
            for name, *row in outcomes:
                rows.setdefault(name, []).append(tuple(row))
    return {name: _summed(some) for name, some in rows.items()}


def _once(drawn: tuple[int, Resampling, int]) -> list[tuple[str, bool, bool, float]]:
    images, how, seed = drawn
    rng = np.random.default_rng([seed, images, how.seed])
    found = []
    for name, interval, truth, percentiles in simulate(rng, images, how):
        now, before = (low <= truth <= high for low, high in (interval, percentiles))
        width, old = (high - low for low, high in (interval, percentiles))
        found.append((name, now, before, width / old if old else math.nan))
    return found


def _summed(rows: list[tuple[bool, bool, float]]) -> Held:
    now, before, wider = np.array(rows, float).T
    return Held(float(now.mean()), float(before.mean()), float(np.nanmedian(wider)))


def proportions(rate: float, images: int) -> Held:
    """The same of one share of images, by the binomial law; before, its interval was Wilson's."""
    hits = np.arange(images + 1)
    chance = binom.pmf(hits, images, rate)
    held = []
    for interval in (proportion_interval, _wilson):
        low, high = np.array([interval(int(hit), images) for hit in hits]).T
        held.append((chance[(low <= rate) & (rate <= high)].sum(), (chance * (high - low)).sum()))
    (now, width), (before, old) = held
    return Held(float(now), float(before), float(width / old))


def _wilson(hits: int, number: int) -> Interval:
    share, square = hits / number, NORMAL_QUANTILE**2
    spread = NORMAL_QUANTILE * math.sqrt(share * (1 - share) / number + square / (4 * number**2))
    middle, scale = share + square / (2 * number), 1 + square / number
    return Interval((middle - spread) / scale, (middle + spread) / scale)


def page(found: dict[int, dict[str, Held]], told: str) -> str:
    """The table, with what intervals were before in brackets."""
    head = ["score", *(f"n = {images}" for images in found), "width at 20", "at 500"]
    first, last = (found[images] for images in (min(found), max(found)))
    rows = [
        [
            name,
            *(_figures(one[name]) for one in found.values()),
            f"{first[name].wider:.2f}",
            f"{last[name].wider:.2f}",
        ]
        for name in first
    ]
    return f"{told}\n\n{grid(head, rows)}\n"


def _figures(one: Held) -> str:
    return f"{100 * one.now:.1f} ({100 * one.before:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--images", type=int, nargs="+", default=IMAGES)
    asked = parser.parse_args()
    found = {}
    for images in asked.images:
        shares = {f"clean error, {100 * rate:g} %": proportions(rate, images) for rate in RATES}
        found[images] = shares | coverage(images, asked.times, Resampling(), asked.seed)
        low = [f"{name} {one.now:.3f}" for name, one in found[images].items() if one.now < LEAST]
        print(f"{images} images: below {LEAST:.0%}: {', '.join(low) or 'none'}", flush=True)
    told = (
        f"Percent of 95 % intervals that hold the truth, {asked.times:,} simulations, seed "
        f"{asked.seed}; in brackets as intervals were before, and how much wider they are now."
    )
    write_file(RESULTS / "coverage.md", page(found, told).encode())
    print(page(found, told))


if __name__ == "__main__":
    main()
