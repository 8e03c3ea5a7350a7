"""Two models on the same images."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.metrics import McNemar, mcnemar, wrong
from hardy.metrics.bootstrap import LEVEL
from hardy.scores.score import Comparison, differences
from hardy.scores.score import compare as compare_scores
from hardy.scores.scores import (
    CLEAN_ERROR,
    DECIDING,
    Scores,
    score,
)
from hardy.store.reader import StoredRun
from hardy.suites.cells import CLEAN


class Compared(NamedTuple):
    """Second minus first, score by score: below 0 the second is better."""

    first: Scores
    second: Scores
    headline: tuple[Comparison, ...]
    singles: tuple[Comparison, ...]  # corruption by corruption
    clean: McNemar | None  # the exact test, on clean images
    notes: tuple[str, ...] = ()  # what was done to make them comparable

    def tells(self, one: Comparison) -> bool:
        """Whether a difference is significant. That of the clean error must be so by the exact test
        as well: where few images tell two models apart, the bootstrap is too bold."""
        exact = self.clean if one.first.name == CLEAN_ERROR else None
        return one.significant and (exact is None or exact.p_value <= 1 - LEVEL)

    @property
    def deciding(self) -> tuple[Comparison, ...]:
        """Where a worse second model is a regression: mCE, or else the mean error (of sequences
        mFR, or else the flip probability), and the clean error."""
        there = {one.first.name: one for one in self.headline}
        first = [name for name in DECIDING[self.first.kind] if name in there][:1]
        return tuple(there[name] for name in (*first, CLEAN_ERROR) if name in there)

    @property
    def regressions(self) -> tuple[Comparison, ...]:
        """The deciding scores in which the second model is significantly worse.

        Each is a one-sided test at 2.5 %: of models that are as good as the first, one in forty is
        called worse in either, and up to one in twenty is called a regression.
        """
        return tuple(one for one in self.deciding if self.tells(one) and one.difference > 0)

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
        return tuple(one for one in self.headline if self.tells(one) and one.difference > 0)

    @property
    def better(self) -> tuple[Comparison, ...]:
        return tuple(one for one in self.headline if self.tells(one) and one.difference < 0)

    def __str__(self) -> str:
        parts = [
            f"significantly {word} in {', '.join(one.first.name for one in some)}"
            for word, some in (("worse", self.worse), ("better", self.better))
            if some
        ]
        if not parts:
            return f"{self.second.model} and {self.first.model} do not differ significantly"
        return f"{self.second.model} is {' and '.join(parts)} than {self.first.model}"


def compare(first: Scores | StoredRun, second: Scores | StoredRun) -> Compared:
    """The paired differences; refused for runs that were made differently.

    Where one has more images than the other, both are scored on those of the other. Single
    corruptions that just one model was run on are left out.
    """
    one, two = (some if isinstance(some, Scores) else score(some) for some in (first, second))
    one, two, notes = _on_common_images(one, two)
    leading = [
        score.name
        for score in one.headline
        if score.name in two
        # Corruptions for tuning may have been run on other images: that stops nothing else.
        and not (score.name.startswith("validation") and differences(score, two[score.name]))
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
    if CLEAN_ERROR in leading:
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
