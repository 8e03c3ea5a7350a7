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

from hardy import progress
from hardy.errors import InputError
from hardy.execute import Executor, Team
from hardy.models import Model
from hardy.run.failures import Failures
from hardy.run.predicting import RunTask, predict
from hardy.run.reading import begin_reading_processes, reading_executor
from hardy.run.subject import Rows, Subject
from hardy.store.parts import Columns
from hardy.store.waiting_rows import WaitingRows
from hardy.store.writer import RunWriter
from hardy.suites.cells import Cell
from hardy.variants.carried_textures import with_textures
from hardy.variants.kernels_ahead import wait_for_kernels

_FEW = 8  # models whose receipts count at once; of more they would be many requests to a store
_LOOKED_AT = 16  # images, to find one that can be read


class KnownImage(NamedTuple):
    """An image by which a worker knows that it sees the same images."""

    row: int
    pixels: int  # its hash; 0 where there is no clean image


@dataclass(frozen=True)
class UnitJob:
    """All that a worker needs; it travels to other processes."""

    subject: Subject
    loaders: tuple[Callable[[], Model], ...]  # one for each model
    model_identities: tuple[str, ...]  # that the loaded models must have
    folders: tuple[Path, ...]  # of their runs
    run_hashes: tuple[str, ...]
    session_files: tuple[Path, ...]  # that only those who see the store itself can see
    known: KnownImage | None  # that must be read alike everywhere
    threads: int = 1  # that read and corrupt images
    excused: bool = False  # whether the others go on when a model fails


@dataclass(frozen=True)
class Elsewhere:
    """Where blocks are done, and how models are loaded there."""

    team: Team
    loaders: Mapping[str, Callable[..., Model]]  # by the model's name
    device: str | None = None  # that models are told there
    threads: int = 1  # of each worker

    def predict(
        self,
        models: Sequence[Model],
        subject: Subject,
        writers: Sequence[RunWriter],
        run_hashes: Sequence[str],
        tasks: Iterable[RunTask],
        faults: dict[int, str],
        failures: Failures,
    ) -> Generator[int, None, None]:
        """Have the blocks done; yields how many predictions were made or given up."""
        wait_for_kernels()  # else every worker would compile them
        job = UnitJob(
            subject,
            tuple(partial(self.loaders[model.name], device=self.device) for model in models),
            tuple(model.identity for model in models),
            tuple(writer.folder.absolute() for writer in writers),
            tuple(run_hashes),
            tuple(writer.session_file.absolute() for writer in writers),
            _find_known(subject),
            self.threads,
            failures.excused,
        )

        def settle() -> None:
            for writer in writers:
                if len(writers) <= _FEW:
                    writer.checkpoint()
                else:
                    writer.checkpoint_if_due()

        begin = with_textures(partial(begin_units, job), subject.cells)
        with closing(self.team.run(begin, tasks, settle)) as receipts:
            for receipt in receipts:
                faults |= receipt.faults
                failures |= receipt.failures
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
    failures: dict[str, str]  # of models, in the worker's whole life


class _UnitWriter:
    """Takes the predictions of one block, for one model, and makes a part of them."""

    def __init__(self, folder: Path, run_hash: str, subject: Subject) -> None:
        self.folder = folder
        self._waiting = WaitingRows(
            run_hash, subject.ids, subject.classes.labels, subject.sequences
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
        return self._waiting.write(self.folder) if len(self._waiting) else None


def begin_units(job: UnitJob) -> Callable[[RunTask], Receipt]:
    """Load the models, and give back the function that does one block."""
    _check_seen(job)
    models = [load() for load in job.loaders]
    for model, identity in zip(models, job.model_identities, strict=True):
        if model.identity != identity:
            raise InputError(
                f"expected {model.name} to be the same model in every process, got one with other "
                "weights or preprocessing; give it weights by a file, or draw them from a fixed "
                "seed"
            )
    subject = job.subject.near(models)
    processes = None
    if subject.device is not None:
        processes = begin_reading_processes(subject, job.threads, progress.mention)
    executor = reading_executor(subject, job.threads, processes)
    failures = Failures(excused=job.excused)

    def work(task: RunTask) -> Receipt:
        return _do_unit(job, models, subject, task, executor, failures)

    return work


def _find_known(subject: Subject) -> KnownImage | None:
    """The first image that can be read; none if it takes long to find one."""
    looked = (_look_at(subject, row) for row in range(min(_LOOKED_AT, len(subject))))
    return next((known for known in looked if isinstance(known, KnownImage)), None)


def _look_at(subject: Subject, row: int) -> KnownImage | str:
    """An image and one of its cells, or why they cannot be read."""
    loaded = subject.load(np.array([row], np.int64))
    if loaded.chunk is None:
        return loaded.faults[row]
    for fault in loaded.chunk.readable(subject.cells[-1])[1].values():
        return fault
    return KnownImage(row, int(loaded.pixels[0]))


def _check_seen(job: UnitJob) -> None:
    """Refuse to work where other files lie: images that are not there would be left out, and parts
    would be written where nobody looks."""
    for file in job.session_files:
        if not file.exists():
            raise InputError(
                f"expected the store on a disk that all workers see, but {file}, which this run "
                "has written, is not there; name a store on such a disk"
            )
    if job.known is None or (found := _look_at(job.subject, job.known.row)) == job.known:
        return
    reason = found if isinstance(found, str) else "it has other pixels"
    raise InputError(
        f"expected images on a disk that all workers see, but {job.subject.ids[job.known.row]} "
        f"cannot be read as where the run was started ({reason}); name a folder on such a disk"
    )


def _do_unit(
    job: UnitJob,
    models: Sequence[Model],
    subject: Subject,
    task: RunTask,
    executor: Executor,
    failures: Failures,
) -> Receipt:
    writers = [
        _UnitWriter(folder, run_hash, subject)
        for folder, run_hash in zip(job.folders, job.run_hashes, strict=True)
    ]
    faults: dict[int, str] = {}
    made = sum(predict(models, subject, writers, [task], executor, faults, failures))
    parts = tuple(writer.finish() for writer in writers)
    seen: Mapping[int, int] = {row: hash for one in writers for row, hash in one.pixels.items()}
    rows = np.array(sorted(seen), np.int64)
    pixels = np.array([seen[row] for row in rows.tolist()], np.uint64)
    return Receipt(parts, rows, pixels, faults, made, dict(failures))


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
