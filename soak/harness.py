"""Cases in processes of their own, whose memory and time are limited, and what became of each.

A worker takes one case after the other. What counts as a failure is decided here, for all kinds of
attack alike: an exception that is not Hardy's, more memory or time than a case may take, a process
that died, or a result that should not have been accepted, which a case says by `Accepted`.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from soak.children import processor_seconds

# Bytes that a worker may add to what it has when it begins: an image of the most pixels that are
# taken, in colours of its own and in RGB, and a copy of it.
MEMORY = 3_000_000_000
# Seconds of processors that a case may take, and by the clock, by which one that waits for ever is
# known: on a machine that is busy with other work, a case that is well takes long.
SECONDS, WAIT = 60.0, 1200.0
_BEGINNING = 1200  # seconds that a worker has to import everything

_LONGEST = 300  # letters of a line of what happened

FINE, REFUSED = "fine", "refused"  # outcomes that are no failures

# One case, in an empty folder of its own; REFUSED where an error was told in between, as it should.
Work = Callable[[Any, Path], str | None]


class Accepted(Exception):
    """A wrong result was accepted without a word."""


@dataclass
class Tally:
    """What became of the cases, by the reader or the command that was attacked."""

    cases: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[str, Any, str]] = field(default_factory=list)  # name, case, what happened

    def add(self, name: str, case: Any, outcome: str) -> None:
        self.cases[name] += 1
        self.refused[name] += outcome == REFUSED
        if outcome not in (FINE, REFUSED):
            self.failures.append((name, case, outcome))

    def rows(self) -> list[tuple[str, ...]]:
        """A table: a row for each name, with how often it was attacked and refused, and failed."""
        failed = Counter(name for name, _, _ in self.failures)
        rows = [(n, self.cases[n], self.refused[n], failed[n]) for n in sorted(self.cases)]
        return in_words(("reader", "inputs", "refused", "failures"), rows)


def in_words(head: tuple[str, ...], rows: list[tuple[Any, ...]]) -> list[tuple[str, ...]]:
    """A table as text, with a last row of sums; the first column has names, the others numbers."""
    sums = [sum(row[column] for row in rows) for column in range(1, len(head))]
    numbers = [*rows, ("all", *sums)]
    return [head, *((name, *(f"{value:,}" for value in values)) for name, *values in numbers)]


def as_table(rows: list[tuple[str, ...]]) -> str:
    """For a terminal."""
    return "\n".join(f"{n:<24}" + "".join(f"{v:>14}" for v in values) for n, *values in rows)


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    case: tuple[str, Any] | None = None
    began: float = 0.0  # the case, in seconds of processors that the worker had taken
    until: float = 0.0

    def is_over_time(self) -> bool:
        try:
            taken = processor_seconds(self.process.pid) - self.began
        except OSError:  # it has just died
            return False
        return taken > SECONDS or time.monotonic() > self.until


def run_cases(
    work: Callable[[], Work], cases: Iterable[tuple[str, Any]], workers: int, tally: Tally
) -> None:
    """Run (name, case) pairs; `work` is called once in each worker, and must be of a module."""
    waiting, pool = iter(cases), [_start(work) for _ in range(workers)]
    try:
        for worker in pool:
            _next(worker, waiting)
        while any(worker.case is not None for worker in pool):
            _collect(pool, work, waiting, tally)
    finally:
        for worker in pool:
            worker.pipe.close()  # it ends, and removes what it has made
            worker.process.join(10)
            worker.process.kill()
            worker.process.join()


def _collect(
    pool: list[_Worker], work: Callable[[], Work], waiting: Iterator[Any], tally: Tally
) -> None:
    busy = {worker.pipe: worker for worker in pool if worker.case is not None}
    for pipe in wait(list(busy), timeout=1.0):
        worker = busy.pop(pipe)  # type: ignore[arg-type]
        assert worker.case is not None
        try:
            tally.add(*worker.case, worker.pipe.recv())
        except EOFError:
            worker.process.join()
            tally.add(*worker.case, f"the process died ({worker.process.exitcode})")
            _replace(worker, work)
        _next(worker, waiting)
    for worker in busy.values():
        if worker.case is not None and worker.is_over_time():
            told = f"took more than {SECONDS:g} s of a processor, or {WAIT:g} s in all"
            tally.add(*worker.case, told)
            _replace(worker, work)
            _next(worker, waiting)


def _replace(worker: _Worker, work: Callable[[], Work]) -> None:
    worker.process.kill()
    worker.process.join()
    fresh = _start(work)
    worker.process, worker.pipe = fresh.process, fresh.pipe


def _next(worker: _Worker, waiting: Iterator[tuple[str, Any]]) -> None:
    worker.case = next(waiting, None)
    if worker.case is not None:
        worker.began = processor_seconds(worker.process.pid)
        worker.until = time.monotonic() + WAIT
        worker.pipe.send(worker.case)


def _start(work: Callable[[], Work]) -> _Worker:
    here, there = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_serve, args=(work, there), daemon=True)
    process.start()
    there.close()
    if not here.poll(_BEGINNING):
        raise RuntimeError(f"a worker did not begin within {_BEGINNING} s")
    here.recv()  # it is ready: the time of a case does not count its imports
    return _Worker(process, here)


def _lacked_memory(error: BaseException | None) -> bool:
    """Whether memory ran out behind what a reader tells. FFmpeg has a class of its own for claims
    that it refuses before it tries."""
    kinds = ("MemoryError", "ArrowMemoryError")
    while error is not None:
        if type(error).__name__ in kinds and not type(error).__module__.startswith("av."):
            return True
        error = error.__cause__
    return False


def _serve(work: Callable[[], Work], pipe: Connection) -> None:
    from hardy.errors import HardyError

    one = work()
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY,) * 2)
    pipe.send("ready")
    while True:
        try:
            _, case = pipe.recv()
        except EOFError:
            del one  # with all that it has made
            os._exit(0)  # libraries have much to say about an orderly end
        folder = Path(tempfile.mkdtemp(prefix="hardy-soak-"))
        try:
            outcome = one(case, folder) or FINE
        except Accepted as error:
            outcome = f"accepted: {error}"
        except HardyError as error:
            outcome = f"took too much memory: {error}" if _lacked_memory(error) else REFUSED
        except BaseException:
            lines = traceback.format_exc(limit=-4).splitlines()
            outcome = "\n".join(line[:_LONGEST] for line in lines)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        pipe.send(outcome)
