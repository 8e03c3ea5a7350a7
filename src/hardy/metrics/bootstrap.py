"""The bootstrap over source images, all variants of an image drawn together.

A row holds what one source image contributed to all cells. Rows are drawn with replacement, so the
correlation among the variants of an image is kept whatever it is. Equal numbers of rows, strata and
seeds draw equal rows: two models' replicates on the same images are paired.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.classification import Floats

REPLICATES = 1000

# Images drawn at a time, 16 MB per array of them; counts of them kept, of a byte each; and rows
# multiplied at a time. Few large products: between threads each costs a wait.
_CHUNK = 2_000_000
_KEPT = 2**26
_BLOCK = 4096
# Whole numbers up to this are exact in single precision, and so are their sums.
_EXACT = 2**24


class Resampling(NamedTuple):
    """How images are drawn."""

    replicates: int = REPLICATES
    seed: int = 0
    strata: npt.NDArray[np.int64] | None = None  # the class of each image, where that was fixed
    clusters: npt.NDArray[np.int64] | None = None  # images of one number are drawn together
    units: str = "icons"  # what clusters are

    def __str__(self) -> str:
        within = ", within classes" if self.strata is not None else ""
        over = self.units if self.clusters is not None else "images"
        return f"{self.replicates:,} bootstrap replicates over {over}, seed {self.seed}{within}"


def resample_means(columns: npt.ArrayLike, how: Resampling | None = None) -> Floats:
    """Replicates of the column means of (images, columns): (replicates, columns).

    Of the n_h images of a stratum n_h − 1 are drawn and weighted n_h/(n_h − 1) (Rao & Wu 1988),
    which makes the variance of a mean the unbiased one, down to two images per class. Without
    strata all images are one stratum.
    """
    (means,) = resample_tables([columns], how)
    return means


def resample_tables(tables: Sequence[npt.ArrayLike], how: Resampling | None = None) -> list[Floats]:
    """`resample_means` of each of several arrays, from one drawing of their images."""
    how = how or Resampling()
    arrays = [np.asarray(table) for table in tables]
    if how.clusters is not None:
        arrays = [_by_cluster(values, how.clusters) for values in arrays]
    number = len(arrays[0])
    for values in arrays:
        if len(values) == 1:
            raise InputError("expected at least 2 images for scores with intervals, got 1")
        if values.ndim != 2 or len(values) < 2 or len(values) != number:
            raise InputError(
                f"expected at least 2 images to resample, as an array (images, columns), got shape "
                f"{values.shape}"
            )
    slots = _slots(number, how.strata)
    prepared = [_prepare(values, slots) for values in arrays]
    means = [np.zeros((how.replicates, values.shape[1])) for values in arrays]
    start = 0
    for counts in _draws(slots, how):
        stop = start + len(counts)
        for first in range(0, number, _BLOCK):
            rows = slice(first, first + _BLOCK)
            for found, (values, _) in zip(means, prepared, strict=True):
                found[start:stop] += counts[:, rows].astype(values.dtype) @ values[rows]
        start = stop
    return [found * scale for found, (_, scale) in zip(means, prepared, strict=True)]


def _by_cluster(values: npt.NDArray[Any], clusters: npt.NDArray[np.int64]) -> Floats:
    """A row per cluster in the place of its images, whose mean over clusters is theirs over images.

    With the mean m of all n images, of which cluster c has n_c with the sum S_c, and C clusters, it
    is m + C (S_c − n_c m) / n: the ratio of two sums over clusters, linearised.
    """
    exact = values.astype(np.float64)
    mean = exact.mean(axis=0)
    _, places = np.unique(clusters, return_inverse=True)
    sums = np.zeros((int(places.max()) + 1, exact.shape[1]))
    np.add.at(sums, places, exact - mean)
    rows: Floats = mean + len(sums) * sums / len(exact)
    return rows


def freedom(number: int, strata: npt.NDArray[np.int64] | None = None) -> int:
    """The degrees of freedom of a spread over images: how many are drawn, one less per stratum."""
    return len(_slots(number, strata).first)


def _prepare(values: npt.NDArray[Any], slots: _Slots) -> tuple[npt.NDArray[Any], float]:
    """Rows in the order of the strata, and what their weighted sums are multiplied by.

    Small whole numbers under one weight are summed in single precision, which is twice as fast and
    exact.
    """
    number = len(values)
    whole = values.dtype == np.bool_ or np.issubdtype(values.dtype, np.unsignedinteger)
    if whole and (slots.weight == slots.weight[0]).all() and int(values.max()) * number < _EXACT:
        return values[slots.order].astype(np.float32), float(slots.weight[0]) / number
    scaled = values[slots.order].astype(np.float64)
    scaled *= slots.weight[:, None]
    return scaled, 1 / number


def _draws(slots: _Slots, how: Resampling) -> Iterator[npt.NDArray[np.uint8]]:
    """How often each row is drawn, many replicates at a time: (replicates, images)."""
    number = len(slots.order)
    generator = np.random.Generator(np.random.PCG64(how.seed))
    kept, chunk = max(1, _KEPT // number), max(1, _CHUNK // number)
    for first in range(0, how.replicates, kept):
        # A byte is enough: a stratum of 257 images or more has none that is drawn 256 times.
        counts = np.empty((min(kept, how.replicates - first), number), np.uint8)
        for start in range(0, len(counts), chunk):
            part = counts[start : start + chunk]
            drawn = generator.random((len(part), len(slots.first)))
            drawn *= slots.size
            index = drawn.astype(np.int64)
            index += slots.first
            index += number * np.arange(len(part))[:, None]
            part[:] = np.bincount(index.ravel(), minlength=part.size).reshape(part.shape)
        yield counts


class _Slots(NamedTuple):
    order: npt.NDArray[np.int64]  # the rows, stratum by stratum
    weight: Floats  # of each row in that order
    first: npt.NDArray[np.int64]  # per draw, the first row of its stratum
    size: npt.NDArray[np.int64]  # per draw, the size of its stratum


def _slots(number: int, strata: npt.NDArray[np.int64] | None) -> _Slots:
    labels = np.zeros(number, np.int64) if strata is None else np.asarray(strata)
    if labels.shape != (number,):
        raise InputError(
            f"expected one stratum per image, {number} in all, got shape {labels.shape}"
        )
    _, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    # An image alone in its class has no spread to measure: such images form one stratum together,
    # and a single one joins the smallest of the others. Either way the interval gets wider.
    alone = sizes == 1
    if alone.sum() == 1:
        others = np.where(alone, number + 1, sizes)
        labels[labels == alone.argmax()] = others.argmin()
    else:
        labels = np.where(alone[labels], -1, labels)
    order = np.argsort(labels, kind="stable")
    _, starts, sizes = np.unique(labels[order], return_index=True, return_counts=True)
    return _Slots(
        order,
        np.repeat(sizes / (sizes - 1), sizes),
        np.repeat(starts, sizes - 1),
        np.repeat(sizes, sizes - 1),
    )
