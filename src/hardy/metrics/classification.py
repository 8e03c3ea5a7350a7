"""Errors under corruptions: ImageNet-C's formulas.

A function of stored columns takes arrays of any shape and gives one number per image and cell.
Every score is a formula over the means of such numbers, so the bootstrap needs to resample nothing
but means. In formulas e_c is the error under corruption c averaged over the severities (the clean
images are not among them) and e_0 the clean error; a reference model has both too. Errors are
fractions, and leading axes are free.
"""

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.metric import metric

Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


def wrong(rank: npt.ArrayLike, k: int = 1) -> Bools:
    """Whether the label is outside the k best classes."""
    ranks = np.asarray(rank)
    if not np.issubdtype(ranks.dtype, np.integer) or (ranks.size and ranks.min() < 0):
        raise InputError(
            f"expected ranks of the label as whole numbers from 0 (best), got {ranks.dtype} with "
            f"minimum {ranks.min() if ranks.size else 'none'}"
        )
    return np.asarray(ranks >= k, bool)


@metric(
    "error", mean="mean error", validation="validation error", title="Error", unit="%", decides=True
)
def error(rank: npt.ArrayLike) -> Bools:
    """The share of images whose best class is not the label."""
    return wrong(rank)


@metric(
    "AUDE",
    of=error,
    mean="mAUDE",
    title="Area under the distortion-error curve",
    unit="%",
    group="errors",
    report="beside",
)
def aude(clean: npt.ArrayLike, curve: npt.ArrayLike) -> Floats:
    """The area under the curve of the error over the severities 0 (clean) to 5.

    The trapezoid rule over (e_0, e_1, ..., e_S), divided by S. It is the metric of the older
    ImageNet-D paper, which prints no formula.
    """
    errors = np.asarray(curve, np.float64)
    start = np.broadcast_to(np.asarray(clean, np.float64)[..., None], errors.shape[:-1])
    total = errors.sum(axis=-1) + (start - errors[..., -1]) / 2
    return np.asarray(total / errors.shape[-1])


def ratio(values: npt.ArrayLike, divisor: npt.ArrayLike) -> Floats:
    """NaN where the divisor is not above 0: there is nothing to divide by."""
    below = np.asarray(divisor, np.float64)
    return np.asarray(np.asarray(values, np.float64) / np.where(below > 0, below, np.nan))


@metric(
    "CE",
    of=error,
    mean="mCE",
    validation="validation mCE",
    title="Corruption error (CE)",
    heading="Error",
    decides=True,
    undivided="{reference} makes too few errors under {names} to divide by",
)
def corruption_error(means: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """The error under a corruption in percent of the reference model's.

    CE_c = e_c / e_c of the reference: a ratio of sums over severities, not a mean of ratios.
    """
    return ratio(means, reference)


@metric(
    "relative CE",
    of=error,
    mean="relative mCE",
    title="Relative corruption error",
    heading="Rise of the error",
    signed=True,  # a corruption may lower the error
    undivided="{names} costs {reference} too little to divide by",
)
def relative_corruption_error(
    means: npt.ArrayLike,
    clean: npt.ArrayLike,
    reference: npt.ArrayLike,
    reference_clean: npt.ArrayLike,
) -> Floats:
    """The rise of the error above the clean one in percent of the reference model's.

    (e_c − e_0) / (the same of the reference). The clean error is subtracted from the mean over
    severities. The paper's formula can be read as subtracting it once from the sum of five, but
    only this reading gives its tables.
    """
    rise, divisor = (
        np.asarray(errors, np.float64) - np.asarray(start, np.float64)[..., None]
        for errors, start in ((means, clean), (reference, reference_clean))
    )
    return ratio(rise, divisor)


@metric(
    "top-5 error", mean="mean top-5 error", single=False, unit="%", group="errors", report="files"
)
def top5_error(rank: npt.ArrayLike) -> Bools:
    """The share of images whose label is not among the five best classes."""
    return wrong(rank, 5)
