"""Shows images to a model, and hands what it makes of them to the store.

On the host a prediction is stored at once. On a device the host never waits for the one it has just
asked for: it goes on asking, and stores those that came back meanwhile.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.engine.ops import is_tensor
from hardy.models import Model, facts_of
from hardy.run.adaptation import cut
from hardy.run.reduce import (
    Columns,
    check_finite,
    check_shape,
    reduce,
)
from hardy.run.subject import Loaded, Rows, Subject
from hardy.store.writer import Writer
from hardy.suites.cells import Cell

# Batches that a device is ahead of the store: enough that it never waits for the host.
AHEAD = 16
IMAGES = 4  # axes; frames have one more


class Made(NamedTuple):
    """The images of one cell, ready for the models."""

    loaded: Loaded
    cell: Cell
    images: Any  # (N, H, W, 3) or (N, F, H, W, 3)


class _Asked(NamedTuple):
    model: Model
    writer: Writer
    made: Made
    columns: dict[str, Any]
    ready: Any  # an event of the device


def answers(model: Model, images: Any, rows: Rows, subject: Subject) -> Any:
    """The logits of each image, or of each frame of each, that are made of these rows."""
    width, size = subject.classes.width, facts_of(model).adapts_in
    if size is None:
        return _ask(model, images.reshape(-1, *images.shape[-3:]), width)
    said = []
    for part in cut(rows, size, subject):
        batch = images[part]
        frames = [batch] if batch.ndim == IMAGES else [batch[:, at] for at in range(batch.shape[1])]
        by_frame = [_ask(model, frame, width) for frame in frames]
        said.append(_library(by_frame[0]).stack(by_frame, 1).reshape(-1, width))
    return _library(said[0]).concatenate(said)


def _ask(model: Model, images: Any, width: int) -> Any:
    if not is_tensor(images):
        images.flags.writeable = False  # no model can change what others see after it
    logits = model.logits(images)
    check_shape(logits, model=model.name, rows=len(images), width=width)
    return logits


def _library(array: Any) -> Any:
    """The one that made it."""
    if not is_tensor(array):
        return np
    import torch

    return torch


class Showing:
    def __init__(self, subject: Subject) -> None:
        self._subject = subject
        self._asked: deque[_Asked] = deque()

    def show(self, model: Model, writer: Writer, made: Made) -> None:
        frames = self._subject.frames(made.cell)
        labels = np.repeat(self._subject.classes.labels[made.loaded.rows], frames or 1)
        logits = answers(model, made.images, made.loaded.rows, self._subject)
        if not is_tensor(logits):
            self._check(model, made, np.asarray(np.isfinite(logits).all(axis=1)))
            self._store(writer, made, reduce(logits, labels, frames=frames))
            return
        from hardy.run.device_queue import ask

        # Without its images: the device has better use for their memory.
        waiting = made._replace(images=None)
        self._asked.append(_Asked(model, writer, waiting, *ask(logits, labels, frames)))
        if len(self._asked) > AHEAD:
            self._settle_one()

    def settle(self) -> None:
        """All that was asked is stored."""
        while self._asked:
            self._settle_one()

    def _settle_one(self) -> None:
        from hardy.run.device_queue import answer

        asked = self._asked.popleft()
        columns = answer(asked.columns, asked.ready)
        self._check(asked.model, asked.made, columns.pop("finite"))
        self._store(asked.writer, asked.made, columns)

    def _check(self, model: Model, made: Made, finite: npt.NDArray[np.bool_]) -> None:
        if finite.all():
            return  # before any id is looked up: this is asked for every batch
        frames = self._subject.frames(made.cell) or 1
        ids = [self._subject.ids[row] for row in made.loaded.rows for _ in range(frames)]
        check_finite(finite, model=model.name, ids=ids)

    def _store(self, writer: Writer, made: Made, columns: Columns) -> None:
        writer.set_width(self._subject.classes.width)
        writer.add(made.loaded.rows, made.cell, columns, made.loaded.pixels)
