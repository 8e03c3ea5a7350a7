"""A matrix of overlaps, as a design is made from: whole, symmetric, 1 on the diagonal."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hardy.design.accuracy import check_names
from hardy.documents import read_document
from hardy.errors import InputError
from hardy.metrics.classification import Floats
from hardy.registry import unknown

ROUNDING = 1e-9
NO_OVERLAP = "no two corruptions have an overlap: train for longer, in another folder"
MOST = 400  # corruptions; the search for a largest set goes as deep
# A gain that is next to nothing makes overlaps in the thousands; squares of these still add up.
LARGEST = 1_000_000


@dataclass(frozen=True, eq=False)
class Matrix:
    names: tuple[str, ...]
    values: Floats  # (n, n)

    def __post_init__(self) -> None:
        side = len(self.names)
        _check_number(side)
        check_names(self.names)
        if self.values.shape != (side, side):
            raise InputError(
                f"expected an overlap for each pair of {side} corruptions, {side} x {side}, got "
                f"{self.values.shape}"
            )
        missing = np.isnan(self.values)
        if missing.any():
            raise InputError(_missing(self.names, missing))
        for row, column in np.argwhere((self.values < 0) | (self.values > LARGEST))[:1]:
            raise InputError(
                f"expected overlaps from 0 to {LARGEST:,}, got {self.values[row, column]} for "
                f"{self._pair(row, column)}; of a stand-in, take similarity_errors.csv"
            )
        for place in np.flatnonzero(np.abs(np.diagonal(self.values) - 1) > ROUNDING)[:1]:
            raise InputError(
                f"expected 1 on the diagonal, got {self.values[place, place]} for "
                f"{self.names[place]}; is this a matrix of overlaps?"
            )
        for row, column in np.argwhere(np.abs(self.values - self.values.T) > ROUNDING)[:1]:
            raise InputError(
                f"expected the same overlap both ways, got {self.values[row, column]} and "
                f"{self.values[column, row]} for {self._pair(row, column)}"
            )

    def _pair(self, row: int, column: int) -> str:
        return f"{self.names[row]} and {self.names[column]}"


def read_matrix(path: Path, without: Sequence[str] = ()) -> Matrix:
    """Read a CSV with the names across and, in any order, down."""
    names, values = _read(path, len(set(without)))
    for name in without:
        if name not in names:
            raise unknown(f"corruption of {path}", name, names)
    kept = [place for place, name in enumerate(names) if name not in without]
    try:
        return Matrix(tuple(names[place] for place in kept), values[np.ix_(kept, kept)])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _check_number(number: int) -> None:
    if number > MOST:
        raise InputError(f"expected up to {MOST} corruptions, got {number:,}; leave some out")


def _read(path: Path, left_out: int) -> tuple[list[str], Floats]:
    try:
        file = io.StringIO(read_document(path).decode("utf-8-sig"), newline="")
        lines = [line for line in csv.reader(file) if any(cell.strip() for cell in line)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path} ({error}); expected a CSV file") from error
    if len(lines) < 2 or len(lines[0]) < 2:
        raise InputError(f"{path}: expected a matrix with names across and down, got none")
    names = [name.strip() for name in lines[0][1:]]
    _check_number(len(names) - left_out)
    check_names(names)
    down = [line[0].strip() for line in lines[1:]]
    for name in (*down, *names):
        if (name in names) != (name in down) or down.count(name) > 1:
            raise InputError(
                f'{path}: expected the same names across and down, each once, but "{name}" is '
                f"{down.count(name)} times down and {names.count(name)} times across"
            )
    values = np.empty((len(names), len(names)))
    for line in lines[1:]:
        values[names.index(line[0].strip())] = _numbers(line, names, path)
    return names, values


def _numbers(line: list[str], names: list[str], path: Path) -> list[float]:
    cells = line[1:] + [""] * (len(names) - len(line) + 1)
    if len(cells) > len(names):
        raise InputError(f"{path}: {line[0]}: expected {len(names)} numbers, got {len(cells)}")
    numbers = []
    for name, cell in zip(names, cells, strict=True):
        try:
            numbers.append(float(cell) if cell.strip() else float("nan"))
        except ValueError:
            raise InputError(
                f'{path}: {line[0]} and {name}: expected a number, got "{cell}"'
            ) from None
    return numbers


def _missing(names: tuple[str, ...], missing: npt.NDArray[np.bool_]) -> str:
    """Whole rows are what an undefined overlap leaves; those corruptions can be left out."""
    others = len(names) - 1
    gone = [name for name, row in zip(names, missing, strict=True) if row.sum() >= max(2, others)]
    row, column = np.argwhere(missing)[0]
    todo = f"leave out {','.join(gone)} (`without`)" if gone else "complete it, or use `without`"
    if len(names) - len(gone) < 2:
        todo = NO_OVERLAP
    return (
        f"expected a number for every pair, got none for {int(missing.sum()):,} cells, such as "
        f"{names[row]} and {names[column]}; {todo}"
    )
