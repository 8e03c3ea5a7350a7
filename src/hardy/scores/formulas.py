"""From columns of per-image numbers to scores: one resampling serves all formulas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.bootstrap import Interval, Resampling, resample_tables
from hardy.metrics.classification import Floats
from hardy.scores.score import Circumstances, Score, score_of

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


class Table(NamedTuple):
    """Per-image numbers, and what is made of their means."""

    columns: npt.NDArray[Any]  # (images, columns)
    formulas: list[Formula]
    around: Circumstances


def build_scores(tables: Sequence[Table], how: Resampling) -> dict[str, Score]:
    """Scores by name; all tables see the same draws of the images.

    `names`, `levels` and `reference` of the circumstances are narrowed per score. A ratio is left
    out unless there is something to divide by in every replicate: closer to 0 it means nothing.
    """
    for table in tables:
        if len(table.columns) != table.around.images:
            raise InputError(
                f"expected a row for each of the {table.around.images:,} images, got "
                f"{len(table.columns):,}"
            )
    scores: dict[str, Score] = {}
    resampled = resample_tables([table.columns for table in tables], how)
    for (columns, formulas, circumstances), replicates in zip(tables, resampled, strict=True):
        means = columns.mean(axis=0, dtype=np.float64)
        for formula in formulas:
            value = float(formula.compute(means)) * formula.scale
            spread = np.asarray(formula.compute(replicates)) * formula.scale
            if formula.reference and not (np.isfinite(value) and np.isfinite(spread).all()):
                continue
            around = replace(
                circumstances,
                names=formula.names,
                levels=circumstances.levels if formula.names else (),
                reference=circumstances.reference if formula.reference else None,
            )
            scores[formula.name] = score_of(
                formula.name,
                value,
                spread,
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


def sum_splitter(start: int, corruptions: int, severities: int) -> Split:
    """The same of columns that are sums over severities: (..., corruptions, 1)."""
    split = splitter(start, corruptions, 1)

    def divided(means: Floats) -> tuple[Floats, Floats]:
        clean, sums = split(means)
        return clean, sums / severities

    return divided


def positive(divisor: Floats, above: Floats | float = 0.0) -> Floats:
    """NaN where it is not above that: nothing to divide by."""
    return np.where(divisor > above, divisor, np.nan)
