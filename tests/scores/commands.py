"""Commands on a store, as tests give them: the models in it, and how they are run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hardy.suites.cells import CLEAN, Cell
from tests.scores.helpers import errors, write_run, write_sequences

ODD = "[bold]odd[/bold] \x1b[31m"
STORED = r"[bold]odd[/bold] \x1b[31m"
NAMES = ("fog", "snow")
GOOD = errors(names=NAMES, images=40, rate=0.3, clean=0.1)
BAD = {cell: flags | (np.arange(40) < 20) for cell, flags in GOOD.items()}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models on ImageNet-C, the worst with a strange name; two on ImageNet-P."""
    store = tmp_path_factory.mktemp("store")
    write_run(store, GOOD, model="good")
    write_run(store, {**GOOD, CLEAN: BAD[CLEAN]}, model="middling")
    write_run(store, BAD, model=ODD)
    for seed, model in enumerate(("good", "middling")):
        write_sequences(store, [Cell("tilt", 1), Cell("shot_noise", 1)], model=model, seed=seed)
    return store


@pytest.fixture
def run(run, monkeypatch: pytest.MonkeyPatch):
    """Run a command on a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")
    return run


def lines_with(text: str, start: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines() if line.startswith(start)]
