"""What a sample says so far, and what follows: how many more predictions are needed, and how many
cells each image should be shown under."""

import math
from typing import NamedTuple

import numpy as np


class Costs(NamedTuple):
    """Seconds."""

    image: float  # to read one
    prediction: float  # to make a cell of it, and to ask the models


class Looked(NamedTuple):
    """What the sample of one model says so far."""

    told: str  # scores with their intervals
    far: float  # how many times too wide the widest interval is; infinite: nothing is known yet
    clean_far: float  # likewise of those that rest on clean images
    known: float  # what is taken off the variance since there are no other images, as a part of it
    between: float  # variances of the score that takes longest: over images,
    within: float  # and of cells within one
    half_width: float  # that is aimed at
    sampled: bool = True  # False: all predictions are there, whoever asked for them


def growth_needed(looked: Looked) -> float:
    """How many times as many predictions bring the interval to its width.

    The variance of n images is T/n − S²/N: the square-root law, and what is known of all images.
    """
    if not math.isfinite(looked.far):
        return math.inf
    return (1 + looked.known) / (1 / looked.far**2 + looked.known)


def cells_per_image(looked: Looked, costs: Costs, images: int, cells: int) -> tuple[int, str]:
    """As many as cost the least time, and why: n images of k cells have the variance
    S²(1/n − 1/N) + s²(1 − k/C)/(n k), S² between images and s² within them."""
    k = np.arange(1, cells + 1)
    allowed = (looked.half_width / 1.96) ** 2 + looked.between / images
    needed = (looked.between + looked.within * (1 - k / cells) / k) / allowed
    cost = np.where(needed <= images, needed * (costs.image + k * costs.prediction), np.inf)
    best = int(k[np.argmin(cost)]) if np.isfinite(cost).any() else cells
    ratio = costs.image / costs.prediction
    ideal = math.sqrt(ratio * looked.within / looked.between) if looked.between else 0.0
    why = f"√(cost {1e3 * costs.image:.3g} ms per image / {1e3 * costs.prediction:.3g} ms per "
    why += f"prediction × variance {looked.within:,.0f} within / {looked.between:,.0f} between "
    why += f"images) = {ideal:.2g}"
    if best > max(1, round(ideal)):
        why += f", and {images:,} images are too few for fewer"
    return best, f"{best} cell{'s' if best > 1 else ''} per image: {why}"
