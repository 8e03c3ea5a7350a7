"""ImageNet-C's formulas: errors as fractions in, ratios out. Leading axes are free throughout.

Symbols: e_c is the error under corruption c averaged over the severities (the clean images are not
among them), e_0 the clean error; a reference model has both too.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hardy.metrics.classification import Counts, Floats, error, wrong
from hardy.metrics.metric import metric


class Reference(Protocol):
    """The model that errors are divided by. A suite's own reference is one."""

    @property
    def name(self) -> str: ...
    @property
    def clean_error(self) -> float: ...
    @property
    def errors(self) -> Mapping[str, float]: ...


@dataclass(frozen=True)
class MeasuredReference:
    """A reference made from a stored run. Its errors are as uncertain as the model's, and move with
    them: with `per_image` both are resampled together. Without it they are exact."""

    name: str
    clean_error: float
    errors: dict[str, float]
    # Images × (clean, then each corruption): the errors, summed over severities.
    per_image: Counts | None = field(default=None, repr=False, compare=False)


def measure_reference(
    name: str, clean_rank: npt.ArrayLike | None, rank: npt.ArrayLike, corruptions: Sequence[str]
) -> MeasuredReference:
    """From ranks of the label: (images,) and (images, corruptions, severities).

    Without clean ranks the clean error is NaN, and no corruption counts as costing more than it.
    """
    cells = wrong(rank)
    clean = np.zeros(len(cells), np.bool_) if clean_rank is None else wrong(clean_rank)
    per_image = np.column_stack([clean, cells.sum(axis=-1, dtype=np.uint8)])
    means = per_image.mean(axis=0, dtype=np.float64)
    return MeasuredReference(
        name,
        math.nan if clean_rank is None else float(means[0]),
        dict(zip(corruptions, (means[1:] / cells.shape[-1]).tolist(), strict=True)),
        per_image,
    )


def mean_error(errors: npt.ArrayLike) -> Floats:
    """(..., corruptions, severities) -> e_c: (..., corruptions)."""
    return np.asarray(np.asarray(errors, np.float64).mean(axis=-1))


def ratio(values: npt.ArrayLike, divisor: npt.ArrayLike) -> Floats:
    """NaN where the divisor is not above 0: there is nothing to divide by."""
    below = np.asarray(divisor, np.float64)
    return np.asarray(np.asarray(values, np.float64) / np.where(below > 0, below, np.nan))


@metric(
    "CE",
    of=error,
    mean="mCE",
    validation="validation mCE",
    title="Corruption error",
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
    "AUDE",
    of=error,
    mean="mAUDE",
    title="Area under the distortion-error curve",
    unit="%",
    group="errors",
)
def aude(clean: npt.ArrayLike, curve: npt.ArrayLike) -> Floats:
    """The area under the curve of the error over the severities 0 (clean) to 5.

    By the trapezoid rule over (e_0, e_1, ..., e_S), divided by S. It is the metric of the older
    ImageNet-D paper, which prints no formula.
    """
    errors = np.asarray(curve, np.float64)
    start = np.broadcast_to(np.asarray(clean, np.float64)[..., None], errors.shape[:-1])
    total = errors.sum(axis=-1) + (start - errors[..., -1]) / 2
    return np.asarray(total / errors.shape[-1])
