"""What clean accuracy predicts: a line through models, in logits (Taori et al. 2020).

Accuracies under a shift lie close to a line over clean ones once both are logits, log(p / (1 − p)).
What a model has beyond the line of models that were trained for accuracy alone is its effective
robustness.
"""

import math
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from hardy.errors import InputError
from hardy.metrics.intervals import LEVEL, Interval
from hardy.metrics.laws import student_quantile

_FEWEST = 5  # of a line whose residuals tell anything


class LogitFit(NamedTuple):
    """logit(accuracy) = intercept + slope · logit(clean accuracy), by least squares over models."""

    intercept: float
    slope: float  # above 0
    number: int  # of models
    spread: float  # of their accuracies around the line, in points: √(Σ r² / (n − 2))
    low: float  # the least and the most clean accuracy among them
    high: float
    middle: float  # the mean of the clean logits, and the sum of squares around it
    squares: float
    residual: float  # of the logits around the line: √(Σ r² / (n − 2))

    def predict(self, clean: float) -> float:
        """The accuracy, in percent like the clean one; of 0 and 100, which have no logit, the
        limit."""
        if not 0 < clean < 100:
            return min(100.0, max(0.0, clean))
        return 100 / (1 + math.exp(-self.intercept - self.slope * _logit(clean)))

    def interval(self, clean: float) -> Interval:
        """Where the line may be at this clean accuracy, in percent: the 95 % interval of a
        regression's mean, in logits, by Student's law."""
        if not 0 < clean < 100:
            return Interval(self.predict(clean), self.predict(clean))
        away = (_logit(clean) - self.middle) ** 2 / self.squares
        half = student_quantile(LEVEL, self.number - 2) * self.residual
        half *= math.sqrt(1 / self.number + away)
        low, high = (self._replace(intercept=self.intercept + one) for one in (-half, half))
        return Interval(low.predict(clean), high.predict(clean))

    def reach(self) -> str:
        """Where the models are, in words."""
        return f"as its models have {self.low:.1f} to {self.high:.1f} % clean accuracy"

    def beyond(self, clean: float) -> bool:
        """Whether the line is drawn out to there, past all models that it was fitted to."""
        return not self.low <= clean <= self.high


def has_logit(clean: float, accuracy: float) -> bool:
    """Whether a model can count: not one that is always wrong, or always right."""
    return 0 < clean < 100 and 0 < accuracy < 100


def fit_logits(points: Iterable[tuple[float, float]]) -> LogitFit:
    """The line through pairs of clean accuracy and accuracy, in percent. Those without a logit are
    left out."""
    pairs = [pair for pair in points if has_logit(*pair)]
    if len(pairs) < _FEWEST:
        raise InputError(
            f"expected at least {_FEWEST} models of standard training with both accuracies "
            f"above 0 and below 100 %, got {len(pairs)}"
        )
    x, y = (np.array([_logit(pair[side]) for pair in pairs]) for side in (0, 1))
    apart = x - x.mean()
    square = float(apart @ apart)
    slope = float(apart @ y) / square if square > 0 else 0.0
    if slope <= 0:
        raise InputError(
            f"expected accuracy to rise with clean accuracy over {len(pairs)} models, got a line "
            "that does not"
        )
    clean = [pair[0] for pair in pairs]
    middle = float(x.mean())
    intercept = float(y.mean()) - slope * middle
    rest = y - intercept - slope * x
    residual = math.sqrt(float(rest @ rest) / (len(pairs) - 2))
    ends = (min(clean), max(clean))
    line = LogitFit(intercept, slope, len(pairs), 0.0, *ends, middle, square, residual)
    off = sum((right - line.predict(one)) ** 2 for one, right in pairs)
    return line._replace(spread=math.sqrt(off / (len(pairs) - 2)))


def effective_interval(
    line: LogitFit, clean: tuple[float, Interval], accuracy: tuple[float, Interval]
) -> tuple[float, Interval]:
    """Accuracy beyond the line, in points, and its interval.

    The two accuracies are of different images, and the line of other models: so the distances from
    each to its ends are added in squares (Zou & Donner 2008).
    """
    (right, ends), predicted = accuracy, line.predict(clean[0])
    least, most = (line.predict(end) for end in clean[1])
    under, over = line.interval(clean[0])
    beyond = right - predicted
    return beyond, Interval(
        beyond - math.hypot(right - ends.low, most - predicted, over - predicted),
        beyond + math.hypot(ends.high - right, predicted - least, predicted - under),
    )


def _logit(percent: float) -> float:
    return math.log(percent / (100 - percent))
