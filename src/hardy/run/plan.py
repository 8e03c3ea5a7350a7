"""What a run will cost: counted, and timed on a few images."""

import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from hardy.engine.ops import is_tensor
from hardy.errors import InputError
from hardy.models import Model
from hardy.run.batching import answers
from hardy.run.subject import Subject

# What a stored prediction takes on disk, as measured: compressed, with its share of the ids.
BYTES_PER_PREDICTION = 45
_TIMED_IMAGES = 8
_TIMED_CELLS = 15


class RunPlan(NamedTuple):
    cells: int  # the clean images are one
    images: int
    predictions: int  # of all models
    size: int  # bytes on disk, estimated
    seconds: float  # estimated
    failed: Mapping[str, str] = MappingProxyType({})  # of many models those that cannot be run


class ImageTimes(NamedTuple):
    """Seconds that one image takes, by a few that were timed."""

    reading: float
    making: float  # of one cell
    predicting: float  # by all models


def time_few(models: Sequence[Model], subject: Subject, on_device: int | None = None) -> ImageTimes:
    """Time a few images under some of the cells; on a device a block, or so many."""
    enough = _TIMED_IMAGES if subject.device is None else on_device or subject.chunk_size
    rows = np.arange(min(enough, len(subject)))
    started = time.perf_counter()
    loaded = subject.load(rows)
    reading = (time.perf_counter() - started) / len(rows)
    if loaded.chunk is None:
        raise InputError(next(iter(loaded.faults.values())))
    chunk = loaded.chunk if subject.device is None else loaded.chunk.on(subject.device)
    step = len(subject.cells) // _TIMED_CELLS + 1  # 6 for 75 cells: all five severities are met
    timed = subject.cells[::step]
    making = predicting = 0.0
    for cell in timed:
        _wait(chunk.make(cell))  # its first time compiles, or makes tables
        started = time.perf_counter()
        images = _wait(chunk.make(cell))
        made = time.perf_counter()
        if cell == timed[0]:
            for model in models:
                _wait(answers(model, images, loaded.rows, subject))
        shown = time.perf_counter()
        for model in models:
            _wait(answers(model, images, loaded.rows, subject))
        making += made - started
        predicting += time.perf_counter() - shown
    shown_images = len(timed) * len(loaded.rows)
    return ImageTimes(reading, making / shown_images, predicting / shown_images)


def plan_run(models: Sequence[Model], subject: Subject, *, workers: int) -> RunPlan:
    """Estimate the cost: `workers` make cells at a time; models on a GPU predict meanwhile, others
    afterwards."""
    times, cells = time_few(models, subject), len(subject.cells)
    making = (times.making * cells + times.reading) / workers
    predicting = times.predicting * cells
    aside = all(model.device != "cpu" for model in models)
    predictions = len(models) * subject.predictions
    return RunPlan(
        cells,
        len(subject),
        predictions,
        predictions * BYTES_PER_PREDICTION,
        len(subject) * (max(making, predicting) if aside else making + predicting),
    )


def sum_plans(subject: Subject, plans: Sequence[RunPlan], failed: Mapping[str, str]) -> RunPlan:
    """The plan of groups of models that see the same images, one group after the other."""
    return RunPlan(
        len(subject.cells),
        len(subject),
        sum(plan.predictions for plan in plans),
        sum(plan.size for plan in plans),
        sum(plan.seconds for plan in plans),
        dict(failed),
    )


def _wait(made: Any) -> Any:
    """Wait for a device, which answers before it is done, by fetching one value."""
    if is_tensor(made):
        made.reshape(-1)[:1].cpu()
    return made
