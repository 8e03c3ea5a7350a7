"""Scores from numbers per image: every score that metrics declare is a formula over the means of
columns, and its interval follows from how they vary over images."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.metrics import Interval, Resampling, proportion_interval
from hardy.metrics.bootstrap import freedom
from hardy.metrics.classification import Floats
from hardy.scores.columns import (
    AnyMetric,
    ColumnPlace,
    ColumnTable,
    Measured,
    Published,
    ReferenceNumbers,
    check_shapes,
    reference_places,
)
from hardy.scores.score import Circumstances, Score, no_width, score_of, unseen_share
from hardy.scores.wanted_scores import wanted_scores
from hardy.suites import SEVERITIES


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

    `measured` has the numbers of every metric that is no formula of another, and of those beneath;
    `circumstances.names` and `.levels` name the axes of its cells. A ratio is left out unless there
    is something to divide by in every replicate: closer to 0 it means nothing.
    """
    how = how or Resampling()
    for numbers in (measured, reference.measured if reference else {}):
        check_shapes(numbers, circumstances)
    table = ColumnTable()
    places = {
        name: table.add(one, by_level=_wants_curve(metrics, name)) for name, one in measured.items()
    }
    beneath = {
        metric.name: places[metric.beneath.name] for metric in metrics if metric.beneath is not None
    }
    theirs = reference_places(reference, metrics, circumstances, table)
    means, replicates = table.means(), table.resample(how)
    apart = circumstances.images if how.clusters is None else len(np.unique(how.clusters))
    drawn = freedom(apart, how.strata)
    scores: dict[str, Score] = {}
    undivided: dict[AnyMetric, list[str]] = {}
    for wanted in wanted_scores(metrics, circumstances, counted, validation):
        metric, part, names = wanted.metric, wanted.part, wanted.names
        base = metric.base.name
        formula = ScoreFormula(metric, places[base], theirs.get(base))
        if not formula.possible(part, circumstances):
            continue
        index = [circumstances.names.index(name) for name in names]
        value = float(formula(means, part, index)) * metric.scale
        spread = np.asarray(formula(replicates, part, index)) * metric.scale
        itself = metric.is_ratio and reference is not None and reference.itself
        unlike = unseen_share(circumstances.images)
        unseen = None if itself else formula.reach(means, part, index, unlike)
        finite = np.isfinite(value) and np.isfinite(spread).all()
        if finite and unseen and no_width(spread, abs(value)):
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
        alone = part == "clean" and how.clusters is None
        exact = _proportion(measured[base].clean) if alone else None
        facts: dict[str, Any] = {"metric": metric, "part": part, "freedom": drawn}
        facts |= {"interval": exact, "reach": formula.reach(means, part, index), "unseen": unseen}
        facts["least"] = formula.nearest_ends(means, part, index, unlike) if unseen else None
        if base in beneath:
            lower = formula._replace(place=beneath[base])
            facts["beneath"] = tuple(
                np.asarray(lower(some, part, index)) * metric.scale for some in (means, replicates)
            )
        scores[wanted.label] = score_of(wanted.label, value, spread, around, str(how), **facts)
    notes = [
        metric.undivided.format(reference=reference.name, names=", ".join(names))
        + f": no {metric.name} there, and no mean"
        for metric, names in undivided.items()
        if reference and names and metric.undivided
    ]
    return scores, notes


def _proportion(clean: npt.NDArray[Any] | None) -> Interval | None:
    """The interval of a share of clean images, which needs no resampling."""
    if clean is None or clean.dtype != np.bool_:
        return None
    interval = proportion_interval(int(clean.sum()), len(clean))
    return Interval(100 * interval.low, 100 * interval.high)


class ScoreFormula(NamedTuple):
    """A metric as a function of the means of all columns."""

    metric: AnyMetric
    place: ColumnPlace
    reference: ColumnPlace | Published | None

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

    def reach(
        self, means: Sequence[Floats], part: str, index: list[int], share: float = 1.0
    ) -> Interval | None:
        """Where the score can lie if a share of all images is unlike those seen, and has the least
        or the most that an image can have: on clean images, in cells, and likewise the reference's.

        Formulas rise or fall with each of their means, so their extremes are among these corners.
        None where an image has no most, NaN where a ratio has no end.
        """
        if self.metric.base.most is None:
            return None
        corners = [np.tile((1 - share) * one, (16, 1)) for one in means]
        most = share * self.metric.base.most * (np.arange(16)[:, None] >> np.arange(4) & 1)
        for number, place in enumerate((self.place, self.reference)):
            if isinstance(place, ColumnPlace):
                clean, cells = most[:, [2 * number]], most[:, [2 * number + 1]]
                start, stop = place.start, place.start + 1 + place.names * place.levels
                corners[place.table][:, start : start + 1] += clean
                corners[place.table][:, start + 1 : stop] += cells * place.divisor
        made = np.asarray(self(corners, part, index)) * self.metric.scale
        return Interval(float(made.min()), float(made.max()))

    def nearest_ends(
        self, means: Sequence[Floats], part: str, index: list[int], share: float
    ) -> Interval | None:
        """How near to the extremes an interval may end, of a score that cannot be negative: its low
        end is no higher than that of `reach` where images all have the most, and its high end no
        lower than that where all have nothing. Only a model's own numbers are taken so."""

        def alike(number: float) -> Interval | None:
            some = [one.copy() for one in means]
            start = self.place.start
            some[self.place.table][start] = number
            stop = start + 1 + self.place.names * self.place.levels
            some[self.place.table][start + 1 : stop] = number * self.place.divisor
            return self.reach(some, part, index, share)

        if self.metric.signed or self.metric.base.most is None:
            return None
        most, least = alike(self.metric.base.most), alike(0.0)
        return Interval(most.low, least.high) if most and least else None


def _wants_curve(metrics: Sequence[AnyMetric], base: str) -> bool:
    return any("curve" in one.needs for one in metrics if one.of and one.of.name == base)
