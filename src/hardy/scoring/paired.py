"""Two models on the same images."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.metrics import Comparison, McNemar, differences, mcnemar, wrong
from hardy.metrics import compare as compare_scores
from hardy.predictions.store import StoredRun
from hardy.scoring.scores import Scores, score
from hardy.suites.cells import CLEAN


class Compared(NamedTuple):
    """Second minus first, score by score: below 0 the second is better."""

    first: Scores
    second: Scores
    headline: tuple[Comparison, ...]
    singles: tuple[Comparison, ...]  # corruption by corruption
    clean: McNemar | None  # the exact test, on clean images

    @property
    def worse(self) -> tuple[Comparison, ...]:
        """Headline scores in which the second model is significantly worse."""
        return tuple(one for one in self.headline if one.significant and one.difference > 0)

    @property
    def better(self) -> tuple[Comparison, ...]:
        return tuple(one for one in self.headline if one.significant and one.difference < 0)

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

    Single corruptions that just one model was run on are left out.
    """
    one, two = (some if isinstance(some, Scores) else score(some) for some in (first, second))
    leading = [name for name in (s.name for s in one.headline) if name in two]
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
    if "clean error" in leading:
        clean = mcnemar(_clean_errors(one), _clean_errors(two))
    return Compared(one, two, headline, singles, clean)


def _clean_errors(scores: Scores) -> npt.NDArray[np.bool_]:
    return wrong(scores.run.read([CLEAN], ["rank"], scores.images)["rank"][:, 0])
