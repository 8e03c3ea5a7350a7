"""Two models on the same images.

Two scores can be compared only when they were made alike, and then pair by pair: their replicates
drew the same images.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics import Interval, McNemar, error, mcnemar, percentile_interval, wrong
from hardy.metrics.bootstrap import LEVEL
from hardy.scores.run_scores import Scores, headline_metrics, score_run
from hardy.scores.score import NOISE, Circumstances, Score, write_figure
from hardy.store.reader import StoredRun
from hardy.suites.cells import CLEAN


class Comparison(NamedTuple):
    """One score of two models, second minus first."""

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

    @property
    def loss(self) -> float:
        """How much worse the second is: the difference, or minus it where higher is better."""
        return self.difference if self.first.lower_is_better else -self.difference

    def __str__(self) -> str:
        return f"{self.first.name} {self.figure()}, p {self.chance()} ({self.first.circumstances})"

    def figure(self) -> str:
        """The difference and its interval."""
        unit = f" {self.first.unit}" if self.first.unit else ""
        scale = max(abs(self.first.value), abs(self.second.value))
        return write_figure(self.difference, self.interval, scale, sign="+") + unit

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


def compare_scores(first: Score, second: Score) -> Comparison:
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


class Compared(NamedTuple):
    """Two models score by score, second minus first."""

    first: Scores
    second: Scores
    headline: tuple[Comparison, ...]
    singles: tuple[Comparison, ...]  # corruption by corruption
    clean: McNemar | None  # the exact test, on clean images
    notes: tuple[str, ...] = ()  # what was done to make them comparable
    faults: tuple[str, ...] = ()  # runs of the store that could not be read, and why

    def tells(self, one: Comparison) -> bool:
        """Whether a difference is significant. That of the clean error must be so by the exact test
        as well: where few images tell two models apart, the bootstrap is too bold."""
        exact = self.clean if one.first.name == error.clean else None
        return one.significant and (exact is None or exact.p_value <= 1 - LEVEL)

    @property
    def deciding(self) -> tuple[Comparison, ...]:
        """Where a worse second model is a regression: the first deciding score that there is, of
        what counts or else of tuning, and those on clean images.

        Others can rise while a model gets better: relative mCE does where only the clean error
        falls.
        """
        there = {one.first.name: one for one in self.headline}
        metrics = [one for one in headline_metrics(self.first.kind) if one.decides]
        labels = [*(one.mean for one in metrics), *(one.validation for one in metrics)]
        first = [label for label in labels if label in there][:1]
        clean = [one.clean for one in metrics if one.clean]
        return tuple(there[name] for name in (*first, *clean) if name in there)

    @property
    def regressions(self) -> tuple[Comparison, ...]:
        """The deciding scores in which the second model is significantly worse.

        Each is a one-sided test at 2.5 %: of models that are as good as the first, one in forty is
        called worse in either, and up to one in twenty is called a regression.
        """
        return tuple(one for one in self.deciding if self.tells(one) and one.loss > 0)

    @property
    def verdict(self) -> str:
        """Whether it is a regression, and what decides that."""
        names = " and ".join(one.first.name for one in self.deciding)
        worse = " and ".join(one.first.name for one in self.regressions)
        found = f"a regression in {worse}" if worse else "no regression"
        return f"{found} ({names} decide{'s' if len(self.deciding) == 1 else ''})"

    @property
    def worse(self) -> tuple[Comparison, ...]:
        """Headline scores in which the second model is significantly worse."""
        return tuple(one for one in self.headline if self.tells(one) and one.loss > 0)

    @property
    def better(self) -> tuple[Comparison, ...]:
        return tuple(one for one in self.headline if self.tells(one) and one.loss < 0)

    def __str__(self) -> str:
        parts = [
            f"significantly {word} in {', '.join(one.first.name for one in some)}"
            for word, some in (("worse", self.worse), ("better", self.better))
            if some
        ]
        if not parts:
            return f"{self.second.model} and {self.first.model} do not differ significantly"
        return f"{self.second.model} is {' and '.join(parts)} than {self.first.model}"


def compare_runs(first: Scores | StoredRun, second: Scores | StoredRun) -> Compared:
    """The paired differences; refused for runs that were made differently.

    Where one has more images than the other, both are scored on those of the other. Single
    corruptions that just one model was run on are left out.
    """
    one, two = (some if isinstance(some, Scores) else score_run(some) for some in (first, second))
    one, two, notes = _on_common_images(one, two)
    leading = [
        score.name
        for score in one.headline
        if score.name in two
        # Corruptions for tuning may have been run on other images: that stops nothing else.
        and not (score.part == "validation" and differences(score, two[score.name]))
    ] or [s.name for s in one.headline if s.name in two]
    if not leading:  # which cannot be compared: this says why
        compare_scores(one.headline[0], two.headline[0])
    headline = tuple(compare_scores(one[name], two[name]) for name in leading)
    singles = tuple(
        compare_scores(score, theirs[name])
        for metric, ours in one.singles().items()
        for theirs in [two.singles().get(metric, {})]
        for name, score in ours.items()
        if name in theirs and not differences(score, theirs[name])
    )
    clean = None
    if error.clean in leading:
        clean = mcnemar(_clean_errors(one), _clean_errors(two))
    return Compared(one, two, headline, singles, clean, notes)


def _on_common_images(one: Scores, two: Scores) -> tuple[Scores, Scores, tuple[str, ...]]:
    """What is said of it in a note; image sets that only overlap are left as they are."""
    ours, theirs = ({some.run.ids[place] for place in some.images} for some in (one, two))
    if one.run.suite != two.run.suite or not (ours < theirs or theirs < ours):
        return one, two, ()
    more, fewer = (one, two) if theirs < ours else (two, one)
    note = (
        f"{more.model} has {len(more.images):,} images, {fewer.model} has {len(fewer.images):,} of "
        "them: both are scored on these"
    )
    if more is one:
        return one.on(theirs), two, (note,)
    return one, two.on(ours), (note,)


def _clean_errors(scores: Scores) -> npt.NDArray[np.bool_]:
    return wrong(scores.run.read([CLEAN], ["rank"], scores.images)["rank"][:, 0])
