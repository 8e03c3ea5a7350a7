"""The accuracy matrix, from stored predictions: a row for each model, trained with one corruption
or with none, and a column for each corruption that the test images show, or none."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics import Resampling, wrong
from hardy.metrics.classification import Floats
from hardy.scores.scored_cells import images_hash, resampling, sorted_places, suite_of
from hardy.store.reader import StoredRun
from hardy.suites.cells import CLEAN, NONE, Cell


@dataclass(frozen=True, eq=False)
class Accuracy:
    names: tuple[str, ...]  # of the n corruptions
    values: Floats  # (n + 1, n + 1), shares of 0..1; row and column 0 are clean

    def __post_init__(self) -> None:
        check_names(self.names)
        side = len(self.names) + 1
        if self.values.shape != (side, side):
            raise InputError(
                f"expected an accuracy matrix of {side} x {side}, with a row and a column for "
                f"{NONE} and for each of {side - 1} corruptions, got {self.values.shape}"
            )
        every = (NONE, *self.names)
        for row, column in np.argwhere(~np.isfinite(self.values))[:1]:
            raise InputError(
                f"expected the accuracy of the model trained with {every[row]} on "
                f"{every[column]}, got none; evaluate it, or leave that corruption out"
            )
        for row, column in np.argwhere((self.values < 0) | (self.values > 1))[:1]:
            raise InputError(
                f"expected accuracies as shares from 0 to 1, got {self.values[row, column]} for "
                f"{every[row]} on {every[column]}; divide per cents by 100"
            )


def check_names(names: Sequence[str]) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice or NONE in names or len(names) < 2:
        got = ", ".join(twice) + " twice" if twice else ", ".join(names) or "none"
        raise InputError(f'expected two or more corruptions, each once, none "{NONE}", got {got}')


class Collected(NamedTuple):
    """The accuracies, and what their intervals are drawn from."""

    accuracy: Accuracy
    correct: npt.NDArray[np.uint8]  # (images, models, corruptions): right at so many severities
    severities: Floats  # (n + 1,) of each corruption
    how: Resampling


def collect(
    runs: Mapping[str, StoredRun], cells: Sequence[Cell], images: str | None = None
) -> Collected:
    """The accuracies of models, each named by what it was trained with, "none" among them. `cells`
    are all severities of these corruptions, over which an accuracy is the mean; `images` is the
    hash of the images that all models were to be tested on."""
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
        raise InputError("expected test images of two or more classes, got one: all are right")
    if images is not None and images_hash(first, sorted_places(first)) != images:
        raise InputError(
            "expected predictions on the test images that the overlap was begun with, got others; "
            "begin anew in another folder"
        )
    correct = np.empty((len(first.ids), len(runs), len(columns)), np.uint8)
    for row, name in enumerate((NONE, *names)):
        run = runs[name]
        same = run.ids == first.ids and np.array_equal(run.labels, first.labels)
        if not same or not np.array_equal(run.pixels, first.pixels):
            other = f"other pixels than {NONE}; begin anew in another folder"
            other = other if same else f"others than {NONE}"
            raise InputError(f"expected all models on the same images, but {name} has {other}")
        correct[:, row] = times_right(run, columns)
    how = resampling(first, np.arange(len(first.ids)), None, suite_of(first))
    return from_counts(names, correct, severities, how)


def columns_of(names: Sequence[str], cells: Sequence[Cell]) -> list[list[Cell]]:
    """The cells of each column: clean images, then each corruption at all of its severities."""
    return [[CLEAN], *([cell for cell in cells if cell.name == name] for name in names)]


def times_right(run: StoredRun, columns: Sequence[Sequence[Cell]]) -> npt.NDArray[np.uint8]:
    """(images, columns): at how many cells of each column the model was right."""
    ranks = run.read([cell for column in columns for cell in column], ["rank"])["rank"]
    starts = np.cumsum([0, *(len(column) for column in columns[:-1])])
    return np.add.reduceat(~wrong(ranks), starts, axis=1, dtype=np.uint8)


def from_counts(
    names: tuple[str, ...], correct: npt.NDArray[np.uint8], severities: Floats, how: Resampling
) -> Collected:
    values = correct.mean(axis=0, dtype=np.float64) / severities
    return Collected(Accuracy(names, values), correct, severities, how)
