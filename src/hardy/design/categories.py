"""Categories of corruptions, by K-means over their rows of the overlap matrix."""

from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.design.matrix import ROUNDING, Matrix
from hardy.metrics.classification import Floats
from hardy.progress import Track, untracked

Ints = npt.NDArray[np.int64]

ENOUGH = 0.5  # mean correlation within categories at which the published rule stops
RESTARTS, STEPS = 1000, 1000  # of K-means


class Categories(NamedTuple):
    groups: tuple[tuple[str, ...], ...]  # in the order of their first members
    correlation: float  # mean within the groups; NaN where each has one member


def categorise(matrix: Matrix, seed: int = 0, track: Track = untracked) -> Categories:
    """Categories by the published stopping rule: K = 2, 3, ... until the mean Pearson correlation
    between the rows of two corruptions of the same category exceeds 0.5.

    K-means is the best of 1,000 restarts of up to 1,000 steps; with the 100 that are published it
    is left to chance whether the best grouping is found. Here a seed decides, and hardly matters.
    Where no K will do, each corruption is a category of its own. A K that cannot do is not tried,
    which changes nothing; `track` gets those that may.
    """
    rows = matrix.values
    correlation = correlations(rows)
    few_enough = possible(correlation)
    for k in track(few_enough, len(few_enough), "numbers of categories"):
        labels = k_means(rows, k, np.random.Generator(np.random.PCG64([seed, k])))
        inside = within(correlation, labels)
        if inside > ENOUGH:
            groups: dict[int, list[str]] = {}
            for name, label in zip(matrix.names, labels.tolist(), strict=True):
                groups.setdefault(label, []).append(name)
            return Categories(tuple(map(tuple, groups.values())), inside)
    return Categories(tuple((name,) for name in matrix.names), float("nan"))


def correlations(rows: Floats) -> Floats:
    """Pearson's correlation of all pairs of rows; 0 with a row that does not vary."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    unit = np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)
    return np.asarray(unit @ unit.T)


def within(correlation: Floats, labels: Ints) -> float:
    """The mean correlation over ordered pairs of different members of one group."""
    same = labels[:, None] == labels[None, :]
    np.fill_diagonal(same, False)
    return float(correlation[same].mean()) if same.any() else float("nan")


def possible(correlation: Floats) -> list[int]:
    """The K from 2 to n − 1 with which the mean within categories may exceed 0.5.

    K categories have at least as many pairs within as K of even size, and the mean of so many
    pairs or more is at most that of the so many largest correlations.
    """
    number = len(correlation)
    largest = np.sort(correlation[np.triu_indices(number, 1)])[::-1]
    most = np.cumsum(largest) / np.arange(1, len(largest) + 1)
    pairs = {k: sum(comb((number + j) // k, 2) for j in range(k)) for k in range(2, number)}
    return [k for k, fewest in pairs.items() if most[fewest - 1] > ENOUGH - ROUNDING]


def k_means(rows: Floats, k: int, generator: np.random.Generator) -> Ints:
    """The grouping with the smallest squared distances to the groups' means, of all restarts, which
    are worked on side by side."""
    means = _spread(rows, k, generator)
    labels = np.full((RESTARTS, len(rows)), -1)
    moving = np.arange(RESTARTS)  # those that are not at their end
    for _ in range(STEPS):
        now = _distances(rows, means[moving]).argmin(axis=2)
        changed = (now != labels[moving]).any(axis=1)
        moving, now = moving[changed], now[changed]
        if not len(moving):
            break
        labels[moving] = now
        member = (now[:, None, :] == np.arange(k)[:, None]).astype(np.float64)
        sizes = member.sum(axis=2, keepdims=True)
        # One that lost all of its members stays where it was.
        means[moving] = np.where(sizes > 0, member @ rows / np.maximum(sizes, 1), means[moving])
    chosen = np.take_along_axis(_distances(rows, means), labels[:, :, None], axis=2)
    cost = chosen.sum(axis=(1, 2))
    # Rounding must not choose among equals.
    return np.asarray(labels[np.flatnonzero(cost <= cost.min() + ROUNDING)[0]])


def _spread(rows: Floats, k: int, generator: np.random.Generator) -> Floats:
    """(restarts, k, columns): rows drawn by their squared distance to those already drawn
    (k-means++), each the best of a few."""
    between = np.stack([((rows - row) ** 2).sum(axis=1) for row in rows])
    chosen = [generator.integers(len(rows), size=RESTARTS)]
    far = np.full((RESTARTS, len(rows)), np.inf)
    tries = 2 + int(np.log(k))
    for _ in range(1, k):
        far = np.minimum(far, between[chosen[-1]])
        ends = np.cumsum(far, axis=1)
        # Where there are fewer different rows than groups, all are at 0, and the first will do.
        marks = generator.random((RESTARTS, tries)) * ends[:, -1:]
        drawn = (ends[:, None, :] > marks[:, :, None]).argmax(axis=2)
        left = np.minimum(far[:, None, :], between[drawn]).sum(axis=2)
        chosen.append(drawn[np.arange(RESTARTS), left.argmin(axis=1)])
    return rows[np.stack(chosen, axis=1)]


def _distances(rows: Floats, means: Floats) -> Floats:
    """(restarts, rows, groups), squared, but for what is the same for all groups of a row."""
    return np.asarray((means**2).sum(axis=2)[:, None, :] - 2 * rows @ np.swapaxes(means, 1, 2))
