"""Small stores of made-up predictions: which images a model gets wrong is given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from hardy.metrics import Resampling
from hardy.metrics.frame_distance import zipf_columns
from hardy.store.identity import Identity
from hardy.store.reader import StoredRun, find_runs
from hardy.store.records import read_defences
from hardy.store.run_names import RunNames
from hardy.store.writer import RunWriter
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell

FEW = Resampling(replicates=100)
CLASSES = 10


def identity(model: str, suite: str, **changes: Any) -> Identity:
    wanted = load(suite)
    fields: dict[str, Any] = {
        "model": model,
        "model_identity": f"weights of {model}",
        "suite": suite,
        "suite_version": wanted.version,
        "suite_hash": wanted.content_hash(),
        "seed": 0,
        "recipe": wanted.recipe,
        "made": f"on the fly + {wanted.storage}" if wanted.reference else "on the fly",
        "labels": "suite",
        "preprocessing": "none",
        "precision": "float32",
    }
    defence = read_defences(changes.pop("defence", None))
    return Identity(**(fields | changes), defence=defence)


def write_run(
    store: Path,
    wrong: Mapping[Cell, Any],
    *,
    model: str = "mine",
    suite: str = "imagenet_c",
    ids: Sequence[int | str] | None = None,
    labels: Any = None,
    subset: dict[str, Any] | None = None,
    top: float = 0.7,
    session: Mapping[str, Any] | None = None,
    own_classes: bool = False,
    **changes: Any,
) -> StoredRun:
    """`wrong` has per cell a flag for each image; an image with -1 lacks the cell.

    A right answer has probability `top`, a wrong one the label as second of three with 0.2.
    """
    number = len(next(iter(wrong.values())))
    ids = list(range(number)) if ids is None else list(ids)
    labels = np.arange(number) % CLASSES if labels is None else np.asarray(labels)
    changes |= {"labels": "own"} if own_classes else {}
    this = identity(model, suite, **changes)
    with RunWriter(store, this, ids=ids, labels=labels, classes=None) as writer:
        said = {"subset": subset, "hardy": "0", **(session or {})}
        writer.add_session(said, RunNames(model))
        writer.set_width(CLASSES)
        for cell, flags in wrong.items():
            flags = np.asarray(flags, np.int64)
            rows = np.flatnonzero(flags >= 0)
            writer.add(rows, cell, _columns(flags[rows], labels[rows], top))
    return run_in(writer.folder)


def write_nothing(store: Path, model: str, suite: str = "imagenet_c") -> StoredRun:
    """What a first attempt leaves that fails before its first prediction."""
    settings: dict[str, Any] = {"ids": list(range(20)), "labels": np.arange(20), "classes": None}
    with RunWriter(store, identity(model, suite), **settings) as writer:
        writer.add_session({"subset": None})
    return run_in(writer.folder)


def run_in(folder: Path) -> StoredRun:
    (run,) = find_runs(folder)
    return run


def _columns(flags: np.ndarray, labels: np.ndarray, top: float) -> dict[str, np.ndarray]:
    best = (labels[:, None] + np.arange(5)) % CLASSES
    best[:, 0] = (labels + flags) % CLASSES
    best[:, 1] = (labels + 1 - flags) % CLASSES
    probabilities = np.tile(np.array([top, 0.2, 0.1, 0.0, 0.0]), (len(flags), 1))
    return {
        "log_prob": np.log(np.where(flags, 0.2, top)),
        "rank": flags,
        "square_sum": np.full(len(flags), round(top**2 + 0.05, 4)),
        "top5": best,
        "top5_prob": probabilities,
    }


def errors(
    suite: str = "imagenet_c",
    images: int = 20,
    *,
    names: Sequence[str] | None = None,
    severities: Sequence[int] = (1, 2, 3, 4, 5),
    clean: float | None = 0.1,
    rate: float = 0.5,
    seed: int = 0,
) -> dict[Cell, np.ndarray]:
    """At random, each cell with its own errors."""
    rng = np.random.default_rng(seed)
    found = {} if clean is None else {CLEAN: rng.random(images) < clean}
    for name in names or load(suite).counted:
        for severity in severities:
            found[Cell(name, severity)] = rng.random(images) < rate
    return found


def write_sequences(
    store: Path,
    cells: Sequence[Cell],
    *,
    model: str = "mine",
    suite: str = "imagenet_p",
    images: int = 12,
    frames: int = 6,
    seed: int = 0,
    walk: float = 1.0,
    lacking: Mapping[Cell, Sequence[int]] | None = None,
) -> tuple[StoredRun, dict[Cell, np.ndarray]]:
    """Random walks of the scores, in such steps; gives them too: (images, frames, classes)."""
    rng = np.random.default_rng(seed)
    steps = {c: rng.normal(size=(images, frames, CLASSES)) for c in cells}
    for step in steps.values():
        step[:, 1:] *= walk
    scores = {c: step.cumsum(axis=1) for c, step in steps.items()}
    labels = np.full(images, -1)
    settings: dict[str, Any] = {"ids": list(range(images)), "labels": labels, "classes": None}
    settings["frames"] = dict.fromkeys(cells, frames)
    with RunWriter(store, identity(model, suite), **settings) as writer:
        writer.add_session({"subset": None})
        writer.set_width(CLASSES)
        for cell, values in scores.items():
            rows = np.setdiff1d(np.arange(images), (lacking or {}).get(cell, []))
            size = len(rows) * frames
            best = np.argsort(-values[rows], axis=-1)[..., :5].reshape(size, 5)
            columns = {
                "log_prob": np.zeros(size),
                "rank": np.zeros(size, np.int32),
                "square_sum": np.ones(size),
                "top5": best,
                "top5_prob": np.ones((size, 5)),
                "zipf": zipf_columns(values[rows]).reshape(size, 4),
            }
            writer.add(rows, cell, columns)
    return run_in(writer.folder), scores
