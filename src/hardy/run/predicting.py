"""What is left to do of a run, block by block, and how a block is done:

rows -> load (threads) -> make each cell (threads) -> logits (here) -> reduce -> store
"""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.execute import Executor, Serial
from hardy.models import Model
from hardy.run.batching import CellImages, Predictor, Prefetch, Taker
from hardy.run.failures import Failures
from hardy.run.subject import Loaded, Rows, Subject
from hardy.suites.cells import Cell


class RunTask(NamedTuple):
    """Rows of one block that lack the same cells of the same models."""

    rows: Rows
    lacking: Mapping[Cell, tuple[int, ...]]  # a cell, and the models that have not seen it


def list_tasks(subject: Subject, have: Sequence[npt.NDArray[np.bool_]]) -> Iterable[RunTask]:
    """What is still to do; `have` tells for each model which (row, cell) is stored."""
    return _Tasks(subject, have)


class _Tasks:
    """Tasks that are made when they are asked for, as often as they are: a list would take more
    memory than all that a process knows of a run whose blocks others do."""

    def __init__(self, subject: Subject, have: Sequence[npt.NDArray[np.bool_]]) -> None:
        self._subject = subject
        self._have = have
        whole = np.logical_and.reduce([stored.all(axis=1) for stored in have])
        self._blocks = np.unique(np.flatnonzero(~whole) // subject.chunk_size)

    def __length_hint__(self) -> int:
        """How many blocks lack something; each is a task or more."""
        return len(self._blocks)

    def __iter__(self) -> Iterator[RunTask]:
        known: dict[bytes, dict[Cell, tuple[int, ...]]] = {}  # most blocks lack the same
        for start in (self._blocks * self._subject.chunk_size).tolist():
            stored = [one[start : start + self._subject.chunk_size] for one in self._have]
            lacks = ~np.stack(stored, axis=-1)  # (rows, cells, models)
            patterns, member = np.unique(lacks.reshape(len(lacks), -1), axis=0, return_inverse=True)
            for number, pattern in enumerate(patterns):
                if not pattern.any():
                    continue
                if pattern.tobytes() not in known:
                    by_cell = pattern.reshape(lacks.shape[1:])
                    known[pattern.tobytes()] = {
                        cell: tuple(np.flatnonzero(by_cell[place]).tolist())
                        for place, cell in enumerate(self._subject.cells)
                        if by_cell[place].any()
                    }
                rows = start + np.flatnonzero(member.ravel() == number)
                yield RunTask(rows, known[pattern.tobytes()])


def count_predictions(subject: Subject, tasks: Iterable[RunTask]) -> int:
    return sum(
        len(task.rows) * (subject.frames(cell) or 1) * len(models)
        for task in tasks
        for cell, models in task.lacking.items()
    )


def predict(
    models: Sequence[Model],
    subject: Subject,
    writers: Sequence[Taker],
    todo: Iterable[RunTask],
    executor: Executor,
    faults: dict[int, str],
    failures: Failures,
) -> Generator[int, None, None]:
    """Predict cell after cell; yields how many predictions were made or given up."""
    tasks = list(todo)
    lacking = {int(row): task.lacking for task in tasks for row in task.rows}
    predictor, device = Predictor(subject, failures), subject.device
    given_up: list[int] = []
    # A device makes the cells itself, one after the other; the host only asks for them.
    makers = executor if device is None else Serial()

    def to_make() -> Iterator[tuple[Loaded, Cell]]:
        with closing(Prefetch(subject, [task.rows for task in tasks], executor)) as prefetch:
            for _ in tasks:
                loaded = prefetch.block()
                lost = [RunTask(np.array([row]), lacking[row]) for row in loaded.faults]
                given_up.append(count_predictions(subject, lost))
                if loaded.chunk is None:
                    faults.update(loaded.faults)
                    continue
                for writer in writers:
                    writer.check_pixels(loaded.rows, loaded.pixels)
                if device is not None:
                    loaded = loaded._replace(chunk=loaded.chunk.on(device))
                cells = lacking[int(loaded.rows[0])]
                for done, (cell, numbers) in enumerate(cells.items(), 1):
                    if any(models[number].name not in failures for number in numbers):
                        yield loaded, cell
                    prefetch.take_ahead(done / len(cells))
                if all(model.name in failures for model in models):
                    return

    try:
        with closing(makers.run(lambda: make_cell, to_make())) as results:
            for made in results:
                faults.update(made.loaded.faults)
                if not len(made.loaded.rows):
                    continue
                for number in lacking[int(made.loaded.rows[0])][made.cell]:
                    predictor.show(models[number], writers[number], made)
                    yield len(made.loaded.rows) * (subject.frames(made.cell) or 1)
        yield sum(given_up)
    finally:
        predictor.settle()


def make_cell(item: tuple[Loaded, Cell]) -> CellImages:
    loaded, cell = item
    assert loaded.chunk is not None  # those without images are not sent here
    try:
        return CellImages(loaded, cell, loaded.chunk.make(cell))
    except InputError:
        part, bad = loaded.chunk.readable(cell)
        if not bad:
            raise
    good = [place for place in range(len(loaded.rows)) if place not in bad]
    faults = {int(loaded.rows[place]): reason for place, reason in bad.items()}
    images = part.make(cell) if good else np.empty((0, 1, 1, 3), np.uint8)
    return CellImages(Loaded(loaded.rows[good], part, loaded.pixels[good], faults), cell, images)
