"""All attacks, half of the time each: `python -m soak --seconds 3600 --seed 1`.

Writes the figures as tables of Markdown to build/soak.md, for docs/reliability.md.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from soak import fuzz, kills

TARGET = Path("build/soak.md")


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table: names to the left, numbers to the right."""
    rule = ["---", *["---:"] * (len(rows[0]) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (rows[0], rule, *rows[1:]))


def write_figures(
    target: Path,
    command: str,
    seconds: float,
    seed: int,
    tables: Sequence[Sequence[Sequence[str]]],
) -> None:
    """The figures, with how they came about."""
    system = f"{platform.system()}, {platform.machine()}, {os.cpu_count()} processors"
    head = f"`make {command} SECONDS={seconds:g} SEED={seed}`, Python {platform.python_version()}"
    target.parent.mkdir(exist_ok=True)
    text = "\n".join((f"{head} on {system}:\n", *map(markdown, tables)))
    target.write_text(text, encoding="utf-8")
    print(f"\nwrote {target}")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="how long")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    tallies, tables = [], []
    for attack in (kills, fuzz):  # figures are written in between: an hour is long
        workers = os.cpu_count() or 1
        tally = attack.run(given.seed, seconds=given.seconds / 2, workers=workers)
        attack.tell(tally)
        tallies.append(tally)
        tables.append(attack.rows(tally))
        write_figures(TARGET, "soak", given.seconds, given.seed, tables)
    return 1 if any(tally.failures for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
