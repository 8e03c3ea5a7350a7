"""From stored predictions to the accuracy matrix, with what its intervals are drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.design.accuracy import Accuracy
from hardy.errors import InputError
from hardy.metrics import Resampling, wrong
from hardy.metrics.classification import Floats
from hardy.scores.selection import images_hash, resampling, sorted_places
from hardy.store.reader import StoredRun
from hardy.suites.cells import CLEAN, NONE, Cell


class Collected(NamedTuple):
    accuracy: Accuracy
    # (images, n + 1 models, n + 1 corruptions): at how many severities the model was right.
    correct: npt.NDArray[np.uint8]
    severities: Floats  # (n + 1,) of each corruption
    how: Resampling


def collect(
    runs: Mapping[str, StoredRun], cells: Sequence[Cell], images: str | None = None
) -> Collected:
    """`runs` are those of the models by what they were trained with, "none" among them; `cells` are
    all severities of these corruptions, over which an accuracy is the mean; `images` is the hash of
    those that all were to be tested on."""
    names = tuple(name for name in runs if name != NONE)
    missing = [name for name in (NONE, *(cell.name for cell in cells)) if name not in runs]
    if missing:
        raise InputError(
            f"expected a model trained with each of {len(names)} corruptions and one with {NONE}, "
            f"got none for {', '.join(dict.fromkeys(missing))}"
        )
    columns = columns_of(names, cells)
    severities = np.array([len(column) for column in columns])
    if not severities.all():
        lacking = names[int(severities.argmin()) - 1]
        raise InputError(f"expected each corruption among the cells, got none of {lacking}")
    first = runs[NONE]
    if len(np.unique(first.labels)) < 2:
        raise InputError(
            "expected test images of two or more classes, got one: every model is always right"
        )
    if images is not None and images_hash(first, sorted_places(first)) != images:
        raise InputError(
            "expected predictions on the test images that the overlap was begun with, got others; "
            "begin anew in another folder"
        )
    correct = np.empty((len(first.ids), len(runs), len(columns)), np.uint8)
    for row, name in enumerate((NONE, *names)):
        run = runs[name]
        if run.ids != first.ids or not np.array_equal(run.labels, first.labels):
            raise InputError(
                f"expected all models on the same images, but {name} has others than {NONE}"
            )
        if not np.array_equal(run.pixels, first.pixels):
            raise InputError(
                f"expected all models on the same images, but {name} has other pixels than {NONE}; "
                "begin anew in another folder"
            )
        correct[:, row] = times_right(run, columns)
    how = resampling(first, np.arange(len(first.ids)), None)
    return from_counts(names, correct, severities, how)


def columns_of(names: Sequence[str], cells: Sequence[Cell]) -> list[list[Cell]]:
    """Clean images, then each corruption at all of its severities."""
    return [[CLEAN], *([cell for cell in cells if cell.name == name] for name in names)]


def times_right(run: StoredRun, columns: Sequence[Sequence[Cell]]) -> npt.NDArray[np.uint8]:
    """(images, columns): at how many cells of each column the model was right."""
    ranks = run.read([cell for column in columns for cell in column], ["rank"])["rank"]
    ends = np.cumsum([len(column) for column in columns])[:-1]
    parts = np.split(~wrong(ranks), ends, axis=1)
    return np.stack([part.sum(axis=1, dtype=np.uint8) for part in parts], axis=1)


def from_counts(
    names: tuple[str, ...], correct: npt.NDArray[np.uint8], severities: Floats, how: Resampling
) -> Collected:
    values = correct.mean(axis=0, dtype=np.float64) / severities
    return Collected(Accuracy(names, values), correct, severities, how)
