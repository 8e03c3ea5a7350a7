"""The run: each image is decoded once, each cell made once, and every model sees it that lacks it.

    rows -> load (threads) -> make each cell (threads) -> logits (here) -> reduce -> store

Rows are worked on in blocks of fixed places, so that a run that was stopped and goes on shows its
models the same batches as one that was not.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.execute import Executor, Serial
from hardy.models import Model
from hardy.predictions.identity import Identity
from hardy.predictions.showing import Made, Showing
from hardy.predictions.subject import Loaded, Rows, Subject
from hardy.predictions.worst import keep_worst
from hardy.predictions.writer import Writer
from hardy.suites.cells import Cell


class Task(NamedTuple):
    """Rows of one block that lack the same cells of the same models."""

    rows: Rows
    lacking: Mapping[Cell, tuple[int, ...]]  # a cell, and the models that have not seen it


class Outcome(NamedTuple):
    folders: tuple[Path, ...]  # one per model
    predicted: int
    faults: list[str]


Track = Callable[[Iterator[int], int], Iterable[int]]


def identify(model: Model, subject: Subject, *, own_classes: bool) -> Identity:
    suite = subject.suite
    return Identity(
        model=model.name,
        model_identity=model.identity,
        suite=suite.name,
        suite_version=suite.version,
        suite_hash=suite.content_hash(),
        seed=getattr(subject.variants, "seed", 0),
        recipe=suite.recipe,
        made=subject.made,
        labels="own" if own_classes else "suite",
        preprocessing=str(model.preprocessing or "none"),
        precision=model.precision,
    )


def run(
    models: Sequence[Model],
    subject: Subject,
    store: Path,
    *,
    executor: Executor,
    sessions: Sequence[Mapping[str, Any]],
    own_classes: bool = False,
    track: Track = lambda done, total: done,
) -> Outcome:
    """Predict what the store lacks. `track` may watch predictions being made."""
    identities = [identify(model, subject, own_classes=own_classes) for model in models]
    _check_different(models, identities)
    faults: dict[int, str] = {}
    made = 0
    with ExitStack() as stack:
        writers = [
            stack.enter_context(
                Writer(
                    store,
                    identity,
                    ids=subject.ids,
                    labels=subject.classes.labels,
                    classes=subject.classes.names,
                    frames={
                        cell: frames for cell in subject.cells if (frames := subject.frames(cell))
                    },
                )
            )
            for identity in identities
        ]
        _check_same_images(subject, writers)
        for writer, session in zip(writers, sessions, strict=True):
            writer.add_session({**session, "subset": subject.subset})
        tasks = list_tasks(subject, [writer.have(subject.cells) for writer in writers])
        steps = predict(models, subject, writers, tasks, executor, faults)
        with closing(steps):
            for count in track(steps, count_predictions(subject, tasks)):
                made += count
        for writer in writers:
            writer.checkpoint()
            keep_worst(writer.folder, subject)
    names = [f"{subject.ids[row]}: {faults[row]}" for row in sorted(faults)]
    return Outcome(tuple(writer.folder for writer in writers), made, names)


def list_tasks(subject: Subject, have: Sequence[npt.NDArray[np.bool_]]) -> list[Task]:
    """What is still to do; `have` tells of each model which (row, cell) it has."""
    lacks = ~np.stack(have, axis=-1)  # (rows, cells, models)
    tasks = []
    for start in range(0, len(subject), subject.chunk_size):
        block = lacks[start : start + subject.chunk_size].reshape(-1, lacks[0].size)
        patterns, member = np.unique(block, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            if not pattern.any():
                continue
            by_cell = pattern.reshape(lacks.shape[1:])
            lacking = {
                cell: tuple(np.flatnonzero(by_cell[place]).tolist())
                for place, cell in enumerate(subject.cells)
                if by_cell[place].any()
            }
            tasks.append(Task(start + np.flatnonzero(member.ravel() == number), lacking))
    return tasks


def count_predictions(subject: Subject, tasks: Iterable[Task]) -> int:
    return sum(
        len(task.rows) * (subject.frames(cell) or 1) * len(models)
        for task in tasks
        for cell, models in task.lacking.items()
    )


def predict(
    models: Sequence[Model],
    subject: Subject,
    writers: Sequence[Writer],
    tasks: Sequence[Task],
    executor: Executor,
    faults: dict[int, str],
) -> Generator[int, None, None]:
    """Yields how many predictions were made, or given up, one cell after the other."""
    lacking = {int(row): task.lacking for task in tasks for row in task.rows}
    showing, device = Showing(subject), subject.device
    # A device makes the cells itself, one after the other; the host only asks for them.
    makers = executor if device is None else Serial()

    def to_make() -> Iterator[tuple[Loaded, Cell]]:
        with closing(executor.run(lambda: subject.load, [task.rows for task in tasks])) as read:
            for loaded in read:
                faults.update(loaded.faults)
                if loaded.chunk is None:
                    continue
                for writer in writers:
                    writer.check_pixels(loaded.rows, loaded.pixels)
                if device is not None:
                    loaded = loaded._replace(chunk=loaded.chunk.on(device))
                yield from ((loaded, cell) for cell in lacking[int(loaded.rows[0])])

    try:
        with closing(makers.run(lambda: _make, to_make())) as results:
            for made in results:
                for number in lacking[int(made.loaded.rows[0])][made.cell]:
                    showing.show(models[number], writers[number], made)
                    yield len(made.loaded.rows) * (subject.frames(made.cell) or 1)
    finally:
        showing.settle()


def _make(item: tuple[Loaded, Cell]) -> Made:
    loaded, cell = item
    assert loaded.chunk is not None  # those without images are not sent here
    return Made(loaded, cell, loaded.chunk.make(cell))


def _check_different(models: Sequence[Model], identities: Sequence[Identity]) -> None:
    seen: dict[str, str] = {}
    for model, identity in zip(models, identities, strict=True):
        twin = seen.get(identity.hash())
        if twin is not None:
            raise InputError(
                f"expected different models, got {twin} and {model.name}, which are the same; "
                "name it once"
            )
        seen[identity.hash()] = model.name


def _check_same_images(subject: Subject, writers: Sequence[Writer]) -> None:
    """By the first image alone: all of them are checked that are read anyway."""
    first = subject.load(np.array([0], np.int64))
    if first.chunk is not None:
        for writer in writers:
            writer.check_pixels(first.rows, first.pixels)
