"""What a run will cost: counted, and timed on a sample."""

import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from hardy.engine.ops import is_tensor
from hardy.errors import InputError
from hardy.models import Model
from hardy.run.batching import answers
from hardy.run.subject import Subject

# What a stored prediction takes on disk, as measured: compressed, with its share of the ids.
_BYTES_PER_PREDICTION = 45
_SAMPLE_IMAGES = 8
_SAMPLE_CELLS = 15


class RunPlan(NamedTuple):
    cells: int  # the clean images are one
    images: int
    predictions: int  # of all models
    size: int  # bytes on disk, estimated
    seconds: float  # estimated


def plan_run(models: Sequence[Model], subject: Subject, *, workers: int) -> RunPlan:
    """Estimate the cost: `workers` make cells at a time; models on a GPU predict meanwhile, others
    afterwards."""
    enough = _SAMPLE_IMAGES if subject.device is None else subject.chunk_size
    rows = np.arange(min(enough, len(subject)))
    started = time.perf_counter()
    loaded = subject.load(rows)
    reading = (time.perf_counter() - started) / len(rows)
    if loaded.chunk is None:
        raise InputError(next(iter(loaded.faults.values())))
    chunk = loaded.chunk if subject.device is None else loaded.chunk.on(subject.device)
    step = len(subject.cells) // _SAMPLE_CELLS + 1  # 6 for 75 cells: all five severities are met
    sample = subject.cells[::step]
    making = predicting = 0.0
    for cell in sample:
        _wait(chunk.make(cell))  # its first time compiles, or makes tables
        started = time.perf_counter()
        images = _wait(chunk.make(cell))
        made = time.perf_counter()
        if cell == sample[0]:
            for model in models:
                _wait(answers(model, images, loaded.rows, subject))
        shown = time.perf_counter()
        for model in models:
            _wait(answers(model, images, loaded.rows, subject))
        making += made - started
        predicting += time.perf_counter() - shown
    per_image = len(subject.cells) / (len(sample) * len(loaded.rows))
    making, predicting = making * per_image + reading, predicting * per_image
    making /= workers
    aside = all(model.device != "cpu" for model in models)
    predictions = len(models) * subject.predictions
    return RunPlan(
        len(subject.cells),
        len(subject),
        predictions,
        predictions * _BYTES_PER_PREDICTION,
        len(subject) * (max(making, predicting) if aside else making + predicting),
    )


def _wait(made: Any) -> Any:
    """Wait for a device, which answers before it is done, by fetching one value."""
    if is_tensor(made):
        made.reshape(-1)[:1].cpu()
    return made
