"""Killed at any moment, a store has lost little, and nothing in it is wrong."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from hardy.store import sessions
from hardy.store.reader import find_runs
from tests.store.stores import CELLS, contents_hash, extend, predict
from tests.variants.test_build_killed import start, wait_for

IMAGES = 300
KILLS = 10


def kill(store: Path, mark: Path, write: int) -> None:
    """End a process that fills the store half-way through one of its writes."""
    process = start("tests.store.interference", mark, store, IMAGES, write)
    assert wait_for(mark.exists, process), process.communicate()
    process.kill()
    process.communicate(timeout=600)


def check(store: Path) -> int:
    """What is there is right; how much it is."""
    if not list(store.glob("*/run.json")):
        return 0
    (run,) = find_runs(store)
    found = 0
    for cell in run.cells:
        images = np.flatnonzero(run.complete([cell]))
        wanted = predict([run.ids[image] for image in images], cell)
        got = run.read([cell], ["log_prob", "top5", "top5_prob"], images)
        for name, values in got.items():
            np.testing.assert_array_equal(values[:, 0], wanted[name])
        found += len(images)
    return found


def test_killed_and_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, chance = tmp_path / "store", random.Random(0)
    found = [0]
    for number in range(KILLS):
        kill(store, tmp_path / f"mark{number}", chance.randint(1, 1000))
        found.append(check(store))
        assert found[-1] >= found[-2], "what was stored is kept"
    assert 0 < found[-1] < IMAGES * len(CELLS)
    monkeypatch.setattr(sessions, "STALE_SECONDS", -1.0)
    resumed = extend(store, range(IMAGES))
    assert contents_hash(resumed) == contents_hash(extend(tmp_path / "whole", range(IMAGES)))
    left = [path.name for path in resumed.folder.rglob(".*")]
    assert left == []
