"""Numbers per image as columns of one table, which are resampled together, and where each metric's
columns stand in it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics import Metric, Resampling
from hardy.metrics.bootstrap import resample_tables
from hardy.metrics.classification import Floats
from hardy.scores.score import Circumstances

AnyMetric = Metric[...]


class Measured(NamedTuple):
    """One metric's numbers of every image; fractions and ratios are not percents yet."""

    clean: npt.NDArray[Any] | None  # (images,)
    cells: npt.NDArray[Any]  # (images, names, levels); of sequences the one level is a difficulty


@dataclass(frozen=True)
class ReferenceNumbers:
    """What ratios are divided by: numbers of one model, by the metric they are numbers of.

    Published ones, (clean, by name), count as exact. Measured ones are as uncertain as the model's
    own and move with them: both are resampled together.
    """

    name: str
    published: Mapping[str, tuple[float, Mapping[str, float]]] = field(default_factory=dict)
    measured: Mapping[str, Measured] = field(default_factory=dict)
    itself: bool = False  # whether it is the very model: ratios are 100, whatever images there are

    def __contains__(self, metric: str) -> bool:
        return metric in self.published or metric in self.measured


class ColumnPlace(NamedTuple):
    """Where a metric's columns stand, of which table."""

    table: int
    start: int
    names: int
    levels: int
    divisor: int  # columns are sums of so many levels
    has_clean: bool

    def __call__(self, means: Sequence[Floats]) -> tuple[Floats, Floats]:
        """Means of all columns -> clean (...) and cells (..., names, levels)."""
        mine = means[self.table]
        clean = mine[..., self.start]
        cells = mine[..., self.start + 1 : self.start + 1 + self.names * self.levels]
        shaped = cells.reshape(*mine.shape[:-1], self.names, self.levels) / self.divisor
        return clean if self.has_clean else np.full_like(clean, np.nan), shaped


class Published(NamedTuple):
    """A reference whose numbers are exact, in the place of measured columns."""

    clean: float
    errors: Floats  # (names,)

    def __call__(self, means: Sequence[Floats]) -> tuple[Floats, Floats]:
        return np.asarray(self.clean), self.errors[:, None]


class ColumnTable:
    """Per-image columns, (images, columns). Whole numbers stand apart from others: they are summed
    exactly in half the time."""

    def __init__(self) -> None:
        self._columns: tuple[list[npt.NDArray[Any]], ...] = ([], [])
        self._width = [0, 0]

    def add(self, one: Measured, *, by_level: bool) -> ColumnPlace:
        """Sums over levels take less room, and are all that most formulas need."""
        images, names, levels = one.cells.shape
        whole = one.cells.dtype == np.bool_
        cells, divisor = one.cells.reshape(images, -1), 1
        if not by_level and whole:
            cells, divisor = one.cells.sum(axis=-1, dtype=np.uint8), max(1, levels)
        elif not by_level:
            cells = one.cells.sum(axis=-1) / max(1, levels)
        clean = np.zeros(images, cells.dtype) if one.clean is None else one.clean
        table = 0 if whole else 1
        kept = levels if by_level else 1
        place = ColumnPlace(table, self._width[table], names, kept, divisor, one.clean is not None)
        self._columns[table].append(np.column_stack([clean, cells]))
        self._width[table] += 1 + cells.shape[1]
        return place

    def _tables(self) -> list[npt.NDArray[Any]]:
        return [np.concatenate(parts, axis=1) for parts in self._columns if parts]

    def means(self) -> list[Floats]:
        return self._in_place([one.mean(axis=0, dtype=np.float64) for one in self._tables()])

    def resample(self, how: Resampling) -> list[Floats]:
        return self._in_place(resample_tables(self._tables(), how))

    def _in_place(self, found: list[Floats]) -> list[Floats]:
        """One for each table; of an empty one nothing is asked."""
        rest = iter(found)
        return [next(rest) if parts else np.empty(0) for parts in self._columns]


def reference_places(
    reference: ReferenceNumbers | None,
    metrics: Sequence[AnyMetric],
    around: Circumstances,
    table: ColumnTable,
) -> dict[str, ColumnPlace | Published]:
    """Where formulas find what they divide by, for each metric that some ratio is of."""
    places: dict[str, ColumnPlace | Published] = {}
    for base in dict.fromkeys(metric.base.name for metric in metrics if metric.is_ratio):
        if reference is None or base not in reference:
            continue
        if base in reference.published:
            clean, numbers = reference.published[base]
            places[base] = Published(clean, np.array([numbers[name] for name in around.names]))
        else:
            places[base] = table.add(reference.measured[base], by_level=False)
    return places


def check_shapes(measured: Mapping[str, Measured], around: Circumstances) -> None:
    expected = (around.images, len(around.names), len(around.levels))
    for name, (clean, cells) in measured.items():
        if cells.shape != expected or (clean is not None and clean.shape != expected[:1]):
            raise InputError(
                f"expected {name} as arrays (images,) for clean images and {expected} = (images, "
                f"{around.kind}, levels) for the others, got "
                f"{None if clean is None else clean.shape} and {cells.shape}; a metric gives one "
                "number per image and cell"
            )
