"""How a sample of a run is predicted: images of many cells are shown together.

An image is decoded once for all cells that its turn brings, and each cell has but a few images of a
block, too few for a model by themselves. A block of images is stored whole or not at all, so a run
that was stopped goes on in the same batches.
"""

from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.execute import Executor
from hardy.models import Model
from hardy.run.batching import CellImages, Predictor, Prefetch, join_images
from hardy.run.failures import Failures
from hardy.run.predicting import make_cell
from hardy.run.sample_tasks import SampleTask, count_sample
from hardy.run.subject import Loaded, Piece, Rows, Subject, one_piece
from hardy.store.parts import Columns
from hardy.store.writer import RunWriter
from hardy.suites.cells import Cell


class _MadeBlock(NamedTuple):
    task: SampleTask
    cells: list[CellImages]
    faults: dict[int, str]


def predict_sample(
    models: Sequence[Model],
    subject: Subject,
    writers: Sequence[RunWriter],
    tasks: Sequence[SampleTask],
    executor: Executor,
    faults: dict[int, str],
    failures: Failures,
) -> Generator[int, None, None]:
    """Predict block after block; yields how many predictions were made or given up."""
    predictor = Predictor(subject, failures)
    try:
        with closing(_made_blocks(subject, tasks, executor)) as blocks:
            for made in blocks:
                faults.update(made.faults)
                _show_block(models, subject, writers, predictor, made)
                yield count_sample(subject, [made.task])
                if all(model.name in failures for model in models):
                    return
    finally:
        predictor.settle()


def _made_blocks(
    subject: Subject, tasks: Sequence[SampleTask], executor: Executor
) -> Generator[_MadeBlock, None, None]:
    """Threads read the images, and make those of all cells too, unless a device does."""

    def make(task: SampleTask) -> _MadeBlock:
        return _make_block(subject, task, subject.read(task.rows))

    if subject.device is None:
        with closing(executor.run(lambda: make, tasks)) as blocks:
            yield from blocks
        return
    with closing(Prefetch(subject, [task.rows for task in tasks], executor)) as prefetch:
        for task in tasks:
            yield _make_block(subject, task, one_piece(prefetch.pieces()))


def _make_block(subject: Subject, task: SampleTask, piece: Piece) -> _MadeBlock:
    """The images of every cell that any model lacks."""
    place = {row: number for number, row in enumerate(task.rows.tolist())}
    good = np.array([place[row] for row in piece.rows], np.int64)
    cells, faults = [], dict(piece.faults)
    for number, cell in enumerate(subject.cells):
        chosen = np.flatnonzero(task.lacks[good, number].any(axis=-1))
        if not len(chosen):
            continue
        images = [piece.images[one] for one in chosen] if piece.images else []
        rows = [piece.rows[one] for one in chosen]
        loaded = subject.join([Piece(rows, images, piece.pixels[chosen], {})])
        if subject.device is not None and loaded.chunk is not None:
            loaded = loaded._replace(chunk=loaded.chunk.on(subject.device))
        made = make_cell((loaded, cell))
        faults |= made.loaded.faults
        if len(made.loaded.rows):
            cells.append(made._replace(loaded=made.loaded._replace(chunk=None)))
    return _MadeBlock(task, cells, faults)


def _show_block(
    models: Sequence[Model],
    subject: Subject,
    writers: Sequence[RunWriter],
    predictor: Predictor,
    made: _MadeBlock,
) -> None:
    place = {row: number for number, row in enumerate(made.task.rows.tolist())}
    column = {cell: number for number, cell in enumerate(subject.cells)}
    for number, (model, writer) in enumerate(zip(models, writers, strict=True)):
        writer.check_pixels(*_pixels(made))
        own: dict[int | None, list[CellImages]] = {}
        for shown in made.cells:
            rows, pixels = shown.loaded.rows, shown.loaded.pixels
            places = [place[row] for row in rows.tolist()]
            use = np.flatnonzero(made.task.lacks[places, column[shown.cell], number])
            if len(use):
                images = shown.images if len(use) == len(rows) else shown.images[use]
                part = CellImages(Loaded(rows[use], None, pixels[use], {}), shown.cell, images)
                own.setdefault(subject.frames(shown.cell), []).append(part)
        for frames, parts in own.items():
            together = Loaded(
                np.concatenate([part.loaded.rows for part in parts]),
                None,
                np.concatenate([part.loaded.pixels for part in parts]),
                {},
            )
            images = join_images([part.images for part in parts])
            taker = _MixedTaker(writer, [(p.cell, len(p.loaded.rows)) for p in parts], frames or 1)
            predictor.show(model, taker, CellImages(together, parts[0].cell, images))


def _pixels(made: _MadeBlock) -> tuple[Rows, npt.NDArray[np.uint64]]:
    hashes = {
        row: pixel
        for shown in made.cells
        for row, pixel in zip(shown.loaded.rows.tolist(), shown.loaded.pixels, strict=True)
    }
    return np.array(list(hashes), np.int64), np.array(list(hashes.values()), np.uint64)


class _MixedTaker:
    """Takes what was said of images of several cells, and hands it on cell by cell, at once."""

    def __init__(self, writer: RunWriter, cells: list[tuple[Cell, int]], frames: int) -> None:
        self._writer, self._cells, self._frames = writer, cells, frames

    def set_width(self, width: int) -> None:
        self._writer.set_width(width)

    def check_pixels(self, rows: Rows, pixels: npt.NDArray[np.uint64]) -> None:
        self._writer.check_pixels(rows, pixels)

    def add(self, rows: Rows, cell: Cell, columns: Columns, pixels: npt.NDArray[Any]) -> None:
        start, entries = 0, []
        for one, count in self._cells:
            part = slice(start, start + count)
            inner = slice(start * self._frames, (start + count) * self._frames)
            some = {name: values[inner] for name, values in columns.items()}
            entries.append((rows[part], one, some, pixels[part]))
            start += count
        self._writer.add_together(entries)
