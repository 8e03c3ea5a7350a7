"""A score: a number, its interval, what it was made of, and whether lower is better."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from hardy.errors import InputError
from hardy.metrics import Interval, Metric, proportion_interval
from hardy.metrics.classification import Floats
from hardy.metrics.intervals import LEVEL, mean_interval
from hardy.metrics.metric import OUTLIERS, SHIFTS
from hardy.scores.text_tables import scores_html

NOISE = 1e-9  # of a number: what rounding can make of 0
MARK = "†"  # behind numbers on corruptions that a model was trained on


@dataclass(frozen=True)
class Circumstances:
    """Everything besides the model that a score depends on."""

    suite: str
    version: int
    suite_hash: str
    kind: str  # of suite
    names: tuple[str, ...]  # the ones averaged over; none for clean images
    levels: tuple[int, ...]  # severities, or the difficulty of sequences
    reference: str | None
    images: int
    images_hash: str  # of ids, labels and pixels, in the order of the rows
    recipe: str
    made: str  # "on the fly + jpeg:85", "official files"
    labels: str = "suite"  # or "own": classes that are the images' own
    # Images of the whole set, where these are not all of it. Two runs of the same images were made
    # alike whatever else either was to be run on.
    total: int | None = field(default=None, compare=False)
    # Predictions of a designed sample, and of the full run that it is to tell the scores of.
    sampled: tuple[int, int] | None = None

    @property
    def sample(self) -> str:
        """How much of a full run was predicted, in words; nothing of one that is full."""
        return "{:,} of {:,} predictions".format(*self.sampled) if self.sampled else ""

    def __str__(self) -> str:
        parts = [f"{self.reference} reference"] if self.reference else []
        whole = f" of {self.total:,}" if self.total else ""
        own = " with own classes" if self.labels == "own" else ""
        if self.sampled:
            parts += [f"sampled: {self.sample}"]
        parts += [*self._cells(), f"{self.images:,}{whole} images"]
        return ", ".join([*parts, f"{self.suite} v{self.version}{own}", self.made])

    def _cells(self) -> list[str]:
        """What the images went through; shifted ones are as they are."""
        if not self.names:
            return ["clean images"]
        if self.kind in (SHIFTS, OUTLIERS):
            return []
        noun = self.kind if len(self.names) > 1 else self.kind[:-1]
        cells = f"{len(self.names)} {noun}"
        if self.kind == "perturbations":
            return [f"{cells}, difficulty {self.levels[0]}"]
        if len(self.levels) == 1:
            return [f"{cells}, severity {self.levels[0]}"]
        return [f"{cells} × {len(self.levels)}"]


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
    step: float = field(default=0.0, repr=False, compare=False)  # by one image, of a share of them
    # Images that were drawn, one less per class; None: nobody says.
    freedom: int | None = field(default=None, repr=False, compare=False)

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
        if kept["sampled"] is None:  # as of most
            del kept["sampled"]
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

    A lopsided interval, as next to a bound, is written out instead of as ±, and so is any that ±
    would draw past 0 or 100 where it ends before: no error is below 0. One no wider than the
    rounding of numbers as large as `scale` has no width, and is not written.
    """
    half = (interval.high - interval.low) / 2
    if half <= NOISE * scale:
        return f"{value:{sign}.1f}"
    decimals = min(4, max(1, math.ceil(-math.log10(half))))
    reach = half * (1 - NOISE)
    past = any(
        value - reach < bound <= interval.low or interval.high <= bound < value + reach
        for bound in (0, 100)
    )
    if past or abs(interval.low + half - value) > 0.25 * half:
        ends = f"{interval.low:{sign}.{decimals}f} to {interval.high:{sign}.{decimals}f}"
        return f"{value:{sign}.{decimals}f} [{ends}]"
    return f"{value:{sign}.{decimals}f} ± {half:.{decimals}f}"


def unseen_share(images: int) -> float:
    """The share of all images there are that may be unlike these: the limit of one never seen."""
    return proportion_interval(0, images).high


def no_width(replicates: Floats, scale: float) -> bool:
    return float(np.ptp(replicates)) <= 2 * NOISE * scale


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
    reach: Interval | None = None,
    unseen: Interval | None = None,
    least: Interval | None = None,
    beneath: tuple[Floats, Floats] | None = None,
    freedom: int | None = None,
) -> Score:
    """A score whose interval follows from the spread of its replicates unless one is given.

    `reach` is what the score can be, `beneath` a number that errs on the low side of it, with its
    replicates, where the interval begins. Where nothing varies to be resampled, how few the images
    are still counts: then the interval is `unseen`, how far images unlike these could bring it, or
    a point where that is nowhere, as for a model divided by itself. With images that differ it
    reaches at least over `least`: one error in a cell does not tell more than none.
    """
    exact = interval is not None
    if not np.isfinite(value):
        raise InputError(f"expected a finite {name}, got {value}; check the stored predictions")
    bounds = reach
    if bounds is None or not all(map(math.isfinite, bounds)):
        bounds = Interval(-math.inf if metric.signed else 0.0, math.inf)
    if interval is None and no_width(replicates, abs(value)):
        interval = unseen or Interval(value, value)
    if interval is None:
        sample = (circumstances.images, freedom)
        interval = mean_interval(value, float(replicates.std(ddof=1)), bounds, *sample)
        if beneath is not None:
            lower, error = float(beneath[0]), float(beneath[1].std(ddof=1))
            # The truth is anywhere between the two: a uniform law has the deviation width / √12.
            error = math.hypot(error, (value - lower) / math.sqrt(12))
            low = mean_interval(lower, error, Interval(-math.inf, math.inf), *sample).low
            interval = Interval(low, interval.high)
    if least is not None:
        interval = Interval(min(interval.low, least.low), max(interval.high, least.high))
    interval = interval.around(value, bounds.low)
    leeway = 0.0 if unseen is None else unseen.high - unseen.low
    step = metric.scale / circumstances.images if exact else 0.0
    known = (metric.lower_is_better, metric.signed, metric.name, part, leeway, step, freedom)
    return Score(name, value, interval, metric.unit, circumstances, resampling, replicates, *known)
