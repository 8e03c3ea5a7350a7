"""A thousand workers on a clock that is set forward instead of waited for: they come late, are
slow, hang, and die alone or with their node. What feeds them is the loop that feeds Ray's workers.
"""

from __future__ import annotations

import heapq
import random
import time
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

from bench.table import grid
from hardy.execute.feeding import Came, Did, Left, feed
from hardy.progress import in_time


@dataclass(frozen=True)
class World:
    """What befalls workers; times in seconds."""

    workers: int = 1000
    on_a_node: int = 8
    block: float = 3.7  # that a worker takes for a block, on the average
    late: float = 0.2  # the share of workers that join later
    joining: float = 300.0  # within so many seconds
    slow: float = 0.02  # the share of workers that take five times as long
    hanging: float = 0.002  # the share that never finish a block
    lifetime: float = 3600.0  # of a worker, on the average
    node_lifetime: float = 4 * 3600.0
    beginning: float = 43.0  # from a worker's start, or its end, until one is ready in its place


class Crowd:
    """Workers as a workforce. The same seed makes the same story."""

    def __init__(self, world: World, seed: int) -> None:
        self.now = 0.0
        self.deaths = self.done = 0
        self.busy = 0.0  # seconds in which workers were at a block, of all together
        self.there = 0.0  # and in which they were there
        self._world = world
        self._random = random.Random(seed)
        self._order = count()  # of events at the same time
        self._events: list[tuple[float, int, str, int, int]] = []
        self._hands: dict[int, deque[int]] = {}  # tickets of those that are there
        self._since: dict[int, float] = {}
        self._pace: dict[int, float] = {}  # how many times as long a worker takes
        self._begun: dict[int, float] = {}  # since when a worker is at its block
        self._names = count()
        for _ in range(world.workers):
            late = self._random.random() < world.late
            self._start(self._random.uniform(0, world.joining) if late else 0.0)
        for node in range(world.workers // world.on_a_node):
            self._plan(self._random.expovariate(1 / world.node_lifetime), "node dies", node)

    def give(self, worker: int, ticket: int, item: Any) -> None:
        hand = self._hands[worker]
        hand.append(ticket)
        if len(hand) == 1:
            self._begin(worker)

    def news(self, seconds: float) -> Iterator[Came | Did | Left]:
        """All that happens at the next moment at which anything does."""
        until = self._events[0][0]
        while self._events and self._events[0][0] <= until:
            self.now, _, what, who, ticket = heapq.heappop(self._events)
            if what == "comes":
                self._hands[who], self._since[who] = deque(), self.now
                self._plan(self._random.expovariate(1 / self._world.lifetime), "dies", who)
                yield Came(who)
            elif what == "does" and who in self._hands:
                self.done += 1
                self._hands[who].popleft()
                self._pause(who)
                if self._hands[who]:
                    self._begin(who)
                yield Did(who, ticket, ticket)
            elif what == "dies" and who in self._hands:
                yield self._end(who)
            elif what == "node dies":
                some = sorted(self._hands)[who :: self._world.workers // self._world.on_a_node]
                yield from map(self._end, some[: self._world.on_a_node])

    def leave(self) -> None:
        """Count the time of those that are still there at the end."""
        for worker in list(self._hands):
            self._pause(worker)
        self.there += sum(self.now - since for since in self._since.values())

    def _start(self, after: float) -> None:
        name, luck = next(self._names), self._random.random()
        slow, hanging = self._world.slow, self._world.hanging
        self._pace[name] = float("inf") if luck < hanging else 5.0 if luck < slow else 1.0
        self._plan(after + self._world.beginning, "comes", name)

    def _begin(self, worker: int) -> None:
        takes = self._world.block * self._pace[worker] * self._random.uniform(0.8, 1.2)
        if takes < float("inf"):
            self._begun[worker] = self.now
            self._plan(takes, "does", worker, self._hands[worker][0])

    def _pause(self, worker: int) -> None:
        self.busy += self.now - self._begun.pop(worker, self.now)

    def _end(self, worker: int) -> Left:
        self._pause(worker)
        del self._hands[worker]
        self.there += self.now - self._since.pop(worker)
        self.deaths += 1
        self._start(0.0)
        return Left(worker, "it died")

    def _plan(self, after: float, what: str, who: int, ticket: int = -1) -> None:
        heapq.heappush(self._events, (self.now + after, next(self._order), what, who, ticket))


@dataclass(frozen=True)
class Story:
    """How it went."""

    blocks: int
    seed: int
    done: int  # blocks, those counted in that two workers did
    seconds: float  # on the fake clock
    busy: float  # the share of time in which workers that were there had a block
    deaths: int
    once: bool  # whether every block was counted, and none twice
    rate: float  # blocks per second of the real clock, that the loop hands out and takes back


def tell(world: World, blocks: int, seed: int) -> Story:
    crowd = Crowd(world, seed)
    began = time.perf_counter()
    counted = Counter(feed(crowd, range(blocks)))
    took = time.perf_counter() - began
    crowd.leave()
    once = counted == Counter(range(blocks))
    busy = crowd.busy / crowd.there
    return Story(blocks, seed, crowd.done, crowd.now, busy, crowd.deaths, once, blocks / took)


def describe(stories: Sequence[Story]) -> list[str]:
    """The stories of the usual world, in paragraphs."""
    world = World()
    head = (
        "blocks",
        "seed",
        "time",
        "died",
        "busy",
        "done twice",
        "counted once",
        "loop, blocks/s",
    )
    told = [
        [
            f"{story.blocks:,}",
            str(story.seed),
            in_time(story.seconds),
            f"{story.deaths:,}",
            f"{story.busy:.1%}",
            f"{story.done - story.blocks:,}",
            "all" if story.once else "NO",
            f"{story.rate:,.0f}",
        ]
        for story in stories
    ]
    return [
        "Simulated: the loop that feeds Ray's workers (`src/hardy/execute/feeding.py`), with "
        f"{world.workers:,} workers on a clock that is set forward, {world.on_a_node} on a node; a "
        f"block takes {world.block} s on the average. {world.late:.0%} join up to "
        f"{in_time(world.joining)} late, {world.slow:.0%} take five times as long, "
        f"{world.hanging:.1%} never finish a block. A worker dies every "
        f"{in_time(world.lifetime)} on the average, a node every {in_time(world.node_lifetime)}; "
        f"another worker is ready {world.beginning:.0f} s later.",
        "",
        grid(head, told),
        "",
        "Busy: of the time in which workers are there and ready, the share in which they are at a "
        "block; those that hang are not. Done twice: blocks that idle workers took over at the "
        "end, and that were then finished by both. The loop: how many blocks it hands out and "
        "takes back in a second of one core; Ray's own messages come on top.",
    ]
