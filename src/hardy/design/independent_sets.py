"""A largest set of corruptions of which no two overlap by a threshold or more: exactly.

Pairs that overlap too much are the edges of a graph; what is looked for is a largest set of nodes
without an edge between any two. The search takes what costs nothing (a node with at most one
neighbour left), works on parts that hang together one by one, and else tries both with and without
the node that has the most neighbours. The second try is spared where a cover by cliques shows that
it cannot do better: a set has at most one node of each clique. It ends when nothing is left to be
tried, which is the proof that no set is larger. Sets of nodes are the bits of whole numbers.
"""

from collections.abc import Iterator
from math import fsum
from typing import NamedTuple

import numpy as np

from hardy.design.matrix import Matrix
from hardy.errors import InputError
from hardy.limits import SETS

QUICK = 50  # corruptions that take no time to speak of, however they clash


class Selection(NamedTuple):
    names: tuple[str, ...]  # in the order of the matrix
    threshold: float
    tried: int  # sets that the search looked at before nothing was left


def select_independent(matrix: Matrix, threshold: float) -> Selection:
    """A largest set with all overlaps below the threshold.

    Of several, the one that comes first when corruptions are ordered by the sum of their overlaps
    with all others, smallest first, and equal ones as in the matrix.
    """
    if not threshold > 0:  # also no number
        raise InputError(f"expected a threshold above 0, got {threshold}; no overlap is below 0")
    number = len(matrix.names)
    clash = matrix.values >= threshold
    np.fill_diagonal(clash, False)
    search = Search([sum(1 << node for node in np.flatnonzero(row).tolist()) for row in clash])
    left = (1 << number) - 1
    size = search.largest(left)
    if size < 2:
        values = matrix.values + np.diag(np.full(number, np.inf))
        row, column = np.unravel_index(values.argmin(), values.shape)
        raise InputError(
            f"expected a threshold that leaves two corruptions or more, got {threshold:g}; the "
            f"least overlap of all is {values[row, column]:.4g}, of {matrix.names[row]} and "
            f"{matrix.names[column]}; name a higher one"
        )
    chosen: list[int] = []
    sums = [fsum(row) for row in matrix.values]  # exact: the order of the columns must not decide
    for node in sorted(range(number), key=sums.__getitem__):
        if left >> node & 1 and 1 + search.largest(search.after(left, node)) == size - len(chosen):
            chosen.append(node)
            left = search.after(left, node)
    names = tuple(matrix.names[node] for node in sorted(chosen))
    return Selection(names, threshold, len(search.known))


class Search:
    def __init__(self, neighbours: list[int]) -> None:
        self.neighbours = neighbours
        self.known: dict[int, int] = {0: 0}  # set of nodes -> size of its largest set
        self.most = SETS.value

    def after(self, nodes: int, node: int) -> int:
        """The nodes that are left once the node is taken."""
        return nodes & ~self.neighbours[node] & ~(1 << node)

    def largest(self, nodes: int) -> int:
        if nodes not in self.known:
            self.known[nodes] = self._search(nodes)
            if len(self.known) > self.most:
                raise SETS.exceeded(
                    "more", f"the largest set of {len(self.neighbours)} corruptions"
                )
        return self.known[nodes]

    def _search(self, nodes: int) -> int:
        most, busiest = -1, -1
        for node in _each(nodes):
            degree = (self.neighbours[node] & nodes).bit_count()
            if degree <= 1:  # some largest set has it
                return 1 + self.largest(self.after(nodes, node))
            if degree > most:
                most, busiest = degree, node
        part = self._part(nodes)
        if part != nodes:
            return self.largest(part) + self.largest(nodes & ~part)
        found = 1 + self.largest(self.after(nodes, busiest))
        without = nodes & ~(1 << busiest)
        return found if self._bound(without) <= found else max(found, self.largest(without))

    def _part(self, nodes: int) -> int:
        """The nodes that are connected with the first."""
        reached = fresh = nodes & -nodes
        while fresh:
            around = 0
            for node in _each(fresh):
                around |= self.neighbours[node]
            fresh = around & nodes & ~reached
            reached |= fresh
        return reached

    def _bound(self, nodes: int) -> int:
        """The number of cliques that, taken one after the other, hold all nodes."""
        cliques = 0
        while nodes:
            fitting = nodes
            while fitting:
                node = (fitting & -fitting).bit_length() - 1
                nodes &= ~(1 << node)
                fitting &= self.neighbours[node]
            cliques += 1
        return cliques


def _each(nodes: int) -> Iterator[int]:
    while nodes:
        lowest = nodes & -nodes
        yield lowest.bit_length() - 1
        nodes ^= lowest
