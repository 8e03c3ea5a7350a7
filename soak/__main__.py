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
from soak.harness import Tally

TARGET = Path("build/soak.md")


def markdown(rows: Sequence[Sequence[str]]) -> str:
    """A table: names to the left, numbers to the right."""
    rule = ["---", *["---:"] * (len(rows[0]) - 1)]
    return "".join(f"| {' | '.join(row)} |\n" for row in (rows[0], rule, *rows[1:]))


def describe(seconds: float, seed: int, tallies: Sequence[Tally]) -> str:
    """The figures, with how they came about."""
    damaged, disturbed = tallies
    system = f"{platform.system()}, {platform.machine()}, {os.cpu_count()} processors"
    head = f"`make soak SECONDS={seconds:g} SEED={seed}`, Python {platform.python_version()} on "
    tables = (markdown(kills.rows(disturbed)), markdown(damaged.rows()))
    return "\n".join((f"{head}{system}:\n", *tables))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300.0, help="how long")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    tallies = [
        attack.run(given.seed, seconds=given.seconds / 2, workers=os.cpu_count() or 1)
        for attack in (fuzz, kills)
    ]
    for attack, tally in zip((fuzz, kills), tallies, strict=True):
        attack.tell(tally)
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(describe(given.seconds, given.seed, tallies), encoding="utf-8")
    print(f"\nwrote {TARGET}")
    return 1 if any(tally.failures for tally in tallies) else 0


if __name__ == "__main__":
    sys.exit(main())
