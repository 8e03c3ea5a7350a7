"""Small stores: predictions that depend on nothing but the image and the cell."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.run.reduce import Columns, reduce
from hardy.store.identity import Identity
from hardy.store.parts import COLUMNS
from hardy.store.reader import StoredRun, open_run
from hardy.store.writer import RunWriter
from hardy.suites.cells import CLEAN, Cell

WIDTH = 7
CELLS = [CLEAN, Cell("fog", 1), Cell("fog", 3), Cell("frost", 3)]
TILT = Cell("tilt", 1)


def files(run: StoredRun) -> list[Path]:
    return sorted((run.folder / "parts").iterdir())


def identity(**other: Any) -> Identity:
    usual: dict[str, Any] = {
        "model": "fake:7",
        "model_identity": "ab" * 32,
        "suite": "cifar10_c",
        "suite_version": 1,
        "suite_hash": "cd" * 32,
        "seed": 0,
        "recipe": "none",
        "made": "on the fly",
        "labels": "suite",
        "preprocessing": "none",
        "precision": "float32",
    }
    return Identity(**usual | other)


def labels_of(ids: Sequence[int | str]) -> npt.NDArray[np.int32]:
    return np.array([len(str(id)) * 31 % WIDTH for id in ids], np.int32)


def pixels_of(ids: Iterable[int | str]) -> npt.NDArray[np.uint64]:
    return np.array([1 + sum(map(ord, str(id))) for id in ids], np.uint64)


def predict(ids: Sequence[int | str], cell: Cell, frames: int | None = None) -> Columns:
    """A row per image, or per frame."""
    logits = np.stack(
        [
            np.random.default_rng([*map(ord, str((id, *cell, frame)))]).normal(size=WIDTH)
            for id in ids
            for frame in range(frames or 1)
        ]
    )
    return reduce(logits.astype(np.float32), np.repeat(labels_of(ids), frames or 1), frames=frames)


def opened(store: Path, ids: Sequence[Any], **other: Any) -> RunWriter:
    given = {"labels": labels_of(ids), "classes": None, "frames": {TILT: 5}} | other
    return RunWriter(store, given.pop("identity", identity()), ids=ids, **given)


def extend(
    store: Path, ids: Sequence[Any], cells: Sequence[Cell] = CELLS, batch: int = 10
) -> StoredRun:
    """As the runner does it: what is missing, block by block and cell by cell."""
    with opened(store, ids) as writer:
        have = writer.have(cells)
        for start in range(0, len(ids), batch):
            for column, cell in enumerate(cells):
                rows = start + np.flatnonzero(~have[start : start + batch, column])
                if len(rows):
                    some = [ids[row] for row in rows.tolist()]
                    made = predict(some, cell, 5 if cell == TILT else None)
                    writer.add(rows, cell, made, pixels_of(some))
    return open_run(writer.folder)


def contents_hash(run: StoredRun) -> str:
    """A hash of all predictions, whatever order they were made and stored in."""
    digest = sha256()
    for cell in run.cells:
        images = np.flatnonzero(run.complete([cell]))
        digest.update(repr((cell, [run.ids[image] for image in images])).encode())
        for name, values in sorted(run.read([cell], tuple(COLUMNS), images).items()):
            digest.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()
