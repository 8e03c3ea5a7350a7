"""One process for each device: what one cannot do, another does."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent import futures
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from hardy.errors import HardyError, told
from hardy.execute.executor import Item, Result, Results, Setup, begin_worker
from hardy.execute.feeding import Came, Did, Left, feed
from hardy.execute.interpreter import is_of_script, script_left_alone, why_it_may_die
from hardy.execute.sent_setup import SentSetup, sent
from hardy.interrupts import without_interrupts


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

    def run(
        self,
        setup: Setup[Item, Result],
        items: Iterable[Item],
        settle: Callable[[], None] = lambda: None,
    ) -> Results[Result]:
        with sent(setup) as received:
            processes = _Processes(received, is_of_script(setup), self.places)
            try:
                yield from feed(processes, items, self._warn, settle, again=False)
            finally:
                processes.close()


class _Processes:
    """Processes as a workforce: a pool for each, since a pool of several is lost with one."""

    def __init__(
        self, setup: SentSetup, of_script: bool, places: Sequence[Mapping[str, str]]
    ) -> None:
        context = get_context("spawn")
        self._theirs, self._ours = context.Pipe(duplex=False)
        self._places = places
        self._of_script = of_script
        self._pools = [
            futures.ProcessPoolExecutor(
                1, context, initializer=_begin_at, initargs=(setup, dict(place), self._theirs)
            )
            for place in places
        ]
        self._coming = list(range(len(places)))
        self._able = set(self._coming)
        self._calls: dict[futures.Future[Any], tuple[int, int]] = {}  # worker and ticket

    def give(self, worker: int, ticket: int, item: Any) -> None:
        with without_interrupts(), script_left_alone(self._of_script):
            self._calls[_submit(self._pools[worker], item)] = (worker, ticket)

    def news(self, seconds: float) -> Iterator[Came | Did | Left]:
        yield from map(Came, self._coming)
        if self._coming:  # and they wait for work
            self._coming = []
            return
        done, _ = futures.wait(self._calls, seconds, futures.FIRST_COMPLETED)
        for future in done:
            if future in self._calls:  # else its worker has failed at another one by now
                yield self._outcome(future, *self._calls.pop(future))

    def _outcome(self, future: futures.Future[Any], worker: int, ticket: int) -> Did | Left:
        failure = future.exception()
        if failure is None:
            return Did(worker, ticket, future.result())
        if isinstance(failure, HardyError):
            raise failure
        self._able.remove(worker)
        self._calls = {call: whose for call, whose in self._calls.items() if whose[0] != worker}
        if not self._able:
            raise HardyError(
                f"no worker is left, the last one failed ({self._in_words(failure)}); what was "
                "finished is kept: see to the cause, then run the same command again"
            ) from failure
        place = " ".join(f"{name}={value}" for name, value in self._places[worker].items())
        which = f"{worker + 1} of {len(self._places)}, {place}"
        return Left(worker, f"{which}: {self._in_words(failure)}")

    def _in_words(self, failure: BaseException) -> str:
        if isinstance(failure, BrokenProcessPool):
            return f"its process died, {why_it_may_die(self._of_script)}"
        return told(failure)

    def close(self) -> None:
        self._ours.close()
        for number, pool in enumerate(self._pools):
            pool.shutdown(wait=number in self._able, cancel_futures=True)
        self._theirs.close()


def _submit(pool: futures.ProcessPoolExecutor, item: Item) -> futures.Future[Any]:
    try:
        return pool.submit(_work_here, item)
    except BrokenProcessPool as error:  # it died since: the same as if it died at work
        failed: futures.Future[Any] = futures.Future()
        failed.set_exception(error)
        return failed


_setup: SentSetup | None = None
_work: Callable[[Any], Any] | None = None


def _begin_at(setup: SentSetup, place: Mapping[str, str], parent: Connection) -> None:
    """Set the process up when its first item comes, so that an error reaches the parent."""
    global _setup
    os.environ.update(place)
    begin_worker(parent)
    _setup = setup


def _work_here(item: Any) -> Any:
    global _work
    if _work is None:
        assert _setup is not None  # `_begin_at` has run
        _work = _setup.open()()
    return _work(item)
