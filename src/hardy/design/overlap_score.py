"""How much two corruptions have in common: what training with one does for the other.

With R_i(j) the robustness to corruption j of the model trained with i, and R_0 of the clean one,

    O(i, j) = max(0, ½ · [(R_i(j) − R_0(j)) / (R_j(j) − R_0(j))
                        + (R_j(i) − R_0(i)) / (R_i(i) − R_0(i))])

The first fraction is the share of the robustness to j that training with i brings, of what training
with j itself brings. Two forms are published: R_i(j) = A[i, j] / A[i, 0] ("ratio", ImageNet-NOC,
2020), and R_i(j) = A[i, j] ("raw", BMVC 2021). The floor is under the average, not under each
fraction, and nothing keeps a value below 1.

Where training with j does not help against j, its denominator is 0 or less and the quotient means
nothing: O(i, j) is then NaN for all i ≠ j, and `Overlap.undefined` says so.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from hardy.design.accuracy import Accuracy
from hardy.metrics import Resampling, resample_means
from hardy.metrics.classification import Floats
from hardy.metrics.intervals import LEVEL
from hardy.registry import unknown

Form = Literal["ratio", "raw"]
FORMS: tuple[Form, ...] = ("ratio", "raw")
_MOST_NAMED = 5  # pairs in a line
# A denominator below it counts as 0: rounding makes less of equal ratios, and one more right answer
# in 50,000 makes more.
_LEAST_GAIN = 1e-12


@dataclass(frozen=True, eq=False)
class Overlap:
    """Symmetric, 1 on the diagonal; `low` and `high` are 95 % intervals, where there are any."""

    form: Form
    names: tuple[str, ...]
    values: Floats  # (n, n)
    undefined: tuple[str, ...]  # why some are NaN, in words
    low: Floats | None = None
    high: Floats | None = None

    @property
    def without(self) -> tuple[str, ...]:
        """Corruptions that have no overlap with any other: a design has to leave them out."""
        lone = np.isnan(self.values).sum(axis=1) == len(self.names) - 1
        return tuple(name for name, gone in zip(self.names, lone, strict=True) if gone)

    @property
    def doubtful(self) -> npt.NDArray[np.bool_]:
        """Which scores have an interval without an upper end: a denominator may be chance."""
        return np.zeros(self.values.shape, bool) if self.high is None else np.isinf(self.high)

    def doubts(self) -> str | None:
        """The doubtful pairs in words; a gain that may be chance makes all overlaps of its
        corruption doubtful."""
        doubtful = self.doubtful
        number = int(doubtful.sum()) // 2
        if not number:
            return None
        many = doubtful.sum(axis=1)
        whole = (many > 1) & (many == np.isfinite(self.values).sum(axis=1) - 1)
        named = [f"{self.names[k]} with all others" for k in np.flatnonzero(whole)]
        pairs = np.argwhere(np.triu(doubtful & ~whole[:, None] & ~whole))
        named += [f"{self.names[a]} and {self.names[b]}" for a, b in pairs[:_MOST_NAMED]]
        if len(pairs) > _MOST_NAMED:
            named.append(f"{len(pairs) - _MOST_NAMED:,} more")
        return (
            f"{number:,} overlap{'' if number == 1 else 's'} ({self.form}) cannot be told from "
            f"chance, since training helps too little: {', '.join(named)}"
        )


def score_overlap(accuracy: Accuracy, form: Form) -> Overlap:
    """The published score of all pairs."""
    values = scores(accuracy.values, form)
    return Overlap(form, accuracy.names, values, _undefined(accuracy, form))


def resampled_overlap(accuracy: Accuracy, replicates: Floats, form: Form) -> Overlap:
    """The same with intervals, from replicates of the accuracies (replicates, n + 1, n + 1).

    A replicate in which a score is undefined might have been anything: it counts as 0 for the lower
    end and as infinite for the upper one. So an upper end is infinite where the denominator cannot
    be told from 0.
    """
    found = score_overlap(accuracy, form)
    drawn = scores(replicates, form)
    tails = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
    ends = [
        _quantile(np.where(np.isnan(drawn), worst, drawn), tail)
        for tail, worst in zip(tails, (0.0, np.inf), strict=True)
    ]
    low, high = (np.where(np.isnan(found.values), np.nan, end) for end in ends)
    return Overlap(form, found.names, found.values, found.undefined, low, high)


def resample_accuracy(
    correct: npt.NDArray[np.uint8], severities: Floats, how: Resampling | None = None
) -> Floats:
    """Replicates (replicates, n + 1, n + 1) of the accuracies, drawn over images.

    `correct` is (images, n + 1 models, n + 1 corruptions): at how many of a corruption's severities
    the model was right. An image is drawn with all that all models made of it.
    """
    images, side, _ = correct.shape
    means = resample_means(correct.reshape(images, -1), how)
    return means.reshape(-1, side, side) / severities


def scores(accuracy: Floats, form: Form) -> Floats:
    """The formula for one accuracy matrix or many: (..., n + 1, n + 1) to (..., n, n)."""
    if form not in FORMS:
        raise unknown("form of overlap", form, FORMS)
    robustness = accuracy
    if form == "ratio":
        clean = accuracy[..., :, :1]
        robustness = np.divide(accuracy, clean, out=np.full_like(accuracy, np.nan), where=clean > 0)
    gain = robustness[..., 1:, 1:] - robustness[..., :1, 1:]  # [i, j]: of training with i, on j
    own = np.diagonal(gain, axis1=-2, axis2=-1)[..., None, :]
    share = np.divide(gain, own, out=np.full_like(gain, np.nan), where=own > _LEAST_GAIN)
    mean = (share + np.swapaxes(share, -2, -1)) / 2
    floored = np.where(mean < 0, 0.0, mean)  # keeps NaN
    diagonal = np.arange(gain.shape[-1])
    floored[..., diagonal, diagonal] = 1.0
    return floored


def _undefined(accuracy: Accuracy, form: Form) -> tuple[str, ...]:
    values = accuracy.values
    reasons = []
    if form == "ratio" and values[0, 0] <= 0:
        reasons.append("the clean model is never right on clean images")
    for place, name in enumerate(accuracy.names, 1):
        own, clean = values[place], values[0]
        by, by_clean, told = 1.0, 1.0, ""
        if form == "ratio":
            by, by_clean = own[0], clean[0]
            told = f" ({100 * own[0]:.2f} % and {100 * clean[0]:.2f} % on clean images)"
        if by <= 0:
            reasons.append(f"{name}: its model is never right on clean images")
        elif by_clean > 0 and own[place] / by - clean[place] / by_clean <= _LEAST_GAIN:
            reasons.append(
                f"{name}: training with it does not help against it, accuracy "
                f"{100 * own[place]:.2f} % against {100 * clean[place]:.2f} % of the clean model"
                f"{told}"
            )
    return tuple(reasons)


def _quantile(values: Floats, share: float) -> Floats:
    """Weibull's quantile, as in `percentile_interval`; infinite where it touches infinity."""
    ordered = np.sort(values, axis=0)
    place = share * (len(values) + 1) - 1
    lower, upper = np.clip([np.floor(place), np.ceil(place)], 0, len(values) - 1).astype(int)
    below, above = ordered[lower], ordered[upper]
    known = np.isfinite(above)
    step = np.subtract(above, below, out=np.full_like(above, np.inf), where=known)
    return np.where(known, below + (place - np.floor(place)) * np.where(known, step, 0), np.inf)
