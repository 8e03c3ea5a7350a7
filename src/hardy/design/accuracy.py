"""The accuracy matrix: a row for each model, trained with one corruption or with none, a column for
each corruption that the test images show, or none."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hardy.errors import InputError
from hardy.metrics.classification import Floats
from hardy.suites.cells import NONE


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

    def as_csv(self) -> str:
        every = (NONE, *self.names)
        return square_csv("trained_with", every, self.values)


def check_names(names: Sequence[str]) -> None:
    twice = sorted(name for name, times in Counter(names).items() if times > 1)
    if twice or NONE in names or len(names) < 2:
        got = ", ".join(twice) + " twice" if twice else ", ".join(names) or "none"
        raise InputError(f'expected two or more corruptions, each once, none "{NONE}", got {got}')


def square_csv(corner: str, names: Sequence[str], values: Floats) -> str:
    """Names across and down; every digit, and nothing for NaN."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([corner, *names])
    for name, row in zip(names, values, strict=True):
        writer.writerow([name, *("" if np.isnan(value) else repr(float(value)) for value in row)])
    return out.getvalue()
