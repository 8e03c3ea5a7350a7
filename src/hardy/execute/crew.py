"""One process for each device: what one cannot do, another does."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from hardy.errors import HardyError
from hardy.execute.executor import (
    AHEAD,
    Item,
    Result,
    Results,
    Setup,
    begin_worker,
    without_interrupts,
)


class Crew:
    """Work in one process for each of `places`, which are environment variables of its own, such
    as those that show it one GPU.

    A process that dies, or fails other than by an error that tells a person what to do, gets no
    more work, and the others take on what it had. `warn` hears of it.
    """

    def __init__(
        self, places: Sequence[Mapping[str, str]], warn: Callable[[str], None] = lambda text: None
    ) -> None:
        self.places = places
        self._warn = warn

    def run(self, setup: Setup[Item, Result], items: Iterable[Item]) -> Results[Result]:
        context = get_context("spawn")
        theirs, ours = context.Pipe(duplex=False)
        pools = [
            futures.ProcessPoolExecutor(
                1, context, initializer=_begin_at, initargs=(setup, dict(place), theirs)
            )
            for place in self.places
        ]
        able, returned, queue = list(pools), deque[Item](), iter(items)
        running: dict[futures.Future[Result], tuple[futures.ProcessPoolExecutor, Item]] = {}
        try:
            while True:
                for pool in able:
                    has = sum(one is pool for one, _ in running.values())
                    with without_interrupts():
                        for item in _next_items(returned, queue, AHEAD - has):
                            running[_submit(pool, item)] = (pool, item)
                if not running:
                    return
                done, _ = futures.wait(running, return_when=futures.FIRST_COMPLETED)
                for future in done:
                    pool, item = running.pop(future)
                    failure = future.exception()
                    if failure is None:
                        yield future.result()
                        continue
                    if isinstance(failure, HardyError):
                        raise failure
                    returned.append(item)
                    if pool in able:
                        able.remove(pool)
                        self._say(pools.index(pool), failure, len(able))
                    if not able:
                        raise HardyError(
                            f"no worker is left, the last one failed ({_in_words(failure)}); what "
                            "was finished is kept: see to the cause, then run the same command "
                            "again"
                        ) from failure
        finally:
            ours.close()
            for pool in pools:
                pool.shutdown(wait=pool in able, cancel_futures=True)
            theirs.close()

    def _say(self, number: int, failure: BaseException, left: int) -> None:
        place = " ".join(f"{name}={value}" for name, value in self.places[number].items())
        self._warn(
            f"worker {number + 1} of {len(self.places)} ({place or 'no place of its own'}) failed "
            f"({_in_words(failure)}) and gets no more work; {left} go on with what it had"
        )


def _next_items(returned: deque[Item], queue: Iterator[Item], count: int) -> Iterator[Item]:
    """So many items at most, first those that came back."""
    for _ in range(count):
        if returned:
            yield returned.popleft()
        else:
            try:
                yield next(queue)
            except StopIteration:
                return


def _submit(pool: futures.ProcessPoolExecutor, item: Item) -> futures.Future[Any]:
    try:
        return pool.submit(_work_here, item)
    except BrokenProcessPool as error:  # it died since: the same as if it died at work
        failed: futures.Future[Any] = futures.Future()
        failed.set_exception(error)
        return failed


def _in_words(failure: BaseException) -> str:
    if isinstance(failure, BrokenProcessPool):
        return "its process died, perhaps for lack of memory"
    return f"{type(failure).__name__}: {failure}".splitlines()[0]


_setup: Setup[Any, Any] | None = None
_work: Callable[[Any], Any] | None = None


def _begin_at(setup: Setup[Any, Any], place: Mapping[str, str], parent: Connection) -> None:
    """Set the process up when its first item comes, so that an error reaches the parent."""
    global _setup
    os.environ.update(place)
    begin_worker(parent)
    _setup = setup


def _work_here(item: Any) -> Any:
    global _work
    if _work is None:
        assert _setup is not None  # `_begin_at` has run
        _work = _setup()
    return _work(item)
