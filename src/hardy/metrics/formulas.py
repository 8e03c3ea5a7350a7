"""From columns of per-image numbers to scores: one resampling serves all formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.bootstrap import Interval, Resampling, resample_means
from hardy.metrics.classification import Floats
from hardy.metrics.score import Circumstances, Score, score_of

Split = Callable[[Floats], tuple[Floats, Floats]]


class Formula(NamedTuple):
    """A score as a function of the column means, (..., columns) -> (...)."""

    name: str
    compute: Callable[[Floats], Floats]
    names: tuple[str, ...]  # what it averages over
    unit: str = ""
    scale: float = 100.0  # fractions and ratios are printed as percents
    reference: bool = False
    clean: bool = False  # whether it needs the clean images
    interval: Interval | None = None  # where a better one than the bootstrap's is known


def build_scores(
    columns: npt.NDArray[Any],
    formulas: Iterable[Formula],
    circumstances: Circumstances,
    how: Resampling,
) -> dict[str, Score]:
    """Scores by name. `circumstances.names`, `levels` and `reference` are narrowed per score."""
    if len(columns) != circumstances.images:
        raise InputError(
            f"expected a row for each of the {circumstances.images:,} images, got {len(columns):,}"
        )
    means = columns.mean(axis=0, dtype=np.float64)
    replicates = resample_means(columns, how)
    scores = {}
    for formula in formulas:
        around = replace(
            circumstances,
            names=formula.names,
            levels=circumstances.levels if formula.names else (),
            reference=circumstances.reference if formula.reference else None,
        )
        scores[formula.name] = score_of(
            formula.name,
            float(formula.compute(means)) * formula.scale,
            np.asarray(formula.compute(replicates)) * formula.scale,
            around,
            str(how),
            unit=formula.unit,
            interval=formula.interval,
        )
    return scores


def positions(wanted: Iterable[str], names: tuple[str, ...]) -> list[int]:
    """Where the wanted names stand among those that were run; the others are left out."""
    return [names.index(name) for name in wanted if name in names]


def check_cells(shape: tuple[int, ...], clean: tuple[int, ...], around: Circumstances) -> None:
    expected = (around.images, len(around.names), len(around.levels))
    if shape != expected or clean != expected[:1]:
        raise InputError(
            f"expected arrays (images,) for clean images and {expected} = (images, {around.kind}, "
            f"severities) for the others, got {clean} and {shape}"
        )


def splitter(start: int, corruptions: int, severities: int) -> Split:
    """Means of columns -> clean error (...) and errors (..., corruptions, severities)."""

    def split(means: Floats) -> tuple[Floats, Floats]:
        errors = means[..., start + 1 : start + 1 + corruptions * severities]
        return means[..., start], errors.reshape(*means.shape[:-1], corruptions, severities)

    return split
