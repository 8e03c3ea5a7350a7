"""ImageNet-P's metrics: how much predictions move along a sequence of frames."""

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.metrics.classification import Floats, ratio
from hardy.metrics.frame_distance import pairs, ranks_after, top5_distance
from hardy.metrics.metric import PERTURBATIONS, metric


@metric(
    "FP",
    kind=PERTURBATIONS,
    mean="flip probability",
    validation="validation flip probability",
    title="Flip probability",
    heading="Flips",
    unit="%",
    decides=True,
)
def flips(top1: npt.ArrayLike, *, noise: bool, difficulty: int = 1) -> Floats:
    """The share of compared frames whose best class is another one.

    top1: (..., frames) -> one number per sequence.
    """
    classes = np.asarray(top1)
    earlier, later = pairs(classes.shape[-1], noise=noise, difficulty=difficulty)
    return np.asarray((classes[..., earlier] != classes[..., later]).mean(axis=-1))


@metric(
    "uT5D",
    kind=PERTURBATIONS,
    mean="top-5 distance",
    validation="validation top-5 distance",
    title="Top-5 distance, unnormalised",
    heading="Change of the five best classes",
    most=15.0,  # all five are gone: 5 + 4 + 3 + 2 + 1
    group="stability",
    report="beside",
)
def top5_distances(top5: npt.ArrayLike, *, noise: bool, difficulty: int = 1) -> Floats:
    """How far the five best classes move between compared frames.

    top5: (..., frames, 5) -> the mean of `top5_distance` over the pairs of each sequence.
    """
    classes = np.asarray(top5)
    earlier, later = pairs(classes.shape[-2], noise=noise, difficulty=difficulty)
    total = np.zeros(classes.shape[:-2])
    # One pair at a time: all of them at once would take 25 bytes per pair and sequence.
    for first, second in zip(earlier, later, strict=True):
        total += top5_distance(ranks_after(classes[..., first, :], classes[..., second, :]))
    return np.asarray(total / len(later))


@metric(
    "Zipf",
    kind=PERTURBATIONS,
    mean="Zipf distance",
    validation="validation Zipf distance",
    title="Zipf distance",
    most=math.pi**2 / 3,  # Σ w |w − w'| ≤ Σ w² + Σ w w', neither above Σ 1/k²
    group="stability",
    report="beside",
)
def zipf_distances(zipf: npt.NDArray[Any], *, noise: bool, difficulty: int = 1) -> Floats:
    """How far the ranks of all classes move between compared frames, the best weighted most.

    zipf: what `zipf_columns` gives -> the mean over the pairs of each sequence.
    """
    _, later = pairs(zipf.shape[-2], noise=noise, difficulty=difficulty)
    kept = np.asarray(zipf[..., later, 0 if noise else difficulty], np.float64)
    return np.asarray(kept.mean(axis=-1))


@metric(
    "FR",
    kind=PERTURBATIONS,
    of=flips,
    mean="mFR",
    validation="validation mFR",
    title="Flip rate (FR)",
    heading="Flips",
    decides=True,
    undivided="{reference} flips too rarely under {names} to divide by",
)
def flip_rate(means: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """The flip probability in percent of the reference model's."""
    return ratio(means, reference)


@metric(
    "T5D",
    kind=PERTURBATIONS,
    of=top5_distances,
    mean="mT5D",
    validation="validation mT5D",
    title="Top-5 distance (T5D)",
    heading="Change of the five best classes",
    undivided="",  # a model that never moves never flips, and that is said
)
def top5_rate(means: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """The top-5 distance in percent of the reference model's."""
    return ratio(means, reference)
