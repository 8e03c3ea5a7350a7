"""A stand-in for overlap that trains one model, not n + 1: how alike corruptions move its features,
or which images they cost it.

With f(x) the last hidden layer of a model trained on clean images, corruption c shifts it by
δ_c(x) = f(c(x)) − f(x). Two corruptions are alike as

    distance   −‖mean δ_a − mean δ_b‖: what chose the corruptions of ImageNet-C̄
    shift      the cosine of mean δ_a and mean δ_b
    by_class   the same with the mean over each class apart, all in one long row
    by_image   Σ δ_a(x)·δ_b(x) / √(Σ ‖δ_a(x)‖² · Σ ‖δ_b(x)‖²), over images
    errors     Σ min(l_a(x), l_b(x)) / Σ max(l_a(x), l_b(x)), over images: Jaccard's index

where l_c(x), of an image that the model gets right when clean, is the share of the severities of c
at which it gets it wrong, and 0 of any other image.
"""

import io
import lzma
import math
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
import numpy.typing as npt

from hardy.design.accuracy import check_names
from hardy.errors import InputError
from hardy.files import write_file
from hardy.limits import check_archive
from hardy.metrics import Interval, percentile_interval
from hardy.metrics.classification import Floats
from hardy.metrics.statistics import average_ranks, pearson, spearman

# What reading a damaged .npz may raise; a TypeError where it is a lone array.
DAMAGED = (
    OSError,
    EOFError,
    ValueError,
    KeyError,
    TypeError,
    RuntimeError,
    MemoryError,
    BadZipFile,
    zlib.error,
    lzma.LZMAError,
)
REPLICATES = 1000
LEAST = 4  # corruptions, 6 pairs


class Features(NamedTuple):
    names: tuple[str, ...]
    shifts: Floats  # (n, classes, features): mean δ over the images of each class
    sizes: Floats  # (classes,): images of each
    products: Floats  # (n, n): Σ δ_a(x)·δ_b(x)


def similarities(features: Features) -> dict[str, Floats]:
    """Symmetric, larger for what is more alike; of a corruption that moves nothing NaN."""
    check_names(features.names)
    share = features.sizes / features.sizes.sum()
    mean = np.tensordot(features.shifts, share, (1, 0))
    apart = np.linalg.norm(mean[:, None] - mean[None], axis=2)
    weighted = features.shifts * np.sqrt(share)[:, None]
    rows = weighted.reshape(len(weighted), -1)
    return {
        "distance": -apart,
        "shift": _normalised(mean @ mean.T),
        "by_class": _normalised(rows @ rows.T),
        "by_image": _normalised(features.products),
    }


def shared_errors(correct: npt.NDArray[np.uint8], severities: Floats) -> Floats:
    """Jaccard's index of the images that two corruptions cost the clean model.

    `correct` (images, n + 1), clean images first, says at how many severities it was right.
    Symmetric, 1 on the diagonal; of a corruption that costs nothing NaN.
    """
    lost = correct[:, :1] * (1 - correct[:, 1:] / severities[1:])
    smaller = np.stack([np.minimum(lost, one[:, None]).sum(axis=0) for one in lost.T])
    each = np.diagonal(smaller)
    larger = each[:, None] + each - smaller
    nothing = np.full_like(smaller, np.nan)
    return np.asarray(np.divide(smaller, larger, out=nothing, where=np.outer(each, each) > 0))


def _normalised(products: Floats) -> Floats:
    length = np.sqrt(np.diagonal(products))
    scale = np.outer(length, length)
    nothing = np.full_like(products, np.nan)
    return np.asarray(np.divide(products, scale, out=nothing, where=scale > 0))


class Agreement(NamedTuple):
    """Spearman's ρ between two matrices, over pairs of corruptions."""

    rho: float
    interval: Interval  # 95 %, corruptions drawn with replacement
    p_value: float  # one-sided: orders of the corruptions that agree as well or better
    pairs: int

    def __str__(self) -> str:
        low, high = self.interval
        return (
            f"Spearman's ρ {self.rho:.2f} [{low:.2f} to {high:.2f}] over {self.pairs} pairs, "
            f"p {'≤' if self.p_value <= 1 / REPLICATES else '='} {self.p_value:.3f}"
        )


def agree(one: Floats, two: Floats, seed: int = 0) -> Agreement | None:
    """Pairs that share a corruption are not independent, so neither interval nor p-value is that of
    as many points: the bootstrap draws corruptions (a pair of one and itself is left out), and the
    permutation test (Mantel's) puts the corruptions of one matrix in another order.

    Corruptions that one of the matrices has no numbers for are left out; of fewer than 4, there is
    nothing to compare, and neither where the numbers do not differ.
    """
    known = ~(np.isnan(one) | np.isnan(two))
    np.fill_diagonal(known, True)
    kept = np.flatnonzero(known.sum(axis=1) > 1)
    number = len(kept)
    if number < LEAST:
        return None
    one, two = one[np.ix_(kept, kept)], two[np.ix_(kept, kept)]
    rows, columns = np.triu_indices(number, 1)
    rho = spearman(one[rows, columns], two[rows, columns])
    if math.isnan(rho):
        return None
    generator = np.random.Generator(np.random.PCG64(seed))
    interval = _resampled(one, two, generator)
    # Whatever their order, the pairs have the same ranks.
    first, ranks = average_ranks(one[rows, columns]), np.zeros_like(two)
    ranks[rows, columns] = average_ranks(two[rows, columns])
    ranks += ranks.T
    orders = [generator.permutation(number) for _ in range(REPLICATES)]
    beyond = sum(
        pearson(first, ranks[order[rows], order[columns]]) >= rho - 1e-12 for order in orders
    )
    return Agreement(rho, interval, (1 + beyond) / (1 + REPLICATES), len(rows))


def _resampled(one: Floats, two: Floats, generator: np.random.Generator) -> Interval:
    rows, columns = np.triu_indices(len(one), 1)
    drawn = []
    for nodes in generator.integers(len(one), size=(REPLICATES, len(one))):
        a, b = nodes[rows], nodes[columns]
        a, b = a[a != b], b[a != b]
        drawn.append(spearman(one[a, b], two[a, b]))
    return percentile_interval(np.array(drawn)[~np.isnan(drawn)])


def write_features(path: Path, features: Features) -> None:
    data = io.BytesIO()
    held: dict[str, Any] = {name: np.asarray(part) for name, part in features._asdict().items()}
    np.savez(data, **held)
    write_file(path, data.getvalue())


def read_features(path: Path, names: Sequence[str]) -> Features:
    """The features in a file, refused if they are not of these corruptions in this order."""
    check_archive(path)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            found = tuple(map(str, held["names"]))
            # A member that is no array comes as bytes.
            parts = (np.asarray(held[name]) for name in ("shifts", "sizes", "products"))
            features = Features(found, *parts)
        if found != tuple(names):
            raise ValueError(f"of {', '.join(names)}, in this order")
        check_features(features)
    except DAMAGED as error:
        raise InputError(
            f"{path}: expected the features of an overlap ({error}); delete it and the clean "
            "model's finished.json, and the same `hardy overlap` measures them again"
        ) from error
    return features


def check_features(features: Features) -> None:
    """Check features from a file that anybody may have written."""
    names, shifts, sizes, products = features
    for name, part, sides in (
        ("shifts", shifts, 3),
        ("sizes", sizes, 1),
        ("products", products, 2),
    ):
        if part.dtype != np.float64 or part.ndim != sides or not np.isfinite(part).all():
            raise ValueError(f"{name} as finite numbers in {sides} dimensions")
    if shifts.shape[:2] != (len(names), len(sizes)) or products.shape != (len(names),) * 2:
        raise ValueError(f"shapes for {len(names)} corruptions")
    if (sizes < 0).any() or not sizes.any() or (np.diagonal(products) < 0).any():
        raise ValueError("no numbers below 0 of images and of squares, and some images")
