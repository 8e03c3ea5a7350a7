"""Balanced sets of corruptions, drawn from categories, and how evenly any set covers these."""

from collections.abc import Sequence
from math import comb
from typing import NamedTuple

import numpy as np

from hardy.design.categories import Categories
from hardy.errors import InputError
from hardy.registry import unknown

_MOST_SETS = 10_000  # each is printed, or a file


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


def measure_balance(categories: Categories, names: Sequence[str]) -> Measures:
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
    if count > _MOST_SETS:
        raise InputError(f"expected sets up to {_MOST_SETS:,}, got {count:,}; ask for fewer")
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
