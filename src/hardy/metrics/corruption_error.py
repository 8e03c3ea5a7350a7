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

from hardy.errors import InputError
from hardy.metrics.classification import Counts, Floats, wrong


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


def corruption_error(errors: npt.ArrayLike, reference: npt.ArrayLike) -> Floats:
    """CE_c = e_c / e_c of the reference: a ratio of sums over severities, not a mean of ratios."""
    divisor = np.asarray(reference, np.float64)
    _check_divisor(divisor, "the reference's errors to be above 0")
    return np.asarray(np.asarray(errors, np.float64) / divisor)


def relative_corruption_error(
    errors: npt.ArrayLike,
    clean: npt.ArrayLike,
    reference: npt.ArrayLike,
    reference_clean: npt.ArrayLike,
) -> Floats:
    """(e_c − e_0) / (the same of the reference); `clean` has the leading axes of `errors`.

    The clean error is subtracted from the mean over severities. The paper's formula can be read as
    subtracting it once from the sum of five, but only this reading gives its tables.
    """
    divisor = np.asarray(reference, np.float64) - np.asarray(reference_clean, np.float64)
    _check_divisor(divisor, "every corruption to cost the reference some accuracy")
    rise = np.asarray(errors, np.float64) - np.asarray(clean, np.float64)[..., None]
    return np.asarray(rise / divisor)


def aude(clean: npt.ArrayLike, errors: npt.ArrayLike) -> Floats:
    """Area under the distortion-error curve (e_0, e_1, ..., e_S), severities along the last axis.

    The trapezoid rule over severities 0..S, divided by S. (..., corruptions, S) and (...) ->
    (..., corruptions). It is the metric of the older ImageNet-D paper, which prints no formula.
    """
    curve = np.asarray(errors, np.float64)
    start = np.broadcast_to(np.asarray(clean, np.float64)[..., None], curve.shape[:-1])
    total = curve.sum(axis=-1) + (start - curve[..., -1]) / 2
    return np.asarray(total / curve.shape[-1])


def _check_divisor(divisor: Floats, expected: str) -> None:
    """NaN is nothing to divide by, and gives NaN."""
    if (divisor <= 0).any():
        raise InputError(
            f"expected {expected}, got {divisor.min():g}; name another reference, or none for "
            "plain errors"
        )
