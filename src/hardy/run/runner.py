"""The run: each image is decoded once, each cell is made once, and each model is shown the cells
that it has not seen.

    rows -> load (threads) -> make each cell (threads) -> logits (here) -> reduce -> store

Rows are worked on in blocks of fixed places, so that a run that was stopped and goes on shows its
models the same batches as one that was not.
"""

from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.execute import Executor, Serial
from hardy.models import Model
from hardy.models.model import facts_of
from hardy.progress import Track, untracked
from hardy.run.batching import CellImages, Predictor, Prefetch, batches_of, whole_batches
from hardy.run.preflight import check_unchanged, rehearse
from hardy.run.shards import Shard
from hardy.run.subject import Loaded, Rows, Subject
from hardy.run.worst_choice import drop_worst, keep_worst
from hardy.store.identity import Identity
from hardy.store.provenance import UNREADABLE
from hardy.store.writer import RunWriter
from hardy.suites import keep_beside
from hardy.suites.cells import Cell


class RunTask(NamedTuple):
    """Rows of one block that lack the same cells of the same models."""

    rows: Rows
    lacking: Mapping[Cell, tuple[int, ...]]  # a cell, and the models that have not seen it


class RunOutcome(NamedTuple):
    folders: tuple[Path, ...]  # one per model
    faults: list[str]


def identify_run(model: Model, subject: Subject, *, own_classes: bool) -> Identity:
    suite = subject.suite
    return Identity(
        model=model.name,
        model_identity=model.identity,
        suite=suite.name,
        suite_version=suite.version,
        suite_hash=suite.content_hash(),
        seed=subject.variants.seed,
        recipe=suite.recipe,
        made=subject.made,
        labels="own" if own_classes else "suite",
        preprocessing=str(model.preprocessing or "none"),
        precision=model.precision,
        defence=facts_of(model).defences,
        batches=batches_of(model, subject),
    )


def check_different(models: Sequence[Model], subject: Subject, *, own_classes: bool) -> None:
    """Refuse a model that comes twice, and two of one name, by which their warnings are kept."""
    seen: dict[str, str] = {}
    for model in models:
        identity = identify_run(model, subject, own_classes=own_classes).hash()
        if (twin := seen.get(identity)) is not None:
            raise InputError(
                f"expected different models, got {twin} and {model.name}, which are the same; "
                "name it once"
            )
        if model.name in seen.values():
            raise InputError(
                f'expected models whose names differ, got two called "{model.name}"; give each '
                "one of its own by `name`"
            )
        seen[identity] = model.name


def run_models(
    models: Sequence[Model],
    subject: Subject,
    store: Path,
    *,
    executor: Executor,
    sessions: Sequence[Mapping[str, Any]],
    own_classes: bool = False,
    named: Container[str] = (),
    shard: Shard | None = None,
    track: Track = untracked,
    warn: Callable[[str], None] = lambda text: None,
) -> RunOutcome:
    """Predict what the store lacks; `track` follows the predictions, `warn` hears of doubts. A
    stored run is renamed where the model's name is among those `named`; of a `shard` only that
    share of the blocks is done, and others may do theirs at the same time."""
    identities = [identify_run(model, subject, own_classes=own_classes) for model in models]
    told = [list(session.get("warnings", ())) for session in sessions]
    for known, found in zip(told, rehearse(models, subject), strict=True):
        for text in found:
            if text not in known:
                warn(text)
                known.append(text)
    faults: dict[int, str] = {}
    made = 0
    with ExitStack() as stack:
        writers = [
            stack.enter_context(
                RunWriter(
                    store,
                    identity,
                    ids=subject.ids,
                    labels=subject.classes.labels,
                    classes=subject.classes.names,
                    frames={
                        cell: frames for cell in subject.cells if (frames := subject.frames(cell))
                    },
                    shared=shard is not None,
                )
            )
            for identity in identities
        ]
        for model, writer, session, doubts in zip(models, writers, sessions, told, strict=True):
            check_unchanged(model, writer, subject)
            if model.name in named:
                writer.rename(model.name)
            asked = {"cells": list(map(str, subject.cells)), "subset": subject.subset}
            writer.add_session({**session, **asked, "warnings": doubts})
            keep_beside(writer.folder, subject.suite)
        have = [writer.have(subject.cells) for writer in writers]
        faults |= whole_batches(models, subject, have)
        tasks = [
            task
            for task in list_tasks(subject, have)
            if shard is None or shard.has(int(task.rows[0]) // subject.chunk_size)
        ]
        for writer, there in zip(writers, have, strict=True):
            if not there.all():
                drop_worst(writer.folder, subject)
        steps = predict(models, subject, writers, tasks, executor, faults)
        with closing(steps):
            for count in track(steps, _count_predictions(subject, tasks), "predictions", int):
                made += count
        for writer in writers:
            writer.checkpoint()
            if faults:
                writer.leave_out(UNREADABLE, len(faults))
            keep_worst(writer.folder, subject, anew=made > 0)
    names = [f"{subject.ids[row]}: {faults[row]}" for row in sorted(faults)]
    return RunOutcome(tuple(writer.folder for writer in writers), names)


def list_tasks(subject: Subject, have: Sequence[npt.NDArray[np.bool_]]) -> list[RunTask]:
    """What is still to do; `have` tells for each model which (row, cell) is stored."""
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
            tasks.append(RunTask(start + np.flatnonzero(member.ravel() == number), lacking))
    return tasks


def _count_predictions(subject: Subject, tasks: Iterable[RunTask]) -> int:
    return sum(
        len(task.rows) * (subject.frames(cell) or 1) * len(models)
        for task in tasks
        for cell, models in task.lacking.items()
    )


def predict(
    models: Sequence[Model],
    subject: Subject,
    writers: Sequence[RunWriter],
    tasks: Sequence[RunTask],
    executor: Executor,
    faults: dict[int, str],
) -> Generator[int, None, None]:
    """Predict cell after cell; yields how many predictions were made or given up."""
    lacking = {int(row): task.lacking for task in tasks for row in task.rows}
    predictor, device = Predictor(subject), subject.device
    given_up: list[int] = []
    # A device makes the cells itself, one after the other; the host only asks for them.
    makers = executor if device is None else Serial()

    def to_make() -> Iterator[tuple[Loaded, Cell]]:
        with closing(Prefetch(subject, [task.rows for task in tasks], executor)) as prefetch:
            for _ in tasks:
                loaded = prefetch.block()
                lost = [RunTask(np.array([row]), lacking[row]) for row in loaded.faults]
                given_up.append(_count_predictions(subject, lost))
                if loaded.chunk is None:
                    faults.update(loaded.faults)
                    continue
                for writer in writers:
                    writer.check_pixels(loaded.rows, loaded.pixels)
                if device is not None:
                    loaded = loaded._replace(chunk=loaded.chunk.on(device))
                cells = lacking[int(loaded.rows[0])]
                for done, cell in enumerate(cells, 1):
                    yield loaded, cell
                    prefetch.take_ahead(done / len(cells))

    try:
        with closing(makers.run(lambda: _make, to_make())) as results:
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


def _make(item: tuple[Loaded, Cell]) -> CellImages:
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
