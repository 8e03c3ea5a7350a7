"""How images reach a model and its answers reach the store: read ahead, shown, reduced, stored.

Threads read the next block of images while models are at work. On the host a prediction is stored
at once. On a device the host never waits for the prediction it has just asked for: it goes on
asking, and stores those that came back meanwhile.

A model that adapts answers to an image by those beside it, so these are always the same. Images
stand in an order of their own, and are shown in whole batches at fixed places, one cell at a time;
a run has just these images; a batch that was shown is never shown again in part. Frames of
sequences are shown one by one, in the same batches of images: else an answer would change where
nothing moves, because the images beside it do.
"""

import json
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain, pairwise
from math import lcm
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hardy.engine.ops import is_tensor
from hardy.errors import InputError, printable
from hardy.execute import Executor
from hardy.images.labels import Classes, advise_width
from hardy.models import Model
from hardy.models.calling import check_logits
from hardy.models.model import facts_of
from hardy.run.failures import Failures
from hardy.run.marking import mark
from hardy.run.reading import piece_reader
from hardy.run.reduce import reduce
from hardy.run.subject import Loaded, Piece, Rows, Subject
from hardy.store.parts import Columns
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite

PIECES = 16  # of a block for a device
# Batches that a device is ahead of the store: enough that it never waits for the host.
AHEAD = 16
IMAGES = 4  # axes; frames have one more
NAMED = 3  # images that an error lists


class Prefetch:
    """The images of block after block.

    A block for a device is large, and threads that read hold up the one that keeps the device busy.
    So a block is read in pieces: all threads share the first block, which everything waits for, and
    pieces of the next one are taken between cells. Each piece that is taken lets the threads begin
    one more.
    """

    def __init__(self, subject: Subject, blocks: Sequence[Rows], executor: Executor) -> None:
        self._subject = subject
        whole = subject.chunk_size
        size = whole if subject.device is None else max(1, whole // PIECES)
        pieces = [np.split(rows, range(size, len(rows), size)) for rows in blocks]
        self._counts = deque(map(len, pieces))  # of the blocks that are still to come
        self._taken: list[Piece] = []  # of the next block
        self._read = executor.run(piece_reader(subject), chain.from_iterable(pieces))

    def block(self) -> Loaded:
        """The next block, whole."""
        return self._subject.join(self.pieces())

    def pieces(self) -> list[Piece]:
        """The next block as it was read."""
        self.take_ahead(1.0)
        self._counts.popleft()
        pieces, self._taken = self._taken, []
        return pieces

    def take_ahead(self, share: float) -> None:
        """Take that share of the next block's pieces, if there is one; waits where it must."""
        wanted = int(share * self._counts[0]) if self._counts else 0
        while len(self._taken) < wanted:
            self._taken.append(next(self._read))

    def close(self) -> None:
        self._read.close()


class CellImages(NamedTuple):
    """The images of one cell, ready for the models."""

    loaded: Loaded
    cell: Cell
    images: Any  # (N, H, W, 3) or (N, F, H, W, 3)


def answers(model: Model, images: Any, rows: Rows, subject: Subject) -> Any:
    """The logits of each image, or of each frame of each image, of these rows."""
    width, size = subject.classes.width, facts_of(model).adapts_in
    if size is None:
        return _ask(model, images.reshape(-1, *images.shape[-3:]), subject)
    said = []
    for part in _cut(rows, size, subject):
        batch = images[part]
        frames = [batch] if batch.ndim == IMAGES else [batch[:, at] for at in range(batch.shape[1])]
        by_frame = [_ask(model, frame, subject) for frame in frames]
        said.append(_library(by_frame[0]).stack(by_frame, 1).reshape(-1, width))
    return _library(said[0]).concatenate(said)


def _ask(model: Model, images: Any, subject: Subject) -> Any:
    if not is_tensor(images):
        images.flags.writeable = False  # no model can change what others see after it
    logits = model.logits(images)
    check_shape(
        logits,
        model=model.name,
        rows=len(images),
        classes=subject.classes,
        suite=subject.suite,
    )
    if subject.suite.shift is not None and is_tensor(logits):
        return logits.detach().float().cpu().numpy()  # marked on the host: there is one cell
    return logits


def check_shape(logits: Any, *, model: str, rows: int, classes: Classes, suite: Suite) -> None:
    """Refuse logits that are not a row per image and a column per class."""
    name = printable(model)
    check_logits(logits, rows, name)
    got = logits.shape[1]
    if got != classes.width:
        raise InputError(
            f"{name}: expected logits for {classes.width:,} classes, got {got:,}; "
            f"{advise_width(classes, suite, got)}"
        )


def check_finite(finite: npt.NDArray[np.bool_], *, model: str, ids: Sequence[int | str]) -> None:
    """Refuse logits that are not finite; `finite` tells it for each row."""
    name, rows, bad = printable(model), len(ids), np.flatnonzero(~finite)
    if len(bad):
        some = ", ".join(printable(str(ids[row])) for row in bad[:NAMED])
        raise InputError(
            f"{name}: expected finite logits, got NaN or infinite ones for {len(bad):,} of "
            f"{rows:,} images: {some}{', ...' if len(bad) > NAMED else ''}; look at its "
            "weights, its preprocessing and its precision"
        )


def _library(array: Any) -> Any:
    """The one that made it: torch or NumPy."""
    if not is_tensor(array):
        return np
    import torch

    return torch


def join_images(parts: Sequence[Any]) -> Any:
    """Images of several cells as one batch."""
    return parts[0] if len(parts) == 1 else _library(parts[0]).concatenate(parts)


class Taker(Protocol):
    """Takes predictions: the writer of a run, or of one block of it."""

    def set_width(self, width: int, /) -> None: ...
    def check_pixels(self, rows: Rows, pixels: npt.NDArray[np.uint64], /) -> None: ...
    def add(
        self, rows: Rows, cell: Cell, columns: Columns, pixels: npt.NDArray[np.uint64], /
    ) -> None: ...


class _Pending(NamedTuple):
    model: Model
    writer: Taker
    shown: CellImages
    columns: dict[str, Any]  # on their way from the device
    ready: Any  # an event of the device


class Predictor:
    """Shows images to models and stores their answers, reduced to columns."""

    def __init__(self, subject: Subject, failures: Failures) -> None:
        self._subject = subject
        self._failures = failures
        self._pending: deque[_Pending] = deque()

    def show(self, model: Model, writer: Taker, shown: CellImages) -> None:
        """Show a model the images of a cell, unless it has failed before."""
        columns: Columns | None = None
        if model.name not in self._failures:
            with self._failures.of(model.name):
                columns = self._ask(model, writer, shown)
        if columns is not None:
            self._store(writer, shown, columns)
        if len(self._pending) > AHEAD:
            self._settle_one()

    def _ask(self, model: Model, writer: Taker, shown: CellImages) -> Columns | None:
        """What is kept of the answers; None as long as these are on their way from a device."""
        subject, rows = self._subject, shown.loaded.rows
        frames = subject.frames(shown.cell)
        logits = answers(model, shown.images, rows, subject)
        if not is_tensor(logits):
            self._check(model, shown, np.asarray(np.isfinite(logits).all(axis=1)))
            return reduce(*mark(logits, subject, rows, frames), frames=frames)
        from hardy.run.reduce_torch import send_columns

        # Without its images: the device has better use for their memory.
        waiting = shown._replace(images=None)
        labels = np.repeat(subject.classes.labels[rows], frames or 1)
        self._pending.append(
            _Pending(model, writer, waiting, *send_columns(logits, labels, frames))
        )
        return None

    def settle(self) -> None:
        """Wait until all that was asked is stored."""
        while self._pending:
            self._settle_one()

    def _settle_one(self) -> None:
        from hardy.run.reduce_torch import receive_columns

        asked = self._pending.popleft()
        columns: Columns | None = None
        with self._failures.of(asked.model.name):
            received = receive_columns(asked.columns, asked.ready)
            self._check(asked.model, asked.shown, received.pop("finite"))
            columns = received
        if columns is not None:
            self._store(asked.writer, asked.shown, columns)

    def _check(self, model: Model, shown: CellImages, finite: npt.NDArray[np.bool_]) -> None:
        if finite.all():
            return  # before any id is looked up: this is asked for every batch
        frames = self._subject.frames(shown.cell) or 1
        ids = [self._subject.ids[row] for row in shown.loaded.rows for _ in range(frames)]
        check_finite(finite, model=model.name, ids=ids)

    def _store(self, writer: Taker, shown: CellImages, columns: Columns) -> None:
        writer.set_width(self._subject.classes.width)
        writer.add(shown.loaded.rows, shown.cell, columns, shown.loaded.pixels)


def mixed(models: Sequence[Model], subject: Subject) -> Subject:
    """The subject in a mixed order, and in whole batches of sequences, where a model adapts.

    The order is that of hashes of the ids, the same in every layout. Sources often come class by
    class, which the model would take for the distribution.
    """
    sizes = [size for model in models if (size := facts_of(model).adapts_in) is not None]
    if not sizes:
        return subject
    hashes = [sha256(str(id).encode(errors="backslashreplace")).digest() for id in subject.ids]
    order = np.array(sorted(range(len(subject)), key=hashes.__getitem__), np.int64)
    known = subject.classes
    classes = Classes(known.labels[order], known.names, known.width)
    return replace(
        subject, indices=subject.indices[order], classes=classes, sequences_of=lcm(*sizes)
    )


def batches_of(model: Model, subject: Subject) -> str | None:
    """A hash of which images an adapting model sees together; None if it takes each by itself.

    It is the same on devices that take blocks of other sizes, as long as the batches are the same.
    """
    size = facts_of(model).adapts_in
    if size is None:
        return None
    together = [rows.stop - rows.start for rows in _batches(subject, size)]
    text = json.dumps([list(subject.ids), together], default=int)
    return sha256(text.encode()).hexdigest()


def _cut(rows: Rows, size: int, subject: Subject) -> list[slice]:
    """Slices of the rows, one for each batch. Batches go by place, so that an image that cannot be
    read moves no other."""
    starts = [batch.start for batch in _batches(subject, size)]
    number = np.searchsorted(starts, rows, side="right")
    edges = [0, *(np.flatnonzero(np.diff(number)) + 1).tolist(), len(rows)]
    return [slice(*pair) for pair in pairwise(edges)]


def whole_batches(
    models: Sequence[Model], subject: Subject, have: Sequence[npt.NDArray[np.bool_]]
) -> dict[int, str]:
    """Mark the whole of each batch that was begun as stored, and say which rows it lacks: images
    that could not be read at that time.

    `have` tells for each model which (row, cell) it has; it is changed in place.
    """
    left_out: dict[int, str] = {}
    adapting = [
        (place, model, list(_batches(subject, size)))
        for place, model in enumerate(models)
        if (size := facts_of(model).adapts_in) is not None
    ]
    for place, model, batches in adapting:
        for rows in batches:
            batch = have[place][rows]
            begun = batch.any(axis=0)
            for row in np.flatnonzero((begun & ~batch).any(axis=1)).tolist():
                left_out[rows.start + row] = (
                    f"{model.name} was shown the images beside it already, and adapts to what it "
                    "sees together; to have this one too, name another store"
                )
            batch |= begun
    for place, model, batches in adapting:
        for rows in batches:
            lacks = not have[place][rows].all()
            for other, its in zip(models, have, strict=True):
                if lacks and (its[rows] != its[rows.start]).any():
                    raise InputError(
                        f"{model.name} adapts to the images it sees together, but {other.name} has "
                        "only some of them; evaluate the two one by one"
                    )
    return left_out


def _batches(subject: Subject, size: int) -> Iterator[slice]:
    """The rows that are seen together; the last batch of a block may be smaller."""
    for start in range(0, len(subject), subject.chunk_size):
        end = min(start + subject.chunk_size, len(subject))
        yield from (slice(first, min(first + size, end)) for first in range(start, end, size))
