"""Executors: a worker is set up once per process, then given one item after the other.

Results come in the order in which they are ready. What is in flight is bounded, so a list of a
million items costs no more memory than a list of ten. Closing the generator stops the workers.
"""

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any, Protocol, TypeVar

from hardy import progress
from hardy.errors import HardyError, InputError
from hardy.execute.interpreter import is_of_script, script_left_alone, why_it_may_die
from hardy.execute.sent_setup import SentSetup, sent
from hardy.interrupts import interrupts_later, without_interrupts

Item = TypeVar("Item")
Result = TypeVar("Result")
# Called once per process; gives the function that does one item. It travels to other processes by
# pickle: a `functools.partial` of a module's function, not a closure.
Setup = Callable[[], Callable[[Item], Result]]
Results = Generator[Result, None, None]

AHEAD = 2  # items per worker: one at work, and the next
LET_GO_AFTER = 5.0  # seconds: nobody reads a photograph for so long
# Has torch lay large tensors into pages of 2 MiB where Linux offers them: a net on a CPU spends up
# to a fifth of its time in waiting for small ones to be cleared. For processes that are Hardy's
# own, before torch's first tensor; what the user says of it counts.
LARGE_PAGES = ("THP_MEM_ALLOC_ENABLE", "1")


class Executor(Protocol):
    def run(self, setup: Setup[Item, Result], items: Iterable[Item]) -> Results[Result]: ...


class Team(Protocol):
    """An executor with workers of its own; it has the caller `settle` what came, each time before
    it waits for more."""

    def run(
        self,
        setup: Setup[Item, Result],
        items: Iterable[Item],
        settle: Callable[[], None] = lambda: None,
    ) -> Results[Result]: ...


class Serial:
    """Work in this process, one item after the other."""

    def run(self, setup: Setup[Item, Result], items: Iterable[Item]) -> Results[Result]:
        work = setup()
        for item in items:
            yield work(item)


class Threads:
    """Work in this process, `workers` items at a time; results in the order of the items.

    For work that leaves the interpreter lock and whose results would be costly to copy. Threads
    work a little ahead of the consumer, and never further.
    """

    def __init__(self, workers: int, let_go: Callable[[], None] | None = None) -> None:
        """`let_go` ends what threads still wait for when nobody has wanted results for a while."""
        self.workers = workers
        self._let_go = let_go

    def run(self, setup: Setup[Item, Result], items: Iterable[Item]) -> Results[Result]:
        work = setup()
        queue: deque[futures.Future[Result]] = deque()
        pool = futures.ThreadPoolExecutor(self.workers, thread_name_prefix="hardy_work")
        try:
            remaining: Iterator[Item] = iter(items)

            def submit(count: int) -> None:
                for item in islice(remaining, count):  # which may wait for a slow disk
                    with interrupts_later():
                        queue.append(pool.submit(work, item))

            submit(self.workers * AHEAD)
            while queue:
                result = queue.popleft().result()
                submit(1)
                yield result
        except BaseException:  # an error of one of them, Ctrl-C, or nobody wants more
            at_work = [future for future in queue if not future.cancel()]
            if self._let_go and futures.wait(at_work, LET_GO_AFTER).not_done:
                self._let_go()
            raise
        finally:
            # Also when the consumer stops early: nothing keeps working behind its back.
            pool.shutdown(wait=True, cancel_futures=True)


class Processes:
    """Work in `workers` processes, started anew: no thread or lock is copied half-way."""

    def __init__(self, workers: int) -> None:
        self.workers = workers

    def run(self, setup: Setup[Item, Result], items: Iterable[Item]) -> Results[Result]:
        with sent(setup) as received:
            yield from self._run(received, is_of_script(setup), items)

    def _run(self, setup: SentSetup, of_script: bool, items: Iterable[Item]) -> Results[Result]:
        queue = iter(items)
        context = get_context("spawn")
        # Workers live as long as this end is open: they also end when this process is killed.
        theirs, ours = context.Pipe(duplex=False)
        pool = futures.ProcessPoolExecutor(
            self.workers, context, initializer=_begin, initargs=(setup, theirs, progress.speaks)
        )
        try:
            running: set[futures.Future[Result]] = set()
            while True:
                free = 2 * self.workers - len(running)
                with without_interrupts(), script_left_alone(of_script):
                    running |= {pool.submit(_work, item) for item in islice(queue, free)}
                if not running:
                    pool.shutdown()
                    return
                done, running = futures.wait(running, return_when=futures.FIRST_COMPLETED)
                for future in done:
                    yield future.result()
        except BrokenProcessPool as error:
            raise HardyError(
                f"a worker process died, {why_it_may_die(of_script)}; what was finished is kept: "
                "run the same command again, with fewer workers if it happens again"
            ) from error
        finally:
            ours.close()
            pool.shutdown(cancel_futures=True)
            theirs.close()


def processors() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def executor(workers: int | None = None) -> Executor:
    """The executor for that many workers; None means one per processor, 1 stays in this process."""
    count = count_workers(workers)
    return Serial() if count == 1 else Processes(count)


def count_workers(workers: int | None) -> int:
    """The number of workers that was asked for; None means one per processor."""
    if workers is None:
        return processors()
    if not isinstance(workers, int) or isinstance(workers, bool) or workers < 1:
        raise InputError(f"expected at least 1 worker, got {workers!r}; give a whole number")
    return workers


_worker: Callable[[Any], Any] | None = None


def _begin(setup: SentSetup, parent: Connection, speaks: bool) -> None:
    global _worker
    progress.speaks = speaks
    begin_worker(parent)
    _worker = setup.open()()


def begin_worker(parent: Connection) -> None:
    """Leave Ctrl-C to the parent, also on Windows, and end when the parent ends."""
    os.environ.setdefault(*LARGE_PAGES)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: Connection) -> None:
    """End this worker when its parent has stopped or is gone: nobody waits for its results."""
    try:
        parent.recv_bytes()
    except EOFError:
        os._exit(1)


def _work(item: Any) -> Any:
    assert _worker is not None  # `_begin` has run: a worker without it is never given work
    return _worker(item)
