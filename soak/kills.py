"""Kills commands, makes their writes fail, or takes their power away, then gives them again:
`python -m soak.kills --seconds 600 --seed 1`.

The result must be that of commands nobody disturbed. Prints how many trials of each operation there
were; every failure is shown with the command that repeats it. The exit code is 1 where there was
one.
"""

from __future__ import annotations

import argparse
import errno
import gc
import itertools
import multiprocessing
import os
import pickle
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from soak.calls import GROWING, WRITE, Call, Gate
from soak.children import Ended, fork
from soak.harness import REFUSED, Accepted, Tally, Work, as_table, in_words, run_cases
from soak.operations import OPERATIONS, Operation, hardy
from soak.power import Recorder, lay_out, load_events, replace_folder
from soak.results import Results, check_partly, check_there, check_whole
from soak.surroundings import lay_images, make_small

SHOWN = 10  # failures
KILL, FAULT, POWER = "kill", "fault", "power loss"
KINDS = (KILL, FAULT, POWER)
# How each kind is done: a kill at a moment by the clock, before, within or after a call; a disk
# that is full from a call on, a call that fails, one that writes less than it was given.
WAYS = {KILL: ("moment", "before", "within", "after"), FAULT: ("full", "broken", "short")}
STALE = 2 * 86_400  # seconds; what is left of killed processes may be removed by then


class Case(NamedTuple):
    """One trial; all of it follows from the seed."""

    operation: str
    kind: str
    seed: int


class Attack:
    """What happens to the calls of a process and of those it starts."""

    def __init__(self, way: str, at: int) -> None:
        self.way, self.at, self.came = way, at, False
        self.count = multiprocessing.get_context("fork").Value("q", 0)

    def __call__(self, call: Call, do: Callable[..., Any]) -> Any:
        with self.count.get_lock():
            self.count.value += 1
            number = self.count.value
        half = call.data[: len(call.data) // 2]
        if self.way == "full" and number >= self.at and call.kind in GROWING:
            if number == self.at and half:
                do(half)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        if self.way == "short" and number >= self.at and call.kind == WRITE and not self.came:
            self.came = True
            return do(half or call.data)
        if number != self.at or self.way in ("full", "short"):
            return do()
        if self.way == "broken":
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self.way != "before":
            do(half) if self.way == "within" and half else do()
        os.kill(os.getpid(), signal.SIGKILL)


class Undisturbed(NamedTuple):
    """An operation that nobody disturbed: the folder before it, and what it comes to."""

    before: Path
    prepared: Results
    results: Results
    calls: int
    seconds: float


class Trials:
    """Makes the trials; once in a worker."""

    def __init__(self) -> None:
        warnings.simplefilter("ignore")
        make_small()
        self.home = tempfile.TemporaryDirectory(prefix="hardy-soak-")
        self.images = Path(self.home.name, "images")
        self.images.mkdir()
        lay_images(self.images)
        self.known: dict[str, Undisturbed] = {}

    def undisturbed(self, name: str) -> Undisturbed:
        if name not in self.known:
            self.known[name] = self._measure(OPERATIONS[name], Path(self.home.name, name))
        return self.known[name]

    def _measure(self, operation: Operation, home: Path) -> Undisturbed:
        before, after, told = home / "before", home / "after", home / "told"
        operation.prepare()
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(self.images, home / "first")
        _expect(fork(_import(operation, home / "modules"), home / "first", told))
        for module in pickle.loads((home / "modules").read_bytes()):
            with suppress(Exception):  # some are made by others, and cannot be imported by name
                import_module(module)
        gc.freeze()  # a fork that collects garbage would have to copy all of it
        shutil.copytree(self.images, before)
        prepared: Results = {}
        if operation.before:
            _expect(fork(lambda: hardy(*operation.before), before, told))
            if operation.partly:
                _expect(fork(_give(operation.partly, home / "results"), before, told))
                prepared = pickle.loads((home / "results").read_bytes())
        shutil.copytree(before, after)
        attack = Attack("before", 0)
        ended = fork(lambda: _attacked(operation, after, attack), after, told)
        _expect(ended)
        _expect(fork(_give(operation.results, home / "results"), after, told))
        results = pickle.loads((home / "results").read_bytes())
        return Undisturbed(before, prepared, results, attack.count.value, ended.seconds)

    def __call__(self, case: Case, folder: Path) -> str | None:
        operation, known = OPERATIONS[case.operation], self.undisturbed(case.operation)
        chance = random.Random(repr(case))
        work, told = folder / "work", folder / "told"
        shutil.copytree(known.before, work)
        refused = False
        for _ in range(chance.choice((1, 1, 2))):
            if case.kind == POWER:
                self._cut(operation, known, work, chance)
            else:
                refused |= self._disturb(operation, known, case.kind, work, chance)
        look = fork(
            lambda: check_partly(operation.partly, known.prepared, known.results), work, told
        )
        _no_traceback(look, "the result in between")
        _expect(fork(lambda: hardy(*operation.commands), work, told))
        if operation.sweeps:
            _make_old(work)
            _expect(fork(lambda: hardy(*operation.commands), work, told))
        _expect(fork(_give(operation.results, folder / "results"), work, told))
        check_whole(pickle.loads((folder / "results").read_bytes()), known.results)
        return REFUSED if refused else None

    def _disturb(
        self, operation: Operation, known: Undisturbed, kind: str, work: Path, chance: random.Random
    ) -> bool:
        """Attack the commands; whether they told of it."""
        way, at = chance.choice(WAYS[kind]), chance.randint(1, known.calls)
        moment = chance.uniform(0, known.seconds) if way == "moment" else None
        attack = Attack(way, 0 if moment else at)
        told = work.parent / "told"
        ended = fork(lambda: _attacked(operation, work, attack), work, told, moment)
        _no_traceback(ended, f"{way} at call {at} of {known.calls}", operation.listed)
        return ended.code > 0

    def _cut(
        self, operation: Operation, known: Undisturbed, work: Path, chance: random.Random
    ) -> None:
        """Take the power away during the commands, or after their end, when nothing may be lost."""
        at, log, before = chance.randint(1, known.calls), work.parent / "log", work.parent / "was"
        at = chance.choice((at,) * 7 + (known.calls * 2,))
        shutil.copytree(work, before)

        def record() -> None:
            recorder = Recorder(work, at, log)
            Gate(str(work), recorder).close()
            hardy(*operation.commands)
            recorder.fail()

        _expect(fork(record, work, work.parent / "told"))
        lay_out(load_events(log), before, work.parent / "left", chance)
        replace_folder(work, work.parent / "left")
        shutil.rmtree(before)
        if at > known.calls:
            _expect(fork(_give(operation.results, log), work, work.parent / "told"))
            check_there(pickle.loads(log.read_bytes()), known.results)


def _attacked(operation: Operation, work: Path, attack: Attack) -> None:
    Gate(str(work), attack).close()
    hardy(*operation.commands)


def _import(operation: Operation, target: Path) -> Callable[[], None]:
    """Do all of it, and say what it imported."""

    def run() -> None:
        hardy(*operation.before, *operation.commands)
        operation.results()
        target.write_bytes(pickle.dumps(sorted(sys.modules)))

    return run


def _give(results: Callable[[], Results], target: Path) -> Callable[[], None]:
    def give() -> None:
        target.write_bytes(pickle.dumps(results()))

    return give


def _make_old(folder: Path) -> None:
    then = time.time() - STALE
    for path in folder.rglob("*"):
        os.utime(path, (then, then))


def _expect(ended: Ended) -> None:
    if ended.code:
        raise Accepted(f"expected no failure, got {ended.code}:\n{ended.told[-2000:]}")


def _no_traceback(ended: Ended, when: str, listed: tuple[str, ...] = ()) -> None:
    """Whether it was killed, went on, or told of an error in a line, or in a list at its end."""
    starts = ("error: ", *listed)
    errors = [line for line in ended.told.splitlines() if line.startswith(starts)]
    fine = ended.code in (0, -signal.SIGKILL) or (ended.code in (1, 2) and len(errors) == 1)
    if not fine or "Traceback" in ended.told:
        raise Accepted(f"{when}, ended with {ended.code}:\n{ended.told[-3000:]}")


def names() -> tuple[str, ...]:
    return tuple(OPERATIONS)


def make_trials() -> Work:
    """The work of a worker."""
    return Trials()


def cases(
    wanted: Sequence[str], seed: int, *, rounds: int | None = None, seconds: float | None = None
) -> Iterator[tuple[str, Case]]:
    """Each kind of trial of each operation in turn, until so many rounds or until the time is
    over."""
    until = None if seconds is None else time.monotonic() + seconds
    for number in itertools.count() if rounds is None else range(rounds):
        for kind in KINDS:
            for name in wanted:
                if until is not None and time.monotonic() > until:
                    return
                if kind != POWER or OPERATIONS[name].power:
                    yield f"{name}: {kind}", Case(name, kind, seed * 1_000_003 + number)


def rows(tally: Tally) -> list[tuple[str, ...]]:
    """A table: a row for each operation, with its trials of each kind, and its failures."""
    failed = Counter(case.operation for _, case, _ in tally.failures)
    trials = [
        (name, *(tally.cases[f"{name}: {kind}"] for kind in KINDS), failed[name])
        for name in names()
    ]
    head = ("operation", "kills", "faults", "power losses", "failures")
    return in_words(head, [row for row in trials if any(row[1:])])


def run(
    seed: int,
    wanted: Sequence[str] = (),
    *,
    rounds: int | None = None,
    seconds: float | None = None,
    workers: int,
) -> Tally:
    tally = Tally()
    listed = cases(wanted or names(), seed, rounds=rounds, seconds=seconds)
    run_cases(make_trials, listed, workers, tally)
    return tally


def tell(tally: Tally) -> None:
    """Print the figures, and of failures how to see them again."""
    print(as_table(rows(tally)))
    for _, case, what in tally.failures[:SHOWN]:
        repeat = f'--only "{case.operation}" --kind "{case.kind}" --case {case.seed}'
        print(f"\npython -m soak.kills {repeat}\n{what}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0, help="how long")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=names(), help="repeatable")
    parser.add_argument("--kind", choices=KINDS, help="of the one trial that --case names")
    parser.add_argument("--case", type=int, help="one trial, of the operation named by --only")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    if given.case is not None:
        tally, case = Tally(), Case(given.only[0], given.kind, given.case)
        run_cases(make_trials, [(f"{case.operation}: {case.kind}", case)], 1, tally)
    else:
        wanted = given.only or names()
        tally = run(given.seed, wanted, seconds=given.seconds, workers=given.workers)
    tell(tally)
    return 1 if tally.failures else 0


if __name__ == "__main__":
    sys.exit(main())
