"""Which scores a run has: metric by metric, over what each averages, in the order of tables."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from hardy.metrics import METRICS
from hardy.metrics.metric import HEADLINE
from hardy.scores.columns import AnyMetric
from hardy.scores.score import Circumstances

_PARTS = ("clean", "mean", "validation", "single")
# Groups whose scores are listed by what they average over; others are listed metric by metric.
_LISTED_TOGETHER = (HEADLINE, "errors", "stability")


def usable_metrics(kind: str) -> tuple[list[AnyMetric], list[str]]:
    """The metrics of a kind of suite, and a note on each plug-in that cannot be used."""
    notes: list[str] = []
    found = [metric for _, metric in METRICS.usable(tell=notes.append)]
    return [metric for metric in found if metric.kind == kind], notes


class Wanted(NamedTuple):
    """A score that a metric has."""

    metric: AnyMetric
    part: str
    label: str
    names: tuple[str, ...]  # what it averages over


def wanted_scores(
    metrics: Sequence[AnyMetric],
    around: Circumstances,
    counted: Sequence[str],
    validation: Sequence[str],
) -> list[Wanted]:
    """The scores in the order of tables: by what they average over, calibration by metric."""

    def of(metric: AnyMetric) -> Iterator[Wanted]:
        for part, label, group in (
            ("clean", metric.clean, None),
            ("mean", metric.mean, counted),
            ("validation", metric.validation, validation),
        ):
            names = tuple(name for name in group or () if name in around.names)
            if label and (names or group is None):
                yield Wanted(metric, part, label + (harder if names else ""), names)
        for name in around.names if metric.single else ():
            yield Wanted(metric, "single", metric.single_label(name) + harder, (name,))

    def place(one: Wanted) -> tuple[bool, int, int]:
        alone = one.metric.group not in _LISTED_TOGETHER
        single = around.names.index(one.names[0]) if one.part == "single" else 0
        return alone, 0 if alone else _PARTS.index(one.part), 0 if alone else single

    harder = _difficulty(around)
    return sorted((one for metric in metrics for one in of(metric)), key=place)


def _difficulty(around: Circumstances) -> str:
    """How the names of scores on harder sequences end."""
    harder = around.kind == "perturbations" and around.levels != (1,)
    return f" (difficulty {around.levels[0]})" if harder else ""
