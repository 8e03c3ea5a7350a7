"""Damages valid files and reads them: `python -m soak.fuzz --seconds 600 --seed 1`.

Prints how many inputs each reader was given and how many it refused; every failure is shown with
the command that repeats it. The exit code is 1 where there was one.
"""

from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Iterator, Sequence

from soak.harness import Tally, as_table, run_cases
from soak.readers import make_reading, names

SHOWN = 10  # failures


def cases(
    wanted: Sequence[str], seed: int, *, inputs: int | None = None, seconds: float | None = None
) -> Iterator[tuple[str, tuple[str, int]]]:
    """Each reader in turn, with seeds that follow from the one given: until so many inputs of each,
    or until the time is over."""
    until = None if seconds is None else time.monotonic() + seconds
    for number in itertools.count() if inputs is None else range(inputs):
        for name in wanted:
            if until is not None and time.monotonic() > until:
                return
            yield name, (name, seed * 1_000_003 + number)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, help="how long; or --inputs")
    parser.add_argument("--inputs", type=int, help="for each reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", choices=names(), help="a reader; repeatable")
    parser.add_argument("--case", type=int, help="one input, of the one reader named by --only")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args(arguments)
    wanted = given.only or names()
    if given.case is not None:
        tally = Tally()
        run_cases(make_reading, [(wanted[0], (wanted[0], given.case))], 1, tally)
    else:
        seconds = 60.0 if given.seconds is None and given.inputs is None else given.seconds
        tally = run(given.seed, wanted, inputs=given.inputs, seconds=seconds, workers=given.workers)
    tell(tally)
    return 1 if tally.failures else 0


def run(
    seed: int,
    wanted: Sequence[str] = (),
    *,
    inputs: int | None = None,
    seconds: float | None = None,
    workers: int,
) -> Tally:
    tally = Tally()
    listed = cases(wanted or names(), seed, inputs=inputs, seconds=seconds)
    run_cases(make_reading, listed, workers, tally)
    return tally


def rows(tally: Tally) -> list[tuple[str, ...]]:
    """A table: a row for each reader, with its inputs, how many it refused, and its failures."""
    return tally.rows()


def tell(tally: Tally) -> None:
    """Print the figures, and of failures how to see them again."""
    print(as_table(tally.rows()))
    for name, case, what in tally.failures[:SHOWN]:
        print(f'\npython -m soak.fuzz --only "{name}" --case {case[1]}\n{what}')


if __name__ == "__main__":
    sys.exit(main())
