"""The part of a run that is done elsewhere: a worker loads the models once, is given one block of
images after the other, and writes what they say of it as a part. What it returns is small.

The part's name follows from the block, so a block that is done twice is there once.
"""

import pickle
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.execute import Executor, Serial, Threads
from hardy.models import Model
from hardy.run.predicting import RunTask, predict
from hardy.run.subject import Rows, Subject
from hardy.store.parts import FOLDER, Columns, write_part
from hardy.store.waiting_rows import WaitingRows
from hardy.store.writer import RunWriter
from hardy.suites.cells import Cell


@dataclass(frozen=True)
class UnitJob:
    """All that a worker needs; it travels to other processes."""

    subject: Subject
    loaders: tuple[Callable[[], Model], ...]  # one for each model
    models: tuple[str, ...]  # the identities that they must have
    folders: tuple[Path, ...]  # of their runs
    identities: tuple[str, ...]  # their hashes
    threads: int = 1  # that read and corrupt images


@dataclass(frozen=True)
class Elsewhere:
    """Where blocks are done, and how models are loaded there."""

    executor: Executor
    loaders: tuple[Callable[[], Model], ...]
    threads: int = 1  # of each worker

    def predict(
        self,
        models: Sequence[Model],
        subject: Subject,
        writers: Sequence[RunWriter],
        identities: Sequence[str],
        tasks: Iterable[RunTask],
        faults: dict[int, str],
    ) -> Generator[int, None, None]:
        """Have the blocks done; yields how many predictions were made or given up."""
        folders = tuple(writer.folder for writer in writers)
        known = tuple(model.identity for model in models)
        job = UnitJob(subject, self.loaders, known, folders, tuple(identities), self.threads)
        with closing(self.executor.run(partial(begin_units, job), tasks)) as receipts:
            for receipt in receipts:
                faults |= receipt.faults
                for writer, part in zip(writers, receipt.parts, strict=True):
                    if part is not None:
                        writer.set_width(subject.classes.width)
                        writer.add_part(part, receipt.rows, receipt.pixels)
                yield receipt.predictions


class Receipt(NamedTuple):
    """What became of a block."""

    parts: tuple[str | None, ...]  # one for each model that it was shown to
    rows: Rows  # whose images were read
    pixels: npt.NDArray[np.uint64]  # hashes of these
    faults: dict[int, str]
    predictions: int  # made or given up


class _UnitWriter:
    """Takes the predictions of one block, for one model, and makes a part of them."""

    def __init__(self, folder: Path, identity: str, subject: Subject) -> None:
        self.folder = folder
        self._waiting = WaitingRows(
            identity, subject.ids, subject.classes.labels, subject.sequences
        )
        self.pixels: dict[int, int] = {}  # by row

    def check_pixels(self, rows: Rows, pixels: npt.NDArray[np.uint64]) -> None:
        """Keep the hashes: whoever has the run compares them with what is stored."""
        self.pixels |= dict(zip(rows.tolist(), pixels.tolist(), strict=True))

    def set_width(self, width: int) -> None:
        """The number of classes is checked where the run is written down."""

    def add(self, rows: Rows, cell: Cell, columns: Columns, pixels: npt.NDArray[np.uint64]) -> None:
        self._waiting.add(rows, cell, columns, pixels)

    def finish(self) -> str | None:
        """Write the part and say its name; None where nothing was added."""
        if not len(self._waiting):
            return None
        name = self._waiting.name()
        write_part(self.folder / FOLDER, name, self._waiting.table())
        return name


def begin_units(job: UnitJob) -> Callable[[RunTask], Receipt]:
    """Load the models, and give back the function that does one block."""
    models = [load() for load in job.loaders]
    for model, identity in zip(models, job.models, strict=True):
        if model.identity != identity:
            raise InputError(
                f"expected {model.name} to be the same model in every process, got one with other "
                "weights or preprocessing; give it weights by a file, or draw them from a fixed "
                "seed"
            )
    subject = job.subject.near(models)
    executor: Executor = Serial() if job.threads == 1 else Threads(job.threads)

    def work(task: RunTask) -> Receipt:
        return _do_unit(job, models, subject, task, executor)

    return work


def _do_unit(
    job: UnitJob, models: Sequence[Model], subject: Subject, task: RunTask, executor: Executor
) -> Receipt:
    writers = [
        _UnitWriter(folder, identity, subject)
        for folder, identity in zip(job.folders, job.identities, strict=True)
    ]
    faults: dict[int, str] = {}
    made = sum(predict(models, subject, writers, [task], executor, faults))
    parts = tuple(writer.finish() for writer in writers)
    seen: Mapping[int, int] = {row: hash for one in writers for row, hash in one.pixels.items()}
    rows = np.array(sorted(seen), np.int64)
    pixels = np.array([seen[row] for row in rows.tolist()], np.uint64)
    return Receipt(parts, rows, pixels, faults, made)


def check_travels(loaders: Sequence[Callable[[], Model]]) -> None:
    """Refuse, before anything is loaded, models that other processes cannot be given."""
    for load in loaders:
        try:
            pickle.dumps(load)
        except Exception as error:
            raise InputError(
                f"expected a model that can be loaded in other processes, got one that cannot be "
                f"sent there ({error}); name it by its file, such as "
                '"torch:net.py:make@weights.safetensors"'
            ) from error
