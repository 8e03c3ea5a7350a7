"""A matrix of overlaps, as a design is made from: whole, symmetric, 1 on the diagonal."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hardy.design.accuracy import check_names
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
        names, values, side = self.names, self.values, len(self.names)
        if side > MOST:
            raise InputError(f"expected up to {MOST} corruptions, got {side:,}; leave some out")
        check_names(names)
        if values.shape != (side, side):
            raise InputError(
                f"expected an overlap for each pair of {side} corruptions, {side} x {side}, got "
                f"{values.shape}"
            )
        if np.isnan(values).any():
            raise InputError(_missing(names, np.isnan(values)))
        for row, column in np.argwhere((values < 0) | (values > LARGEST))[:1]:
            raise InputError(
                f"expected overlaps from 0 to {LARGEST:,}, got {values[row, column]} for "
                f"{names[row]} and {names[column]}; of a stand-in, take similarity_errors.csv"
            )
        for place in np.flatnonzero(np.abs(np.diagonal(values) - 1) > ROUNDING)[:1]:
            raise InputError(
                f"expected 1 on the diagonal, got {values[place, place]} for {names[place]}; is "
                "this a matrix of overlaps?"
            )
        for row, column in np.argwhere(np.abs(values - values.T) > ROUNDING)[:1]:
            raise InputError(
                f"expected the same overlap both ways, got {values[row, column]} and "
                f"{values[column, row]} for {names[row]} and {names[column]}"
            )


def read_matrix(path: Path, without: Sequence[str] = ()) -> Matrix:
    """Read a CSV with the names across and, in any order, down."""
    names, values = _read(path)
    for name in without:
        if name not in names:
            raise unknown(f"corruption of {path}", name, names)
    kept = [place for place, name in enumerate(names) if name not in without]
    try:
        return Matrix(tuple(names[place] for place in kept), values[np.ix_(kept, kept)])
    except InputError as error:
        raise InputError(f"{path}: {error}") from None


def _read(path: Path) -> tuple[list[str], Floats]:
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            lines = [line for line in csv.reader(file) if any(cell.strip() for cell in line)]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path} ({error}); expected a CSV file") from error
    if len(lines) < 2 or len(lines[0]) < 2:
        raise InputError(f"{path}: expected a matrix with names across and down, got none")
    names = [name.strip() for name in lines[0][1:]]
    down = [line[0].strip() for line in lines[1:]]
    for name in (*down, *names):
        if names.count(name) != 1 or down.count(name) != 1:
            raise InputError(
                f'{path}: expected the same names across and down, each once, but "{name}" is '
                f"{down.count(name)} times down and {names.count(name)} times across"
            )
    values = np.empty((len(names), len(names)))
    for line in lines[1:]:
        values[names.index(line[0].strip())] = _numbers(line, names, path)
    return names, values


def _numbers(line: list[str], names: list[str], path: Path) -> list[float]:
    where = f"{path}: {line[0]}"
    cells = line[1:] + [""] * (len(names) - len(line) + 1)
    if len(cells) > len(names):
        raise InputError(f"{where}: expected {len(names)} numbers, got {len(cells)}")
    numbers = []
    for name, cell in zip(names, cells, strict=True):
        try:
            numbers.append(float(cell) if cell.strip() else float("nan"))
        except ValueError:
            raise InputError(f'{where} and {name}: expected a number, got "{cell}"') from None
    return numbers


def _missing(names: tuple[str, ...], missing: npt.NDArray[np.bool_]) -> str:
    """Whole rows are what an undefined overlap leaves; those corruptions can be left out."""
    whole = missing.sum(axis=1) >= max(2, len(names) - 1)
    gone = [name for name, lone in zip(names, whole, strict=True) if lone]
    row, column = np.argwhere(missing)[0]
    todo = f"leave out {','.join(gone)} by `without`" if gone else "complete it, or use `without`"
    if len(names) - len(gone) < 2:
        todo = NO_OVERLAP
    return (
        f"expected a number for every pair, got none for {int(missing.sum()):,} cells, such as "
        f"{names[row]} and {names[column]}; {todo}"
    )
