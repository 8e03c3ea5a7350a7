"""Categories of corruptions, by K-means over their rows of the overlap matrix; balanced sets drawn
from them; and how far any set covers and balances them."""

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.design.matrix import Matrix
from hardy.errors import InputError
from hardy.metrics.classification import Floats
from hardy.progress import Track, untracked
from hardy.registry import unknown

Ints = npt.NDArray[np.int64]

ENOUGH = 0.5  # mean correlation within categories at which the published rule stops
RESTARTS, STEPS = 1000, 1000  # of K-means
ROUNDING = 1e-9
MOST_SETS = 10_000  # each is printed, or a file


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
            return Categories(_groups(matrix.names, labels), inside)
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
    return [k for k in range(2, number) if most[_pairs(number, k) - 1] > ENOUGH - ROUNDING]


def _pairs(number: int, k: int) -> int:
    """The number of pairs within k groups of even size."""
    size, larger = divmod(number, k)
    return k * size * (size - 1) // 2 + larger * size


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


def _groups(names: tuple[str, ...], labels: Ints) -> tuple[tuple[str, ...], ...]:
    found: dict[int, list[str]] = {}
    for name, label in zip(names, labels.tolist(), strict=True):
        found.setdefault(label, []).append(name)
    return tuple(map(tuple, found.values()))


class Measures(NamedTuple):
    """How a set of corruptions covers and balances the categories of a matrix."""

    counts: tuple[int, ...]  # of each category
    coverage: float  # share of the categories that have a corruption in the set
    balance: float  # standard deviation of the counts, without categories that have none; 0: even

    def __str__(self) -> str:
        represented = sum(count > 0 for count in self.counts)
        return (
            f"coverage {self.coverage:.2f} ({represented} of {len(self.counts)} categories), "
            f"balance {self.balance:.2f} (standard deviation of corruptions per represented "
            "category; 0: even)"
        )


def check_known(every: Sequence[str], names: Sequence[str]) -> None:
    """Refuse corruptions that a matrix does not have."""
    for name in names:
        if name not in every:
            raise unknown("corruption of the matrix", name, every)


def measure(categories: Categories, names: Sequence[str]) -> Measures:
    """Coverage and balance of a set."""
    check_known(tuple(name for group in categories.groups for name in group), names)
    if not names:
        raise InputError("expected a set of corruptions to measure, got none")
    counts = np.array([len(set(group) & set(names)) for group in categories.groups])
    there = counts[counts > 0]
    return Measures(tuple(counts.tolist()), len(there) / len(counts), float(there.std()))


def draw_balanced(
    categories: Categories, represented: int, each: int, count: int = 1, seed: int = 0
) -> list[tuple[str, ...]]:
    """`count` different sets of `each` corruptions from each of `represented` categories.

    Every such set is as likely as every other. (The original draws categories first, which favours
    sets from small ones, and never ends where there are fewer sets than asked for.)
    """
    if min(represented, each, count) < 1:
        raise InputError(
            f"expected 1 or more categories, corruptions each, and sets, got {represented}, {each} "
            f"and {count}"
        )
    if count > MOST_SETS:
        raise InputError(f"expected sets up to {MOST_SETS:,}, got {count:,}; ask for fewer")
    ways = [comb(len(group), each) for group in categories.groups]
    totals = _totals(ways, min(represented, len(ways)))
    there = totals[-1][represented] if represented <= len(ways) else 0
    if there < count:
        able = sum(way > 0 for way in ways)
        raise InputError(
            f"expected {count:,} different sets of {represented:,} categories with {each:,} "
            f"corruptions each, but there are {there:,}: {able} of {len(ways)} categories have "
            f"{each:,} or more; ask for fewer"
        )
    generator = np.random.Generator(np.random.PCG64(seed))
    found: dict[tuple[str, ...], None] = {}
    while len(found) < count:
        found[_draw(categories, ways, totals, represented, each, generator)] = None
    return list(found)


def _totals(ways: list[int], most: int) -> list[list[int]]:
    """[g][n]: in how many ways sets of n categories come from the first g groups."""
    totals = [[1] + [0] * most]
    for way in ways:
        before = totals[-1]
        totals.append([1, *(before[n] + way * before[n - 1] for n in range(1, most + 1))])
    return totals


def _draw(
    categories: Categories,
    ways: list[int],
    totals: list[list[int]],
    represented: int,
    each: int,
    generator: np.random.Generator,
) -> tuple[str, ...]:
    """One set: from the last group to the first, each is in with the share of sets that have it."""
    chosen: list[str] = []
    needed = represented
    for place in range(len(ways), 0, -1):
        within = ways[place - 1] * totals[place - 1][needed - 1] if needed else 0
        if generator.random() * totals[place][needed] < within:
            group = categories.groups[place - 1]
            members = np.sort(generator.choice(len(group), each, replace=False))
            chosen = [*(group[member] for member in members), *chosen]
            needed -= 1
    return tuple(chosen)
