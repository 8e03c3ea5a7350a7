"""A score: a number, its interval, what it was made of, and whether lower is better."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from hardy.errors import InputError
from hardy.metrics import Interval, Metric, percentile_interval, proportion_interval
from hardy.metrics.bootstrap import LEVEL
from hardy.metrics.classification import Floats
from hardy.scores.text_tables import scores_html

NOISE = 1e-9  # of a number: what rounding can make of 0
MARK = "†"  # behind numbers on corruptions that a model was trained on


@dataclass(frozen=True)
class Circumstances:
    """Everything besides the model that a score depends on."""

    suite: str
    version: int
    suite_hash: str
    kind: str  # "corruptions" or "perturbations"
    names: tuple[str, ...]  # the ones averaged over; none for clean images
    levels: tuple[int, ...]  # severities, or the difficulty of sequences
    reference: str | None
    images: int
    images_hash: str  # of ids, labels and pixels, in the order of the rows
    recipe: str
    made: str  # "on the fly + jpeg:85", "official files"
    # Images of the whole set, where these are not all of it. Two runs of the same images were made
    # alike whatever else either was to be run on.
    total: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        parts = [f"{self.reference} reference"] if self.reference else []
        whole = f" of {self.total:,}" if self.total else ""
        parts += [self._cells(), f"{self.images:,}{whole} images", f"{self.suite} v{self.version}"]
        return ", ".join([*parts, self.made])

    def _cells(self) -> str:
        if not self.names:
            return "clean images"
        noun = self.kind if len(self.names) > 1 else self.kind[:-1]
        cells = f"{len(self.names)} {noun}"
        if self.kind == "perturbations":
            return f"{cells}, difficulty {self.levels[0]}"
        if len(self.levels) == 1:
            return f"{cells}, severity {self.levels[0]}"
        return f"{cells} × {len(self.levels)}"


@dataclass(frozen=True)
class Score:
    """One number of one model on one suite."""

    name: str
    value: float
    interval: Interval
    unit: str  # "%" or nothing; mCE and its kin are percents of the reference, printed bare
    circumstances: Circumstances
    resampling: str
    replicates: Floats = field(repr=False, compare=False)
    lower_is_better: bool = True
    signed: bool = False  # whether it may be below 0
    metric: str = ""  # its name in the registry
    part: str = ""  # "mean" over what counts, "validation", "clean", or "single" for one corruption
    # How far apart images unlike those seen could bring it, where resampling shows no difference.
    leeway: float = field(default=0.0, repr=False, compare=False)

    @property
    def loss(self) -> float:
        """The value, or minus it where higher is better: of two scores the lower one wins."""
        return self.value if self.lower_is_better else -self.value

    def __repr__(self) -> str:
        return f"Score({self})"

    def __str__(self) -> str:
        return f"{self.name} {self.figure()} ({self.circumstances})"

    def _repr_html_(self) -> str:
        return scores_html([self], [str(self.circumstances)])

    def figure(self) -> str:
        """The number and its interval."""
        unit = f" {self.unit}" if self.unit else ""
        return write_figure(self.value, self.interval, abs(self.value)) + unit

    def bare(self) -> str:
        """The number as `figure` has it, without its interval."""
        return self.figure().partition(" ")[0] + (f" {self.unit}" if self.unit else "")

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and CSV."""
        kept = {"name": self.name, "value": self.value, "unit": self.unit}
        kept |= {"low": self.interval.low, "high": self.interval.high, "level": LEVEL}
        kept |= {f.name: getattr(self.circumstances, f.name) for f in fields(Circumstances)}
        return {**kept, "resampling": self.resampling}

    def seen(self, known: Iterable[str] | None) -> tuple[str, ...]:
        """Those of its corruptions that a model was trained on, `known`; None: nobody says."""
        trained_on = set(known or ())
        return tuple(name for name in self.circumstances.names if name in trained_on)

    def mark(self, known: Iterable[str] | None) -> str:
        """What follows the number wherever it is shown, if such a corruption counts in it."""
        return f" {MARK}" if self.seen(known) else ""


def write_figure(value: float, interval: Interval, scale: float, sign: str = "") -> str:
    """As many decimals as the interval has a digit for, at least one.

    A lopsided interval, as next to a bound, is written out instead of as ±. One no wider than the
    rounding of numbers as large as `scale` has no width, and is not written.
    """
    half = (interval.high - interval.low) / 2
    if half <= NOISE * scale:
        return f"{value:{sign}.1f}"
    decimals = min(4, max(1, math.ceil(-math.log10(half))))
    if abs(interval.low + half - value) > 0.25 * half:
        ends = f"{interval.low:{sign}.{decimals}f} to {interval.high:{sign}.{decimals}f}"
        return f"{value:{sign}.{decimals}f} [{ends}]"
    return f"{value:{sign}.{decimals}f} ± {half:.{decimals}f}"


def unseen_share(images: int) -> float:
    """The share of all images there are that may be unlike these: Wilson's limit of a share that
    was never seen."""
    return proportion_interval(0, images).high


def no_width(interval: Interval, scale: float) -> bool:
    return interval.high - interval.low <= 2 * NOISE * scale


def score_of(
    name: str,
    value: float,
    replicates: Floats,
    circumstances: Circumstances,
    resampling: str,
    *,
    metric: Metric[...],
    part: str = "",
    interval: Interval | None = None,
    unseen: Interval | None = None,
) -> Score:
    """A score whose interval is that of its replicates unless a better one is known.

    Where nothing varies to be resampled, how few the images are still counts: then the interval is
    `unseen`, how far images unlike these could bring the score.
    """
    if not np.isfinite(value):
        raise InputError(f"expected a finite {name}, got {value}; check the stored predictions")
    if interval is None:
        interval = percentile_interval(replicates)
        if unseen is not None and no_width(interval, abs(value)):
            interval = unseen
    if not metric.signed:  # replicates of few images may be: the ECE's are made of gaps
        interval = Interval(max(0.0, interval.low), max(0.0, interval.high))
    leeway = 0.0 if unseen is None else unseen.high - unseen.low
    known = (metric.lower_is_better, metric.signed, metric.name, part, leeway)
    return Score(name, value, interval, metric.unit, circumstances, resampling, replicates, *known)
