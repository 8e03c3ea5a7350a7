"""Workers are kept fed, whatever befalls them, and every item counts once."""

from __future__ import annotations

import gc
import tracemalloc
from collections import Counter, deque
from collections.abc import Iterator
from typing import Any

import pytest

from hardy.errors import HardyError
from hardy.execute.feeding import TRIES, Came, Did, Left, feed
from tests.execute.workforces import FakeForce


class Told:
    """A workforce that does what it is told, news by news."""

    def __init__(self, *news: list[Any]) -> None:
        self.script = deque(news)
        self.gave: list[tuple[int, int, Any]] = []

    def give(self, worker: int, ticket: int, item: Any) -> None:
        self.gave.append((worker, ticket, item))

    def news(self, seconds: float) -> Iterator[Any]:
        return iter(self.script.popleft())


def test_nothing_to_do_needs_nobody() -> None:
    assert list(feed(Told(), [])) == []


def test_each_has_one_item_and_the_next() -> None:
    force = Told([Came(1), Came(2)], [Did(1, 0, "a")], [Did(2, 1, "b"), Did(1, 2, "c")])
    found = feed(force, "abcdef")
    assert next(found) == "a"
    assert force.gave == [(1, 0, "a"), (2, 1, "b"), (1, 2, "c"), (2, 3, "d"), (1, 4, "e")]
    assert next(found) == "b"
    assert force.gave[5:] == [(2, 5, "f")]  # before anybody looks at the results


def test_what_the_dead_had_goes_to_others() -> None:
    said: list[str] = []
    force = Told(
        [Came(1), Came(2)],
        [Left(1, "node x: it died")],
        [Did(2, 1, "b"), Did(2, 3, "d")],
        [Did(2, 0, "a"), Did(2, 2, "c")],
    )
    assert list(feed(force, "abcd", said.append)) == ["b", "d", "a", "c"]
    assert said == ["a worker failed (node x: it died); others do what it had"]


def test_idle_workers_do_what_others_still_have() -> None:
    force = Told([Came(1)], [Came(2)], [Did(2, 1, "b")], [Did(2, 0, "a")])
    assert list(feed(force, "ab")) == ["b", "a"]
    # First what the other has not begun; what both have counts once.
    assert force.gave == [(1, 0, "a"), (1, 1, "b"), (2, 1, "b"), (2, 0, "a")]


def test_the_second_to_do_it_is_not_heard() -> None:
    force = Told([Came(1)], [Came(2)], [Did(2, 1, "b"), Did(1, 0, "a"), Did(1, 1, "b")])
    assert list(feed(force, "ab")) == ["b", "a"]


def test_what_fails_everywhere_ends_it() -> None:
    force = Told(
        *(
            [[Came(number)], [Left(number, "no memory")]][kind]
            for number in range(TRIES)
            for kind in (0, 1)
        )
    )
    with pytest.raises(
        HardyError, match=r"3 workers failed at the same piece.*so: no memory; what"
    ):
        list(feed(force, "a"))


def test_a_thousand_workers_are_kept_fed() -> None:
    """One item in 500 kills its worker, one in 5,000 hangs, workers come within a minute."""
    force = FakeForce(1000, dies=0.002, hangs=0.0002, late=60)
    found = Counter(feed(force, range(200_000)))
    assert len(found) == 200_000
    assert set(found.values()) == {1}
    assert force.given < 1.02 * 200_000
    # 200 seconds of pure work for a thousand; they come 30 seconds late on average.
    assert 200 < force.now < 260
    assert force.busy / (1000 * force.now) > 0.8


def test_memory_does_not_grow_with_the_items() -> None:
    def peak(items: int) -> int:
        gc.collect()
        tracemalloc.start()
        for _ in feed(FakeForce(20, dies=0.01), iter(range(items))):
            pass
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    peak(500)
    assert peak(10_000) < 2 * peak(1000)


def test_long_items_are_done_by_one_alone() -> None:
    force = Told([Came(1), Came(2)], [Did(2, 1, "b")], [Came(3)], [Left(1, "it died")])
    force.script += [[Did(2, 2, "c"), Did(3, 0, "a")]]
    assert list(feed(force, "abc", ahead=1, again=False)) == ["b", "c", "a"]
    # None has a second one waiting, and none is done twice at a time.
    assert force.gave == [(1, 0, "a"), (2, 1, "b"), (2, 2, "c"), (3, 0, "a")]
