"""A score: a number, its interval, and what it was made of.

Two scores can be compared only when they were made alike, and then pair by pair: their replicates
drew the same images.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from hardy.errors import InputError
from hardy.metrics.bootstrap import (
    LEVEL,
    Interval,
    percentile_interval,
    proportion_interval,
)
from hardy.metrics.classification import Floats
from hardy.scores.notebook import score_html

NOISE = 1e-9  # of a number: what rounding can make of 0


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
    """Lower is better, for every one of them."""

    name: str
    value: float
    interval: Interval
    unit: str  # "%" or nothing; mCE and its kin are percents of the reference, printed bare
    circumstances: Circumstances
    resampling: str
    replicates: Floats = field(repr=False, compare=False)

    def __str__(self) -> str:
        return f"{self.name} {self.figure()} ({self.circumstances})"

    def _repr_html_(self) -> str:
        return score_html(self)

    def figure(self) -> str:
        """The number and its interval."""
        unit = f" {self.unit}" if self.unit else ""
        return _figure(self.value, self.interval, abs(self.value)) + unit

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and CSV."""
        kept = {"name": self.name, "value": self.value, "unit": self.unit}
        kept |= {"low": self.interval.low, "high": self.interval.high, "level": LEVEL}
        kept |= {f.name: getattr(self.circumstances, f.name) for f in fields(Circumstances)}
        return {**kept, "resampling": self.resampling}


class Comparison(NamedTuple):
    """Second minus first: below 0 the second is better."""

    first: Score
    second: Score
    difference: float
    interval: Interval
    p_value: float

    @property
    def significant(self) -> bool:
        """By the interval, and not by chance: a handful of images can all happen to agree."""
        enough = _all_one_way(self.first.circumstances.images) < 1 - LEVEL
        return enough and not self.interval.low <= 0 <= self.interval.high

    def __str__(self) -> str:
        return f"{self.first.name} {self.figure()}, p {self.chance()} ({self.first.circumstances})"

    def figure(self) -> str:
        """The difference and its interval."""
        unit = f" {self.first.unit}" if self.first.unit else ""
        scale = max(abs(self.first.value), abs(self.second.value))
        return _figure(self.difference, self.interval, scale, sign="+") + unit

    def chance(self) -> str:
        """The p-value; as small as the replicates can tell, it is a bound."""
        floor = 2 / (len(self.first.replicates) + 1)
        return f"= {self.p_value:.3f}" if self.p_value > floor else f"≤ {floor:.3f}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and CSV."""
        kept: dict[str, Any] = {"name": self.first.name, "unit": self.first.unit}
        kept |= {"first": self.first.value, "second": self.second.value}
        kept |= {"difference": self.difference, "low": self.interval.low}
        kept |= {"high": self.interval.high, "level": LEVEL, "p_value": self.p_value}
        return {**kept, "significant": self.significant}


def compare(first: Score, second: Score) -> Comparison:
    """The paired difference of two models on the same images; refused for scores made differently.

    The p-value is the bootstrap's: twice the share of replicates on the rarer side of 0. It is not
    below that of n images which all differ one way, 2 · 2⁻ⁿ: resampling cannot see what chance left
    out of a small set.
    """
    unlike = differences(first, second)
    if unlike:
        raise InputError(
            f"expected two scores made alike, got {'; '.join(unlike)}; evaluate both with the "
            "same settings"
        )
    noise = NOISE * max(abs(first.value), abs(second.value))
    change = second.replicates - first.replicates
    change[np.abs(change) <= noise] = 0
    difference = second.value - first.value
    rarer = min((change <= 0).sum(), (change >= 0).sum())
    images = first.circumstances.images
    return Comparison(
        first,
        second,
        difference if abs(difference) > noise else 0.0,
        percentile_interval(change),
        min(1.0, max(2 * (1 + int(rarer)) / (1 + len(change)), _all_one_way(images))),
    )


def _all_one_way(images: int) -> float:
    """The chance that so many images all differ in one direction."""
    return float(2.0 ** (1 - images))


def differences(first: Score, second: Score) -> list[str]:
    """What keeps two scores from being compared, in words."""
    found = []
    if first.name != second.name:
        found.append(f"different metrics ({first.name} and {second.name})")
    one, two = first.circumstances, second.circumstances
    labels = {
        "suite": "suites",
        "version": "suite versions",
        "suite_hash": "suite contents",
        "kind": "kinds of suite",
        "levels": "severities" if one.kind == "corruptions" else "difficulties",
        "reference": "references",
        "images": "numbers of images",
        "images_hash": "image sets",
        "recipe": "preprocessing recipes",
        "made": "ways of making the images",
    }
    for key, label in labels.items():
        a, b = getattr(one, key), getattr(two, key)
        if a != b:
            found.append(f"different {label} ({_brief(a)} and {_brief(b)})")
    if one.names != two.names:
        found.append(_names_apart(one, two))
    if first.resampling != second.resampling or len(first.replicates) != len(second.replicates):
        found.append(f"different intervals ({first.resampling} and {second.resampling})")
    return found


def _names_apart(one: Circumstances, two: Circumstances) -> str:
    parts = []
    for here, there, which in ((one, two, "first"), (two, one, "second")):
        only = [name for name in here.names if name not in there.names]
        if only:
            parts.append(f"only the {which} has {', '.join(only)}")
    return f"different {one.kind} ({'; '.join(parts) or 'in another order'})"


def _brief(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
    return text if len(text) <= 40 else f"{text[:12]}…"


def _figure(value: float, interval: Interval, scale: float, sign: str = "") -> str:
    """As many decimals as the interval has a digit for, at least one.

    A lopsided interval, as next to a bound, is written out instead of as ±. One no wider than the
    rounding of numbers as large as `scale` has no width.
    """
    half = (interval.high - interval.low) / 2
    if half <= NOISE * scale:
        return f"{value:{sign}.1f} ± 0.0"
    decimals = min(4, max(1, math.ceil(-math.log10(half))))
    if abs(interval.low + half - value) > 0.25 * half:
        ends = f"{interval.low:{sign}.{decimals}f} to {interval.high:{sign}.{decimals}f}"
        return f"{value:{sign}.{decimals}f} [{ends}]"
    return f"{value:{sign}.{decimals}f} ± {half:.{decimals}f}"


def may_be_negative(name: str) -> bool:
    """Of all scores the relative ones: a corruption may lower the error."""
    return "relative" in name


def _all_alike(percent: float, images: int) -> Interval:
    """Where nothing varies to be resampled, how few the images are still counts.

    Others may be among all that there are, up to Wilson's limit of a share that was never seen, and
    have anything from 0 to 100 %.
    """
    others = proportion_interval(0, images).high
    return Interval(percent * (1 - others), percent + (100 - percent) * others)


def score_of(
    name: str,
    value: float,
    replicates: Floats,
    circumstances: Circumstances,
    resampling: str,
    *,
    unit: str = "",
    interval: Interval | None = None,
) -> Score:
    """A score whose interval is that of its replicates unless a better one is known."""
    if not np.isfinite(value):
        raise InputError(f"expected a finite {name}, got {value}; check the stored predictions")
    if interval is None:
        interval = percentile_interval(replicates)
        if unit == "%" and interval.high - interval.low <= 2 * NOISE * abs(value):
            interval = _all_alike(value, circumstances.images)
    if not may_be_negative(name):  # replicates of few images may be: the ECE's are made of gaps
        interval = Interval(max(0.0, interval.low), max(0.0, interval.high))
    return Score(name, value, interval, unit, circumstances, resampling, replicates)
