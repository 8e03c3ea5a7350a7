"""Scores on natural shifts, computed as the benchmarks' authors do.

Ranks and confidences are among the classes whose logits count. A score that is no mean over images
is linearised: each image has the term that it adds to first order, and the mean of the terms is the
score itself, so that resampling them gives its spread.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hardy.metrics.classification import Bools, Floats, wrong
from hardy.metrics.metric import OUTLIERS, SHIFTS, Metric, metric

_BIN = 100  # images of like confidence, as in the authors' script


@metric(
    "accuracy",
    unit="%",
    title="Accuracy",
    kind=SHIFTS,
    single=False,
    lower_is_better=False,
    decides=True,
)
def accuracy(rank: npt.ArrayLike) -> Bools:
    """The share of images whose best class is a right one."""
    return ~wrong(rank)


@metric(
    "top-5 accuracy",
    unit="%",
    kind=SHIFTS,
    single=False,
    lower_is_better=False,
    group="errors",
    report="files",
)
def top5_accuracy(rank: npt.ArrayLike) -> Bools:
    """The share of images that have a right class among the five best."""
    return ~wrong(rank, 5)


def _squared_gaps(confidence: npt.ArrayLike, rank: npt.ArrayLike, *, whole: bool = True) -> Floats:
    """Per image a term whose mean over axis 0 is Σ_b (n_b / n) g_b², where g_b is the mean of
    d = confidence − right in bin b.

    Bins hold 100 images of like confidence, the last one the remainder too. g (2 d − g) has the
    mean g² over a bin, and its spread is that of g² to first order. Without `whole` the last bin
    counts for nothing unless it is the only one.
    """
    sure = np.asarray(confidence, np.float64)
    gap = sure - ~wrong(rank)
    terms = np.zeros(gap.shape)
    bins = max(1, len(sure) // _BIN)
    counted = bins if whole else max(1, bins - 1)
    for column in np.ndindex(gap.shape[1:]):
        every = (slice(None), *column)
        order = np.argsort(sure[every], kind="stable")
        for some in np.split(order, _BIN * np.arange(1, bins))[:counted]:
            off = gap[every][some].mean()
            terms[(some, *column)] = off * (2 * gap[every][some] - off)
    return terms


def _most_gaps(confidence: npt.ArrayLike, rank: npt.ArrayLike) -> Floats:
    return _squared_gaps(confidence, rank, whole=False)


def _all_gaps(confidence: npt.ArrayLike, rank: npt.ArrayLike) -> Floats:
    return _squared_gaps(confidence, rank)


def _root(means: npt.ArrayLike) -> Floats:
    return np.sqrt(np.maximum(np.asarray(means, np.float64), 0.0))


@metric(
    "RMS calibration error",
    of=Metric("squared gaps of most bins", _most_gaps, kind=SHIFTS, most=1.0),
    unit="%",
    kind=SHIFTS,
    single=False,
)
def rms_calibration(means: npt.ArrayLike) -> Floats:
    """How far confidence is from accuracy: the root mean square over bins of 100 images of like
    confidence, without the most confident bin, which the authors' script leaves out.

    It is biased upwards: of 100 images the accuracy itself varies.
    """
    return _root(means)


@metric(
    "full RMS calibration error",
    of=Metric("squared gaps", _all_gaps, kind=SHIFTS, most=1.0),
    unit="%",
    kind=SHIFTS,
    single=False,
    group="calibration",
    report="files",
)
def full_rms_calibration(means: npt.ArrayLike) -> Floats:
    """The RMS calibration error over all bins."""
    return _root(means)


@metric("AUPR", unit="%", kind=OUTLIERS, single=False, lower_is_better=False, decides=True)
def aupr(confidence: npt.ArrayLike, rank: npt.ArrayLike) -> Floats:
    """The area under the precision-recall curve of outliers, told by low confidence: their average
    precision. Chance has their share of all images.

    AP = mean over outliers i of A_i / B_i, the shares of outliers (A) and of all images (B) that
    are no more confident than i. An image without a right class is an outlier, of rank −1.
    """
    return _each_column(_precision_terms, confidence, rank)


@metric("AUROC", unit="%", kind=OUTLIERS, single=False, lower_is_better=False)
def auroc(confidence: npt.ArrayLike, rank: npt.ArrayLike) -> Floats:
    """The share of pairs of an outlier and another image of which the outlier is less confident,
    equals counted half."""
    return _each_column(_pair_terms, confidence, rank)


def _each_column(
    terms: Callable[[Floats, Bools], Floats], confidence: npt.ArrayLike, rank: npt.ArrayLike
) -> Floats:
    sure, ranks = np.asarray(confidence, np.float64), np.asarray(rank)
    made = np.empty(sure.shape)
    for column in np.ndindex(sure.shape[1:]):
        every = (slice(None), *column)
        made[every] = terms(sure[every], ranks[every] < 0)
    return made


def _precision_terms(sure: Floats, outlier: Bools) -> Floats:
    """What each image adds to AP = mean(outlier · A / B) / p, with A, B as above and the outliers'
    share p: through A and B of those at least as confident, through the mean, and through p."""
    number, share = len(sure), outlier.mean()
    if share in (0.0, 1.0):
        return np.full(number, share)
    values, place, counts = np.unique(sure, return_inverse=True, return_counts=True)
    hits = np.bincount(place, outlier, minlength=len(values))
    precision = np.cumsum(hits) / np.cumsum(counts)
    area = float(hits @ precision) / hits.sum()
    # What the images from a value up lose or win by one more image below it.
    moved = hits / np.cumsum(counts)
    from_here = np.cumsum(moved[::-1])[::-1]
    lost = np.cumsum((moved * precision)[::-1])[::-1]
    through = outlier * from_here[place] - lost[place]
    terms: Floats = (outlier * precision[place] + through - area * outlier) / share + area
    return terms


def _pair_terms(sure: Floats, outlier: Bools) -> Floats:
    """An outlier has the share of others above it, another image that of outliers below it."""
    number, share = len(sure), outlier.mean()
    if share in (0.0, 1.0):
        return np.full(number, 0.5)
    values, place = np.unique(sure, return_inverse=True)
    found = []
    for some in (outlier, ~outlier):
        counts = np.bincount(place, some, minlength=len(values))
        found.append(((np.cumsum(counts) - counts / 2) / counts.sum())[place])
    below, above = found[0], 1 - found[1]
    area = float(above[outlier].mean())
    part = np.where(outlier, (above - area) / share, (below - area) / (1 - share))
    terms: Floats = area + part
    return terms
