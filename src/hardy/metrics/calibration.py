"""Calibration: what the probabilities of a prediction are worth, one number per image and cell."""

import math

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.classification import Floats, wrong
from hardy.metrics.metric import Metric, metric

# Guo et al. 2017: bins of equal width, closed on the right.
ECE_BINS = 15
ROUNDING = 1e-9  # of a sum over a bin


@metric("NLL", title="Negative log-likelihood", group="calibration")
def nll(log_prob: npt.ArrayLike) -> Floats:
    """The negative log-likelihood of the label, in nats."""
    values = -np.asarray(log_prob, np.float64)
    if not np.isfinite(values).all():
        raise InputError(
            "expected finite log-probabilities of the label, got an infinite one or a NaN; take "
            "them from the logits by log-softmax, not from rounded probabilities"
        )
    return np.maximum(values, 0.0)  # a rounded log-softmax can exceed 0 by an ulp


@metric("Brier score", most=2.0, group="calibration")
def brier(log_prob: npt.ArrayLike, square_sum: npt.ArrayLike) -> Floats:
    """The squared distance of the probabilities to the truth, from 0 to 2.

    Σ_k (p_k − [k = label])² = Σ_k p_k² − 2 p_label + 1.
    """
    label = np.exp(-nll(log_prob))
    return np.asarray(np.asarray(square_sum, np.float64) - 2.0 * label + 1.0)


def calibration_gap(
    confidence: npt.ArrayLike,
    correct: npt.ArrayLike,
    bins: int = ECE_BINS,
    *,
    crossed: bool = False,
) -> Floats:
    """Per image a term whose mean over axis 0 is the expected calibration error (ECE).

    ECE = Σ_b |Σ_{i in b} (correct_i − confidence_i)| / n, bin b = ((b−1)/bins, b/bins].
    The term of image i is (correct_i − confidence_i) times the sign of its bin's sum. Resampling
    these terms holds the signs where they were observed (the delta method); resampling the
    absolute values instead would add noise to every bin and push the interval upwards. The
    estimate itself is still biased upwards where bins hold few images, since each image has a part
    in the sign that it is multiplied by. `crossed` takes the sign from the other half of the images
    in the bin, every second one, 0 of none: that mean is biased downwards, and varies as much as
    its terms say.
    """
    sure = np.asarray(confidence, np.float64)
    if sure.size and not (sure.min() > 0 and sure.max() <= 1 + 1e-6):
        raise InputError(
            f"expected the top probability, above 0 and up to 1, got values from {sure.min()} to "
            f"{sure.max()}; apply a softmax to the logits"
        )
    gap = np.asarray(correct, np.float64) - sure
    # Stored confidences are rounded to float32: what exceeds an edge by that much is on the edge.
    index = np.clip(np.ceil(sure * bins - 1e-6).astype(np.int64) - 1, 0, bins - 1)
    columns = math.prod(sure.shape[1:])
    flat = index.reshape(len(sure), columns) + bins * np.arange(columns)
    if crossed:
        other = np.empty(flat.shape)
        for half in (0, 1):
            sums = _sums(flat[1 - half :: 2], gap[1 - half :: 2], bins * columns)
            other[half::2] = sums[flat[half::2]]
        judged = other.reshape(gap.shape)
        return np.asarray(gap * np.sign(np.where(np.abs(judged) < ROUNDING, 0.0, judged)))
    total = _sums(flat, gap, bins * columns)[flat].reshape(gap.shape)
    return np.asarray(gap * np.where(total < 0, -1.0, 1.0))


def _sums(index: npt.NDArray[np.int64], values: Floats, number: int) -> Floats:
    sums = np.bincount(index.ravel(), values.reshape(-1), minlength=number)
    return np.asarray(sums, np.float64)


def _crossed_ece(confidence: npt.ArrayLike, rank: npt.ArrayLike) -> Floats:
    """The ECE with each image judged by the other half of its bin."""
    return calibration_gap(confidence, ~wrong(rank), crossed=True)


@metric(
    "ECE",
    title="Expected calibration error",
    unit="%",
    group="calibration",
    report="beside",
    beneath=Metric("crossed ECE", _crossed_ece, unit="%"),
)
def ece(confidence: npt.ArrayLike, rank: npt.ArrayLike) -> Floats:
    """How far the confidence is from the share of right answers, in 15 bins of confidence.

    The ECE of several corruptions is the mean of their cells': pooled, over- and underconfident
    cells would cancel.
    """
    return calibration_gap(confidence, ~wrong(rank))
