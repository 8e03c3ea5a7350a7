"""A workforce on a fake clock: workers that come late, die, hang or dawdle, as a seed decides."""

from __future__ import annotations

import heapq
import random
from collections.abc import Iterator
from itertools import count
from typing import Any

from hardy.execute.feeding import Came, Did, Left


class FakeForce:
    """So many workers, each of which takes about a second for an item.

    `dies` is how often that kills the worker, after which another one comes, and `hangs` how often
    it never ends. `late` seconds pass until all workers have come.
    """

    def __init__(
        self, workers: int, *, dies: float = 0.0, hangs: float = 0.0, late: float = 0.0, seed=0
    ) -> None:
        self.now = 0.0
        self.given = 0
        self.busy = 0.0  # seconds, of all workers
        self._draw = random.Random(seed)
        self._dies, self._hangs = dies, hangs
        self._events: list[tuple[float, int, Any]] = []
        self._order = count()
        self._numbers = count(workers)
        self._free_at: dict[int, float] = {}
        for worker in range(workers):
            self._later(self._draw.uniform(0, late), Came(worker))

    def give(self, worker: int, ticket: int, item: Any) -> None:
        self.given += 1
        start = max(self.now, self._free_at[worker])
        if start == float("inf"):
            return
        takes = self._draw.uniform(0.5, 1.5)
        fate = self._draw.random()
        if fate < self._hangs:
            self._free_at[worker] = float("inf")
            return
        self._free_at[worker] = start + takes
        self.busy += takes
        news = Left(worker, "it died") if fate < self._hangs + self._dies else None
        self._later(start + takes, news or Did(worker, ticket, item))

    def news(self, seconds: float) -> Iterator[Came | Did | Left]:
        if not self._events or self._events[0][0] > self.now + seconds:
            self.now += seconds
            return
        self.now = self._events[0][0]
        while self._events and self._events[0][0] <= self.now:
            _, _, one = heapq.heappop(self._events)
            if isinstance(one, Came):
                self._free_at[one.worker] = self.now
            elif one.worker not in self._free_at:
                continue  # it died before
            elif isinstance(one, Left):
                del self._free_at[one.worker]
                self._later(self.now + 10, Came(next(self._numbers)))
            yield one

    def _later(self, when: float, news: Any) -> None:
        heapq.heappush(self._events, (when, next(self._order), news))
