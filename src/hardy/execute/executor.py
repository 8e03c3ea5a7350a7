"""Executors: a worker is set up once per process, then given one item after the other.

Results come in the order in which they are ready. What is in flight is bounded, so a list of a
million items costs no more memory than a list of ten.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context, parent_process
from typing import Any, Protocol, TypeVar

from hardy.errors import HardyError, InputError

Item = TypeVar("Item")
Result = TypeVar("Result")
# Called once per process; gives the function that does one item. It travels to other processes by
# pickle: a `functools.partial` of a module's function, not a closure.
Setup = Callable[[], Callable[[Item], Result]]


class Executor(Protocol):
    def run(self, setup: Setup[Item, Result], items: Iterable[Item]) -> Iterator[Result]: ...


class Serial:
    """In this process, one after the other."""

    def run(self, setup: Setup[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        work = setup()
        for item in items:
            yield work(item)


class Processes:
    """In `workers` processes, started anew so that no thread or lock is copied half-way."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, setup: Setup[Item, Result], items: Iterable[Item]) -> Iterator[Result]:
        queue = iter(items)
        pool = ProcessPoolExecutor(
            self.workers, get_context("spawn"), initializer=_begin, initargs=(setup,)
        )
        try:
            running: set[Future[Result]] = set()
            while True:
                free = 2 * self.workers - len(running)
                running |= {pool.submit(_work, item) for item in islice(queue, free)}
                if not running:
                    return
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenProcessPool as error:
            raise HardyError(
                "a worker process died, perhaps for lack of memory; what was finished is kept: "
                "run the same command again, with fewer workers if it happens again"
            ) from error
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def executor(workers: int) -> Executor:
    """The one for that many workers; 1 stays in this process."""
    if workers < 1:
        raise InputError(f"expected at least 1 worker, got {workers}")
    return Serial() if workers == 1 else Processes(workers)


_worker: Callable[[Any], Any] | None = None


def _begin(setup: Setup[Any, Any]) -> None:
    global _worker
    # Ctrl-C reaches the whole group: the parent decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _worker = setup()


def _end_with_parent() -> None:
    """A killed parent tells nobody; its workers must not wait for it for ever."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _work(item: Any) -> Any:
    assert _worker is not None  # `_begin` has run: a worker without it is never given work
    return _worker(item)
