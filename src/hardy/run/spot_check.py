"""Before a run: does the model answer as it should, and does it answer as it did before?

Identities are hashes, but not of everything: a function may read other weights, files may have been
changed on the disk. So a block of what is stored is predicted again, and must come out the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.engine.ops import is_tensor
from hardy.errors import InputError
from hardy.models import Model
from hardy.run.predict import answers
from hardy.run.reduce import Columns, check_finite, reduce
from hardy.run.subject import Loaded, Rows, Subject
from hardy.store.reader import open_run
from hardy.store.writer import Writer
from hardy.suites.cells import Cell

# A prediction differs when the logarithm of its probability moved by more than this, relative to
# 1 + its size; another device or batch does that to few. More than this share means other weights.
APART = {"float32": 0.01}
APART_ELSE = 0.05
DIFFERENT = 0.02
# Images whose pixels are compared with those that were stored: all would have to be read.
LOOKED_AT = 16


def rehearse(models: Sequence[Model], subject: Subject) -> None:
    """Shows every model one image, before anything is stored."""
    loaded = _first(subject)
    for model in models:
        _predict(model, subject, loaded, subject.cells[0])


def _first(subject: Subject) -> Loaded:
    fault = ""
    for row in range(len(subject)):
        loaded = subject.load(np.array([row], np.int64))
        if loaded.chunk is not None:
            return loaded
        fault = fault or loaded.faults[row]
    raise InputError(f"none of the {len(subject):,} images can be read: {fault}")


def check_unchanged(model: Model, writer: Writer, subject: Subject) -> None:
    """Some of what is stored, predicted again: refused where the model says something else."""
    chosen = _stored_block(writer, subject)
    if not chosen:
        return
    spread = np.unique(np.linspace(0, len(subject) - 1, LOOKED_AT).astype(np.int64))
    some = subject.load(spread)
    writer.check_pixels(some.rows, some.pixels)
    run = open_run(writer.folder)
    place = {id: number for number, id in enumerate(run.ids)}
    for rows, cell in chosen:
        loaded = subject.load(rows)
        if loaded.chunk is not None:
            places = np.array([place[subject.ids[row]] for row in loaded.rows])
            before = run.read([cell], ["confidence", "log_prob"], places)
            _compare(model, subject, loaded, cell, before, writer)


def _compare(
    model: Model,
    subject: Subject,
    loaded: Loaded,
    cell: Cell,
    before: Columns,
    writer: Writer,
) -> None:
    labels = np.repeat(subject.classes.labels[loaded.rows], subject.frames(cell) or 1)
    now = reduce(_predict(model, subject, loaded, cell), labels)
    # Of the label; of the top class where there is none.
    stored = np.where(labels < 0, np.log(before["confidence"].ravel()), before["log_prob"].ravel())
    again = np.where(labels < 0, np.log(now["top5_prob"][:, 0]), now["log_prob"])
    apart = np.abs(stored - again) / (1 + np.abs(stored))
    different = np.mean(apart > APART.get(model.precision, APART_ELSE))
    if different > DIFFERENT:
        raise InputError(
            f"{model.name}: {len(labels)} predictions of {cell} that are stored in "
            f"{writer.folder} were made again, and {different:.0%} of them differ; the weights or "
            "the images have changed: name another store, or give the model another name if it is "
            "a function"
        )


def _stored_block(writer: Writer, subject: Subject) -> list[tuple[Rows, Cell]]:
    """The first block of rows of which something is stored, under the first and the last cell.

    The last one is the hardest: where a model is certain, other weights do not show.
    """
    have = writer.have(subject.cells)
    known = np.flatnonzero(have.any(axis=1))
    if not len(known):
        return []
    start = known[0] // subject.chunk_size * subject.chunk_size
    block = have[start : start + subject.chunk_size]
    columns = np.flatnonzero(block.any(axis=0))
    return [
        (start + np.flatnonzero(block[:, column]), subject.cells[column])
        for column in sorted({int(columns[0]), int(columns[-1])})
    ]


def _predict(model: Model, subject: Subject, loaded: Loaded, cell: Cell) -> npt.NDArray[Any]:
    assert loaded.chunk is not None
    chunk = loaded.chunk if subject.device is None else loaded.chunk.on(subject.device)
    logits = answers(model, chunk.make(cell), loaded.rows, subject)
    if is_tensor(logits):
        logits = logits.cpu().numpy()
    frames = subject.frames(cell) or 1
    ids = [subject.ids[row] for row in loaded.rows for _ in range(frames)]
    finite = np.asarray(np.isfinite(logits).all(axis=1))
    check_finite(finite, model=model.name, ids=ids)
    return np.asarray(logits)
