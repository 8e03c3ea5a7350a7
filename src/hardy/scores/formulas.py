"""Scores from numbers per image: columns are resampled together, and every score that metrics
declare is a formula over their means."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics import METRICS, Interval, Metric, Resampling
from hardy.metrics.bootstrap import percentile_interval, proportion_interval, resample_tables
from hardy.metrics.classification import Floats
from hardy.metrics.metric import HEADLINE
from hardy.scores.score import Circumstances, Score, no_width, score_of, unseen_share
from hardy.suites import SEVERITIES

AnyMetric = Metric[...]

_PARTS = ("clean", "mean", "validation", "single")
# Groups whose scores are listed by what they average over; others are listed metric by metric.
_LISTED_TOGETHER = (HEADLINE, "errors", "stability")


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


def usable_metrics(kind: str) -> tuple[list[AnyMetric], list[str]]:
    """The metrics of a kind of suite, and a note on each plug-in that cannot be used."""
    notes: list[str] = []
    found = [metric for _, metric in METRICS.usable(tell=notes.append)]
    return [metric for metric in found if metric.kind == kind], notes


def make_scores(
    measured: Mapping[str, Measured],
    circumstances: Circumstances,
    metrics: Sequence[AnyMetric],
    *,
    counted: Sequence[str],
    validation: Sequence[str] = (),
    reference: ReferenceNumbers | None = None,
    how: Resampling | None = None,
) -> tuple[dict[str, Score], list[str]]:
    """Scores by name, and notes on ratios that are left out.

    `measured` has the numbers of every metric that is no formula of another;
    `circumstances.names` and `.levels` name the axes of its cells. A ratio is left out unless there
    is something to divide by in every replicate: closer to 0 it means nothing.
    """
    how = how or Resampling()
    for numbers in (measured, reference.measured if reference else {}):
        _check_shapes(numbers, circumstances)
    table = _ColumnTable()
    places = {
        name: table.add(one, by_level=_wants_curve(metrics, name)) for name, one in measured.items()
    }
    theirs = _reference_places(reference, metrics, circumstances, table)
    means, replicates = table.means(), table.resample(how)
    scores: dict[str, Score] = {}
    undivided: dict[AnyMetric, list[str]] = {}
    for wanted in _wanted_scores(metrics, circumstances, counted, validation):
        metric, part, names = wanted.metric, wanted.part, wanted.names
        base = metric.base.name
        formula = _Formula(metric, places[base], theirs.get(base))
        if not formula.possible(part, circumstances):
            continue
        index = [circumstances.names.index(name) for name in names]
        value = float(formula(means, part, index)) * metric.scale
        spread = np.asarray(formula(replicates, part, index)) * metric.scale
        itself = metric.is_ratio and reference is not None and reference.itself
        unseen = None if itself else formula.unseen(means, part, index, circumstances.images)
        finite = np.isfinite(value) and np.isfinite(spread).all()
        if finite and unseen and no_width(percentile_interval(spread), abs(value)):
            finite = np.isfinite(unseen).all()
        if metric.is_ratio and not finite:
            undivided.setdefault(metric, []).extend(names if part == "single" else ())
            continue
        around = replace(
            circumstances,
            names=names,
            levels=circumstances.levels if names else (),
            reference=reference.name if reference and metric.is_ratio else None,
        )
        exact = _proportion(measured[base].clean) if part == "clean" else None
        facts: dict[str, Any] = {
            "metric": metric,
            "part": part,
            "interval": exact,
            "unseen": unseen,
        }
        scores[wanted.label] = score_of(wanted.label, value, spread, around, str(how), **facts)
    notes = [
        metric.undivided.format(reference=reference.name, names=", ".join(names))
        + f": no {metric.name} there, and no mean"
        for metric, names in undivided.items()
        if reference and names and metric.undivided
    ]
    return scores, notes


class _Wanted(NamedTuple):
    """A score that a metric has."""

    metric: AnyMetric
    part: str
    label: str
    names: tuple[str, ...]  # what it averages over


def _wanted_scores(
    metrics: Sequence[AnyMetric],
    around: Circumstances,
    counted: Sequence[str],
    validation: Sequence[str],
) -> list[_Wanted]:
    """The scores in the order of tables: by what they average over, calibration by metric."""

    def of(metric: AnyMetric) -> Iterator[_Wanted]:
        for part, label, group in (
            ("clean", metric.clean, None),
            ("mean", metric.mean, counted),
            ("validation", metric.validation, validation),
        ):
            names = tuple(name for name in group or () if name in around.names)
            if label and (names or group is None):
                yield _Wanted(metric, part, label + (harder if names else ""), names)
        for name in around.names if metric.single else ():
            yield _Wanted(metric, "single", metric.single_label(name) + harder, (name,))

    def place(one: _Wanted) -> tuple[bool, int, int]:
        alone = one.metric.group not in _LISTED_TOGETHER
        single = around.names.index(one.names[0]) if one.part == "single" else 0
        return alone, 0 if alone else _PARTS.index(one.part), 0 if alone else single

    harder = _difficulty(around)
    return sorted((one for metric in metrics for one in of(metric)), key=place)


def _difficulty(around: Circumstances) -> str:
    """How the names of scores on harder sequences end."""
    harder = around.kind == "perturbations" and around.levels != (1,)
    return f" (difficulty {around.levels[0]})" if harder else ""


def _proportion(clean: npt.NDArray[Any] | None) -> Interval | None:
    """Wilson's interval, which is better than the bootstrap's, of a share of clean images."""
    if clean is None or clean.dtype != np.bool_:
        return None
    interval = proportion_interval(int(clean.sum()), len(clean))
    return Interval(100 * interval.low, 100 * interval.high)


class _Place(NamedTuple):
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


class _Published(NamedTuple):
    """A reference whose numbers are exact, in the place of measured columns."""

    clean: float
    errors: Floats  # (names,)

    def __call__(self, means: Sequence[Floats]) -> tuple[Floats, Floats]:
        return np.asarray(self.clean), self.errors[:, None]


class _ColumnTable:
    """Per-image columns, (images, columns). Whole numbers stand apart from others: they are summed
    exactly in half the time."""

    def __init__(self) -> None:
        self._columns: tuple[list[npt.NDArray[Any]], ...] = ([], [])
        self._width = [0, 0]

    def add(self, one: Measured, *, by_level: bool) -> _Place:
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
        place = _Place(table, self._width[table], names, kept, divisor, one.clean is not None)
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


class _Formula(NamedTuple):
    """A metric as a function of the means of all columns."""

    metric: AnyMetric
    place: _Place
    reference: _Place | _Published | None

    def possible(self, part: str, around: Circumstances) -> bool:
        needs = self.metric.needs if self.metric.of is not None else ()
        return (
            (self.place.has_clean or not (part == "clean" or "clean" in needs))
            and (around.levels == SEVERITIES or "curve" not in needs)
            and (self.reference is not None or not self.metric.is_ratio)
        )

    def __call__(self, means: Sequence[Floats], part: str, index: list[int]) -> Floats:
        clean, cells = self.place(means)
        if part == "clean":
            return clean
        curve = cells[..., index, :]
        if self.metric.of is None:
            return np.asarray(curve.mean(-1).mean(-1))
        known = {"clean": clean, "curve": curve, "means": curve.mean(-1)}
        if self.reference is not None:
            known["reference_clean"], theirs = self.reference(means)
            known["reference"] = theirs[..., index, :].mean(-1)
        made = self.metric(*(known[name] for name in self.metric.needs))
        return np.asarray(made.mean(-1))

    def unseen(
        self, means: Sequence[Floats], part: str, index: list[int], images: int
    ) -> Interval | None:
        """The range of the score if a share of all images were unlike those seen, and had the least
        or the most that an image can have: on clean images, in cells, and likewise the reference's.

        Formulas rise or fall with each of their means, so their extremes are among these corners.
        """
        if self.metric.base.most is None:
            return None
        share = unseen_share(images)
        corners = [np.tile((1 - share) * one, (16, 1)) for one in means]
        most = share * self.metric.base.most * (np.arange(16)[:, None] >> np.arange(4) & 1)
        for number, place in enumerate((self.place, self.reference)):
            if isinstance(place, _Place):
                clean, cells = most[:, [2 * number]], most[:, [2 * number + 1]]
                start, stop = place.start, place.start + 1 + place.names * place.levels
                corners[place.table][:, start : start + 1] += clean
                corners[place.table][:, start + 1 : stop] += cells * place.divisor
        made = np.asarray(self(corners, part, index)) * self.metric.scale
        return Interval(float(made.min()), float(made.max()))


def _wants_curve(metrics: Sequence[AnyMetric], base: str) -> bool:
    return any("curve" in one.needs for one in metrics if one.of and one.of.name == base)


def _reference_places(
    reference: ReferenceNumbers | None,
    metrics: Sequence[AnyMetric],
    around: Circumstances,
    table: _ColumnTable,
) -> dict[str, _Place | _Published]:
    """Where formulas find what they divide by, for each metric that some ratio is of."""
    places: dict[str, _Place | _Published] = {}
    for base in dict.fromkeys(metric.base.name for metric in metrics if metric.is_ratio):
        if reference is None or base not in reference:
            continue
        if base in reference.published:
            clean, numbers = reference.published[base]
            places[base] = _Published(clean, np.array([numbers[name] for name in around.names]))
        else:
            places[base] = table.add(reference.measured[base], by_level=False)
    return places


def _check_shapes(measured: Mapping[str, Measured], around: Circumstances) -> None:
    expected = (around.images, len(around.names), len(around.levels))
    for name, (clean, cells) in measured.items():
        if cells.shape != expected or (clean is not None and clean.shape != expected[:1]):
            raise InputError(
                f"expected {name} as arrays (images,) for clean images and {expected} = (images, "
                f"{around.kind}, levels) for the others, got "
                f"{None if clean is None else clean.shape} and {cells.shape}; a metric gives one "
                "number per image and cell"
            )
