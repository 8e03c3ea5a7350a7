"""The loop that keeps workers fed, wherever they are: they may come late, fail, die or dawdle, and
still every item is done, and counts once.

Nothing here grows with the number of items: what is kept is what workers have at the moment.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic, NamedTuple, Protocol

from hardy.errors import HardyError
from hardy.execute.executor import AHEAD, Item, Results

TRIES = 3  # of one item, before it is held to be the item's fault
PATIENCE = 1.0  # seconds without news after which a workforce looks around


class Came(NamedTuple):
    """A worker is set up, and takes items from now on."""

    worker: int


class Did(NamedTuple):
    """A worker has done an item."""

    worker: int
    ticket: int
    result: Any


class Left(NamedTuple):
    """A worker failed or died: it has nothing any more, and nothing more is heard of it."""

    worker: int
    why: str


class Workforce(Protocol):
    """Workers that come and go. An error that tells a person what to do is raised by `news`."""

    def give(self, worker: int, ticket: int, item: Any) -> None:
        """Have an item done after those that the worker has."""

    def news(self, seconds: float) -> Iterable[Came | Did | Left]:
        """What has happened; waits so long at most where nothing has."""


@dataclass
class _Errand(Generic[Item]):
    item: Item
    failures: int = 0
    holders: list[int] = field(default_factory=list)  # workers that have it


class _Errands(Generic[Item]):
    """What is begun and not done: who has it, and what is next for whom."""

    def __init__(self, items: Iterable[Item], ahead: int, again: bool) -> None:
        self._again = again
        self._ahead = ahead
        self._fresh: Iterator[Item] = iter(items)
        self._numbers = count()
        self._open: dict[int, _Errand[Item]] = {}
        self._waiting: deque[int] = deque()  # tickets that nobody has
        self._hands: dict[int, list[int]] = {}  # tickets of each worker, in its order
        self._roomy: deque[int] = deque()  # workers that can take more

    def left(self) -> bool:
        """Whether anything is still to be done."""
        return bool(self._open) or self._draw()

    def add_worker(self, worker: int) -> None:
        self._hands[worker] = []
        self._roomy.append(worker)

    def hand_out(self) -> Iterator[tuple[int, int, Item]]:
        """Who is to be given what now; first one to each, then one more."""
        while self._roomy and (self._waiting or self._draw()):
            yield self._hold(self._roomy.popleft(), self._waiting.popleft())
        idle = [worker for worker in self._roomy if self._again and not self._hands[worker]]
        for worker, ticket in zip(idle, self._stragglers() if idle else (), strict=False):
            self._roomy.remove(worker)
            yield self._hold(worker, ticket)

    def done(self, worker: int, ticket: int) -> bool:
        """Whether it counts: the first to do an item is the one that has done it."""
        hand = self._hands[worker]
        if len(hand) == self._ahead:
            self._roomy.append(worker)
        hand.remove(ticket)
        return self._open.pop(ticket, None) is not None

    def remove_worker(self, worker: int, why: str) -> None:
        """Give back what it had; the first of it is what it failed at."""
        hand = self._hands.pop(worker, [])
        if worker in self._roomy:
            self._roomy.remove(worker)
        for place, ticket in enumerate(hand):
            errand = self._open.get(ticket)
            if errand is None:  # another has done it
                continue
            errand.holders.remove(worker)
            errand.failures += place == 0
            if errand.failures >= TRIES:
                raise HardyError(
                    f"{TRIES} workers failed at the same piece of work, the last one so: {why}; "
                    "what was finished is kept: see to the cause, then run the same command again"
                )
            if not errand.holders:
                self._waiting.append(ticket)

    def _draw(self) -> bool:
        for item in self._fresh:
            ticket = next(self._numbers)
            self._open[ticket] = _Errand(item)
            self._waiting.append(ticket)
            return True
        return False

    def _hold(self, worker: int, ticket: int) -> tuple[int, int, Item]:
        hand, errand = self._hands[worker], self._open[ticket]
        hand.append(ticket)
        errand.holders.append(worker)
        if len(hand) < self._ahead:
            self._roomy.append(worker)
        return worker, ticket, errand.item

    def _stragglers(self) -> list[int]:
        """What only one worker has, and might do soon or never: first what it has not begun."""
        begun = {hand[0] for hand in self._hands.values() if hand}
        single = [ticket for ticket, errand in self._open.items() if len(errand.holders) == 1]
        return sorted(single, key=lambda ticket: (ticket in begun, ticket))


def feed(
    force: Workforce,
    items: Iterable[Item],
    warn: Callable[[str], None] = lambda text: None,
    settle: Callable[[], None] = lambda: None,
    *,
    ahead: int = AHEAD,
    again: bool = True,
) -> Results[Any]:
    """Have all items done by whoever is there; results come as they are ready.

    A worker that fails gives back what it had, and `warn` hears of it; `settle` is called before
    each wait. A worker has `ahead` items at most. When nothing waits any more, idle workers are
    given what others still have, if it may be done `again`: the first to finish counts.
    """
    errands = _Errands(items, ahead, again)
    while errands.left():
        settle()
        results = []
        for news in force.news(PATIENCE):
            match news:
                case Came(worker):
                    errands.add_worker(worker)
                case Did(worker, ticket, result):
                    if errands.done(worker, ticket):
                        results.append(result)
                case Left(worker, why):
                    warn(f"a worker failed ({why}); others do what it had")
                    errands.remove_worker(worker, why)
        # Before anybody looks at the results: workers shall not wait for that.
        for worker, ticket, item in errands.hand_out():
            force.give(worker, ticket, item)
        yield from results
