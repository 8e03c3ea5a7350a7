"""`python -m bench.suites [--quick]`: ImageNet-C̄ and ImageNet-NOC on one core, every bar judged.

The full run writes bench/results/suites.md and suites.json; --quick takes few repeats, prints the
same and writes nothing. The exit status is 1 when a bar fails.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Any

from bench.bars import Bar
from bench.cpu import RESULTS, commit, machine, versions
from bench.photos import crops
from bench.table import grid
from bench.timing import Cell, Feed, Spread, ours
from hardy.files import write_file, write_record
from hardy.suites import load

BAR_C_BAR = 1000.0  # ms, for all ten at five severities
BAR_NOC = 2.0  # ms, for each of the 23
C_BAR, NOC = "imagenet_c_bar", "noc_23"
FULL, QUICK = 51, 5  # repeats
PHOTOS = 64


def cells(suite: str) -> list[Cell]:
    edition = load(suite).edition
    return [(name, s) for name in load(suite).counted for s in edition.severities(name)]


def milliseconds(todo: Sequence[Cell], feed: Feed, repeats: int) -> dict[Cell, list[float]]:
    """All cells in turn, another photo and id for every call."""
    times: dict[Cell, list[float]] = {cell: [] for cell in todo}
    for repeat in range(repeats + 1):
        for cell in todo:
            image, ids = feed.one()
            spent = ours(image[None], ids, cell)
            if repeat:  # the first one compiles
                times[cell].append(spent)
    return times


def summary(times: dict[Cell, list[float]]) -> dict[str, list[dict[str, float]]]:
    """The spread of every severity, by corruption."""
    rows: dict[str, list[dict[str, float]]] = {}
    for (name, _), values in times.items():
        row = Spread.of(values).as_dict() | {"best": min(values)}
        rows.setdefault(name, []).append(row)
    return rows


def measure(repeats: int) -> dict[str, Any]:
    # The load first, before this run adds to it.
    results: dict[str, Any] = {"machine": machine(), "versions": versions(), "commit": commit()}
    feed = Feed(crops(PHOTOS))
    began = time.perf_counter(), time.process_time()
    for suite in (C_BAR, NOC):
        times = milliseconds(cells(suite), feed, repeats)
        sums = [sum(row) for row in zip(*times.values(), strict=True)]
        results[suite] = {"cells": summary(times), "sum": Spread.of(sums).as_dict()}
    wall, cpu = time.perf_counter() - began[0], time.process_time() - began[1]
    return results | {"cpu_per_wall": cpu / wall}


def judge(results: dict[str, Any]) -> list[Bar]:
    total = results[C_BAR]["sum"]
    slowest, ms = max(
        ((name, row["median"]) for name, (row,) in results[NOC]["cells"].items()),
        key=lambda pair: pair[1],
    )
    return [
        Bar(
            f"ImageNet-C̄, all ten at five severities of one photo ≤ {BAR_C_BAR:.0f} ms",
            f"{total['median']:.1f} ms, quartiles {total['q1']:.1f}-{total['q3']:.1f}",
            total["median"] <= BAR_C_BAR,
        ),
        Bar(
            f"ImageNet-NOC, each of the {len(results[NOC]['cells'])} ≤ {BAR_NOC:g} ms",
            f"slowest {slowest} {ms:.2f} ms",
            ms <= BAR_NOC,
        ),
    ]


def page(results: dict[str, Any], bars: Sequence[Bar]) -> str:
    host, c_bar, noc = results["machine"], results[C_BAR], results[NOC]
    libraries = ", ".join(f"{name} {version}" for name, version in results["versions"].items())
    by_severity = [
        [name, *(f"{row['median']:.2f}" for row in rows), f"{sum(r['median'] for r in rows):.1f}"]
        for name, rows in c_bar["cells"].items()
    ]
    by_image = [
        [
            name,
            f"{row['median']:.2f}",
            f"{row['q1']:.2f}-{row['q3']:.2f}",
            f"{row['best']:.2f}",
            "PASS" if row["median"] <= BAR_NOC else "FAIL",
        ]
        for name, (row,) in noc["cells"].items()
    ]
    return f"""# ImageNet-C̄ and ImageNet-NOC on a CPU, one thread

Machine: {host["cpu"]}, {host["cores"]} cores, load {host["load"]:.2f} at the start. {libraries}. \
Commit {results["commit"]}.

Process-CPU milliseconds per image at 224 x 224, one process, one thread, warm; medians of \
{c_bar["sum"]["n"]} interleaved repeats. Each call takes one image, the next of {PHOTOS} \
distinct crops of real photos, and an id never used before; drawing is inside the timed region; \
uint8 comes out. CPU time over wall time of the run: {results["cpu_per_wall"]:.2f}.

{chr(10).join(f"* {bar}" for bar in bars)}

## ImageNet-C̄, by severity

{grid(["corruption", "1", "2", "3", "4", "5", "all five"], by_severity)}

## ImageNet-NOC, every image at a strength of its own

{grid(["corruption", "ms", "quartiles", "best", f"≤ {BAR_NOC:g} ms"], by_image)}
"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.suites", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few repeats; writes no files")
    quick = parser.parse_args().quick
    results = measure(QUICK if quick else FULL)
    bars = judge(results)
    text = page(results, bars)
    print(text)
    if not quick:
        write_record(RESULTS / "suites.json", results)
        write_file(RESULTS / "suites.md", text.encode())
    return 0 if all(bar.holds for bar in bars) else 1


if __name__ == "__main__":
    raise SystemExit(main())
