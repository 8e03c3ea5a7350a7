"""Means over all images and cells, estimated from a designed sample of both.

A table has a row per image of the sample and a column per cell; a number is NaN where the image was
not shown under the cell. Every (image, cell) is as likely as any other to be in the sample, and
every cell has about as many images, so the mean of a column is an unbiased estimate, and so is any
score θ = Σ_c a_c μ_c. With r = y − ȳ_c, and n_c images under cell c, an image adds

    E_i = Σ_c a_c r_ic / n_c,    T = Σ_i E_i²

to the estimate's deviation and to its variance: all that was made of an image counts as one. Images
are drawn without replacement from N, which takes S²/N off, S² the variance of Σ_c a_c r_ic over all
cells of an image. It is estimated from the cells that images were shown under together; where few
were, as much of it is taken off as these show for sure.

With another model's numbers f as control, y − λ f takes the place of y, and λ times the mean of f
over all images is added. λ is the slope of y on f within cells, one for all: of thousands of
predictions, so that it hardly hangs on any of them.
"""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.metrics.classification import Floats

# Images beyond one of each class, and of each class, to measure variances within classes.
_BEYOND, _EACH = 100, 2


class SampledMean(NamedTuple):
    """The error of an estimate, and how much it rests on."""

    error: float
    images: int  # that were shown under any of the cells it is made of
    freedom: int
    known: float  # what was taken off the variance, as a part of what is left


class Control(NamedTuple):
    """Numbers of another model, which are known of all images."""

    name: str
    values: Floats  # (images of the sample, columns)
    means: Floats  # (columns,) over all images


class SampledTable:
    """Numbers of one metric: a column of clean images, then one for each cell."""

    def __init__(
        self,
        values: npt.NDArray[Any],
        population: int,
        classes: npt.NDArray[Any] | None = None,
        control: Control | None = None,
    ) -> None:
        """`population` is how many images there are to sample from, `classes` are the strata."""
        self._images, columns = values.shape
        self.population = population
        self._row, self._column = np.nonzero(~np.isnan(values))
        found = values[self._row, self._column].astype(np.float64)
        self.counts = np.bincount(self._column, minlength=columns)
        self.means, self._rest = self._centred(found)
        self.gain = 0.0  # the part of the variance within cells that a control takes off
        if control is not None:
            mean, rest = self._centred(control.values[self._row, self._column].astype(np.float64))
            slope = _dot(self._rest, rest) / (_dot(rest, rest) or 1.0)
            self.means = self.means - slope * (mean - control.means)
            before, self._rest = _dot(self._rest, self._rest), self._rest - slope * rest
            self.gain = 1 - _dot(self._rest, self._rest) / (before or 1.0)
        self._turns = np.bincount(self._row[self._column > 0], minlength=self._images)
        self._strata = _strata(classes)

    def _centred(self, found: Floats) -> tuple[Floats, Floats]:
        """The means of columns, NaN where there is nothing, and what is left of each number."""
        with np.errstate(invalid="ignore"):
            means: Floats = np.bincount(self._column, found, len(self.counts)) / self.counts
        # A mean that is estimated from the same numbers lies too near to them.
        missed = np.sqrt(self.counts / np.maximum(self.counts - 1, 1))
        return means, (found - means[self._column]) * missed[self._column]

    def error_of(self, weights: Floats) -> SampledMean:
        """The standard error of Σ weights · means."""
        # A column that all images have is known.
        used = (weights != 0) & (self.counts < self.population)
        own = np.where(used, weights, 0.0)
        total, between = self._spread(self._by_image(own / np.maximum(self.counts, 1)))
        known = self._known(own, total, between)
        left = max(0.0, total - known)
        shown = len(np.unique(self._row[weights[self._column] != 0]))
        freedom = int(np.maximum(self.counts[used] - 1, 0).sum()) or shown
        off = known / left if left else 0.0
        return SampledMean(float(np.sqrt(left)), shown, max(1, min(freedom, shown - 1)), off)

    def _by_image(self, weights: Floats) -> Floats:
        made = np.bincount(self._row, self._rest * weights[self._column], self._images)
        return np.asarray(made, np.float64)

    def _spread(self, by_image: Floats) -> tuple[float, float]:
        """Σ E², within classes where these are strata, and what lies between them."""
        plain = _dot(by_image, by_image)
        if self._strata is None:
            return plain, 0.0
        labels, sizes = self._strata
        apart = by_image - (np.bincount(labels, by_image) / sizes)[labels]
        within = _dot(apart * apart, (sizes / (sizes - 1))[labels])
        return within, max(0.0, plain - within)

    def _products(self, weights: Floats) -> tuple[Floats, float]:
        """Image by image Σ x x' over its pairs of cells, and Σ x² of all, x = weight · r."""
        x = self._rest * weights[self._column]
        squares = np.bincount(self._row, x * x, self._images)
        return self._by_image(weights) ** 2 - squares, float(squares.sum())

    def _known(self, weights: Floats, total: float, between: float) -> float:
        """What is taken off since images are not drawn twice: S²/N."""
        turns, cells = self._turns, len(weights) - 1
        pairs, shown = int((turns * (turns - 1)).sum()), int(turns.sum())
        if weights[0] != 0 and not weights[1:].any():
            return total * float(self.counts[0]) / self.population
        if weights[0] != 0 or not pairs:
            return 0.0
        products, squares = self._products(weights)
        sure = (products.sum() - np.sqrt((products * products).sum())) / pairs
        of_all = cells * (cells - 1) * sure + cells * squares / shown
        share = float((turns * turns).sum()) / shown**2  # T = S² · share, were it alone
        of_all = min(of_all - between / share, total / share)
        return max(0.0, float(of_all)) / self.population

    def components(self, weights: Floats) -> tuple[float, float]:
        """The variance of an image's score over images, and that of one of its cells within it.

        How alike cells of an image are is taken for as much as it may be: that they are less alike
        than they seem costs little, and the other way round much.
        """
        turns, cells = self._turns, len(weights) - 1
        products, squares = self._products(np.concatenate([[0.0], cells * weights[1:]]))
        pairs, whole = max(1, int((turns * (turns - 1)).sum())), squares / max(1, int(turns.sum()))
        together = float(products.sum() + np.sqrt((products * products).sum())) / pairs
        together = min(max(0.0, together), whole)
        return together + (whole - together) / cells, whole - together


def _dot(a: Floats, b: Floats) -> float:
    """The sum of products, in one order on every machine; BLAS would also wait for its threads."""
    return float((a * b).sum())


def _strata(
    classes: npt.NDArray[Any] | None,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None:
    """Number and size of each image's class, where all classes have as many, or one more."""
    if classes is None or not len(classes):
        return None
    _, labels, sizes = np.unique(classes, return_inverse=True, return_counts=True)
    alike = len(sizes) > 1 and max(_EACH, sizes.max() - 1) <= sizes.min()
    return (labels, sizes) if alike and len(labels) - len(sizes) >= _BEYOND else None
