"""The speed of ImageNet-C̄ and ImageNet-NOC: how it is judged, and what docs say of it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from bench import suites
from bench.timing import Feed
from hardy.suites import load

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "bench/results/suites.md").read_text(encoding="utf-8")
RESULTS = json.loads((ROOT / "bench/results/suites.json").read_text(encoding="utf-8"))


def results(c_bar: float = 1.0, **noc: float) -> dict[str, object]:
    """Every cell takes a millisecond, and those that are named so many."""

    def spread(ms: float) -> dict[str, float]:
        return {"median": ms, "q1": ms, "q3": ms, "best": ms, "n": 3}

    c_bar_cells = {name: [spread(c_bar)] * 5 for name in load(suites.C_BAR).counted}
    noc_cells = {name: [spread(noc.get(name, 1.0))] for name in load(suites.NOC).counted}
    return {
        "machine": {"cpu": "a processor", "cores": 2, "load": 0.5},
        "versions": {"Python": "3.11"},
        "commit": "abc",
        "cpu_per_wall": 1.0,
        suites.C_BAR: {"cells": c_bar_cells, "sum": spread(50 * c_bar)},
        suites.NOC: {"cells": noc_cells, "sum": spread(23.0)},
    }


@pytest.mark.parametrize(
    ("measured", "held"),
    [
        (results(), [True, True]),
        (results(c_bar=20.0), [True, True]),
        (results(c_bar=20.1), [False, True]),
        (results(noc_rain=2.0), [True, True]),
        (results(noc_rain=2.01), [True, False]),
    ],
)
def test_bars(measured, held):
    assert [bar.holds for bar in suites.judge(measured)] == held


def test_the_page_names_the_corruption_that_is_too_slow():
    measured = results(noc_rain=2.01)
    text = suites.page(measured, suites.judge(measured))
    assert "FAIL  ImageNet-NOC, each of the 23 ≤ 2 ms: slowest noc_rain 2.01 ms" in text
    (failed,) = (line for line in text.splitlines() if line.endswith("FAIL |"))
    assert failed.startswith("| noc_rain ")
    assert text.count("PASS |") == 22


def test_what_compiles_is_not_counted():
    photos = np.random.default_rng(0).integers(0, 256, (4, 32, 32, 3)).astype(np.uint8)
    todo = [("noc_border", 1), ("checkerboard_cutout", 5)]
    times = suites.milliseconds(todo, Feed(photos), 3)
    assert list(times) == todo
    assert [len(values) for values in times.values()] == [3, 3]
    assert all(value > 0 for values in times.values() for value in values)


def test_every_corruption_of_both_suites_was_measured():
    for suite in (suites.C_BAR, suites.NOC):
        measured = [(name, k + 1) for name, rows in RESULTS[suite]["cells"].items()
                    for k in range(len(rows))]  # fmt: skip
        assert measured == suites.cells(suite)
    assert len(suites.cells(suites.C_BAR)) == 50
    assert len(suites.cells(suites.NOC)) == 23


def test_the_page_is_made_from_the_results():
    assert suites.page(RESULTS, suites.judge(RESULTS)) == PAGE


def test_the_docs_say_what_was_measured():
    c_bar, noc = (
        (ROOT / "docs" / name).read_text(encoding="utf-8").replace("\n", " ")
        for name in ("c-bar.md", "noc.md")
    )
    total = re.search(r"five severities of one photo ≤ 1000 ms: ([\d.]+) ms", PAGE)
    slowest = re.search(r"each of the 23 ≤ 2 ms: slowest (\w+) ([\d.]+) ms", PAGE)
    host = re.search(r"^Machine: ([^,]+),", PAGE, re.MULTILINE)
    assert total
    assert slowest
    assert host
    where = f"for one photograph at 224 × 224 on one core of an {host[1]}"
    assert f"All ten at five severities take {float(total[1]):.0f} ms {where}" in c_bar
    assert f"The slowest, `{slowest[1]}`, takes {slowest[2]} ms {where}" in noc
    for text in (c_bar, noc):
        assert "`bench/results/suites.md`" in text
