"""One score of two models, pair by pair: replicates of scores made alike drew the same images."""

from textwrap import shorten
from typing import Any, NamedTuple

import numpy as np

from hardy.errors import InputError
from hardy.metrics.classification import Floats
from hardy.metrics.intervals import LEVEL, Interval, difference_interval
from hardy.scores.score import NOISE, Circumstances, Score, no_width, write_figure

_LONGEST = 40  # letters of a circumstance in a sentence
_SMALL = 0.001  # a p-value that is not told more exactly


class ScoreDifference(NamedTuple):
    """One score of two models, second minus first."""

    first: Score
    second: Score
    difference: float
    interval: Interval
    p_value: float

    @property
    def significant(self) -> bool:
        """Whether 0 is outside the interval, and there are too many images to agree by chance."""
        enough = _all_one_way(self.first.circumstances.images) < 1 - LEVEL
        return enough and not self.interval.low <= 0 <= self.interval.high

    @property
    def alike(self) -> bool:
        """Whether no image tells the two apart; the interval is then what others could show."""
        drawn = self.first.replicates
        return len(drawn) > 0 and np.array_equal(drawn, self.second.replicates)

    @property
    def loss(self) -> float:
        """How much worse the second is: the difference, or minus it where higher is better."""
        return self.difference if self.first.lower_is_better else -self.difference

    def __str__(self) -> str:
        return f"{self.first.name} {self.figure()}, p {self.chance()} ({self.first.circumstances})"

    def figure(self) -> str:
        """The difference and its interval."""
        unit = " points" if self.first.unit == "%" else ""
        scale = max(abs(self.first.value), abs(self.second.value))
        return write_figure(self.difference, self.interval, scale, sign="+") + unit

    def chance(self) -> str:
        """The p-value; as small as the replicates can tell, it is a bound."""
        floor = _least_told(self.first.replicates)
        return f"= {self.p_value:.3f}" if self.p_value > floor else f"≤ {floor:.3f}"

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON and CSV."""
        kept: dict[str, Any] = {"name": self.first.name, "unit": self.first.unit}
        kept |= {"first": self.first.value, "second": self.second.value}
        kept |= {"difference": self.difference, **self.interval._asdict(), "level": LEVEL}
        return {**kept, "p_value": self.p_value, "significant": self.significant}


def compare_scores(first: Score, second: Score) -> ScoreDifference:
    """The paired difference of two models on the same images; refused for scores made differently.

    The p-value is Student's, with the spread of the replicates. It is not below what so many
    replicates can tell, nor below that of n images which all differ one way, 2 · 2⁻ⁿ: a spread
    cannot show what chance left out of a small set.
    """
    refuse_unlike(first, second)
    scale, images = max(abs(first.value), abs(second.value)), first.circumstances.images
    difference = second.value - first.value
    apart = difference if abs(difference) > NOISE * scale else 0.0
    change = second.replicates - first.replicates
    error = 0.0 if no_width(change, scale) else float(change.std(ddof=1))
    leeway = max(first.leeway, second.leeway)
    freedom = first.freedom or images - 1
    interval, p_value = difference_interval(apart, error, leeway, freedom, first.step)
    least = max(_least_told(change), _all_one_way(images))
    return ScoreDifference(first, second, apart, interval, min(1.0, max(p_value, least)))


def refuse_unlike(first: Score, second: Score) -> None:
    if unlike := "; ".join(differences(first, second)):
        raise InputError(
            f"expected two scores made alike, got {unlike}; evaluate both with the same settings"
        )


def _least_told(replicates: Floats) -> float:
    """The least p-value that so many replicates can tell; a sample has none, and a law instead."""
    return 2 / (len(replicates) + 1) if len(replicates) else _SMALL


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
        "sampled": "samples",
        "images": "numbers of images",
        "images_hash": "image sets",
        "recipe": "preprocessing recipes",
        "made": "ways of making the images",
        "labels": "classes",
    }
    for key, label in labels.items():
        if getattr(one, key) != getattr(two, key):
            found.append(f"different {label} ({_brief(one, key)} and {_brief(two, key)})")
    if one.names != two.names:
        found.append(_names_apart(one, two))
    if first.resampling != second.resampling or len(first.replicates) != len(second.replicates):
        found.append(f"different intervals ({first.resampling} and {second.resampling})")
    return found


def _names_apart(one: Circumstances, two: Circumstances) -> str:
    sides = (("first", one.names, two.names), ("second", two.names, one.names))
    only = {which: [name for name in own if name not in other] for which, own, other in sides}
    parts = [f"only the {which} has {', '.join(names)}" for which, names in only.items() if names]
    return f"different {one.kind} ({'; '.join(parts) or 'in another order'})"


def _brief(around: Circumstances, key: str) -> str:
    """A circumstance in words, or the beginning of it."""
    value = getattr(around, key)
    if key == "sampled":
        return around.sample or "a full run"
    if isinstance(value, int):
        return f"{value:,}"
    text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value or "none")
    if len(text) <= _LONGEST:
        return text
    is_hash = " " not in text
    return f"{text[:12]}…" if is_hash else cut_at_word(text, _LONGEST)


def cut_at_word(text: str, longest: int) -> str:
    return shorten(text, longest, placeholder=" …", break_on_hyphens=False)
