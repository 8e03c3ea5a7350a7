"""What a run will cost: counted, and timed on a sample."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hardy.errors import InputError
from hardy.models import Model
from hardy.predictions.subject import Subject

# Measured: a stored prediction takes about as much on disk, compressed, its share of the ids too.
BYTES_PER_PREDICTION = 45
SAMPLE_IMAGES = 8
SAMPLE_CELLS = 15


class Plan(NamedTuple):
    cells: int  # the clean images are one
    images: int
    predictions: int  # of all models
    size: int  # bytes on disk, estimated
    seconds: float  # estimated


def plan(models: Sequence[Model], subject: Subject, *, workers: int) -> Plan:
    """Cells are made by `workers` at a time; models on a GPU predict meanwhile, others after it."""
    rows = np.arange(min(SAMPLE_IMAGES, len(subject)))
    started = time.perf_counter()
    loaded = subject.load(rows)
    reading = (time.perf_counter() - started) / len(rows)
    if loaded.chunk is None:
        raise InputError(next(iter(loaded.faults.values())))
    step = len(subject.cells) // SAMPLE_CELLS + 1  # all severities are met: see suites.room
    sample = subject.cells[::step]
    making = predicting = 0.0
    for number, cell in enumerate((sample[0], *sample)):
        started = time.perf_counter()
        images = loaded.chunk.make(cell)
        made = time.perf_counter()
        flat = images.reshape(-1, *images.shape[-3:])
        for model in models:
            model.logits(flat)
        if number:  # the first one warms up
            making += made - started
            predicting += time.perf_counter() - made
    per_image = len(subject.cells) / (len(sample) * len(loaded.rows))
    making, predicting = making * per_image + reading, predicting * per_image
    making /= workers
    aside = all(model.device != "cpu" for model in models)
    predictions = len(models) * subject.predictions
    return Plan(
        len(subject.cells),
        len(subject),
        predictions,
        predictions * BYTES_PER_PREDICTION,
        len(subject) * (max(making, predicting) if aside else making + predicting),
    )
