"""Reads the files of a run a few megabytes at a time: rows, with the image and the cell of each."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from hardy.images.source import Ids
from hardy.store.identity import quoted
from hardy.store.parts import KEYS, damaged, plain_type, read_groups
from hardy.store.records import id_array
from hardy.store.sessions import parts_that_count
from hardy.suites.cells import Cell

LEVELS = 128  # severities are int8
# More often than this nobody merges files while they are read.
_TRIES = 5

Read = TypeVar("Read")

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]


class StoredCells(NamedTuple):
    there: dict[Cell, Bools]  # per image
    pixels: npt.NDArray[np.uint64]  # per image; 0: unknown


def scan_parts(folder: Path, ids: Ids, labels: npt.NDArray[np.int32]) -> StoredCells:
    """Which images have which cells; every row must have the label of its image."""
    there: dict[Cell, Bools] = {}
    pixels = np.zeros(len(ids), np.uint64)
    for batch in row_batches(folder, ids, ["label", "pixels"]):
        _check_labels(batch, ids, labels)
        known = (batch.image >= 0) & (batch["pixels"] > 0)
        pixels[batch.image[known]] = batch["pixels"][known]
        cells = batch.cells()
        number = batch.numbered({cell: number for number, cell in enumerate(cells)})
        for index, cell in enumerate(cells):
            have = there.setdefault(cell, np.zeros(len(ids) + 1, np.bool_))
            have[batch.image[number == index]] = True
    return StoredCells({cell: have[:-1] for cell, have in there.items()}, pixels)


class RowBatch:
    """Some rows of a file."""

    def __init__(self, rows: pa.RecordBatch, ids: pa.Array, path: Path) -> None:
        self.path = path
        self._rows = rows
        self.image: Ints = _places(rows.column("image"), ids)  # -1: not among the ids
        corruption = rows.column("corruption")
        self._names: list[str] = corruption.dictionary.to_pylist()
        self._cell = corruption.indices.to_numpy() * LEVELS + self["severity"].astype(np.int64)

    def __getitem__(self, column: str) -> npt.NDArray[Any]:
        values: npt.NDArray[Any] = self._rows.column(column).to_numpy(zero_copy_only=False)
        return values

    def cells(self) -> list[Cell]:
        return [Cell(self._names[c // LEVELS], int(c % LEVELS)) for c in np.unique(self._cell)]

    def numbered(self, numbers: Mapping[Cell, int]) -> Ints:
        """The number of each row's cell; -1 for cells without a number."""
        table = np.full(len(self._names) * LEVELS, -1)
        for cell, number in numbers.items():
            if cell.name in self._names:
                table[self._names.index(cell.name) * LEVELS + cell.level] = number
        return np.asarray(table[self._cell])


def read_again(read: Callable[[], Read]) -> Read:
    """Read, and again where a file is gone, because its rows are in a merged one now."""
    for _ in range(_TRIES - 1):
        try:
            return read()
        except FileNotFoundError:
            continue
    return read()


def row_batches(folder: Path, ids: Ids, columns: Sequence[str]) -> Iterator[RowBatch]:
    among = id_array(ids)
    names = sorted({*KEYS, *columns})
    for path in parts_that_count(folder):
        for table in read_groups(path, names, dictionaries=("image", "corruption")):
            kind = plain_type(table["image"].type)
            if kind != among.type:
                raise damaged(path, f"expected image as {among.type}, got {kind}")
            yield from (RowBatch(rows, among, path) for rows in table.to_batches())


def _check_labels(batch: RowBatch, ids: Ids, labels: npt.NDArray[np.int32]) -> None:
    other = np.flatnonzero((batch.image >= 0) & (batch["label"] != labels[batch.image]))
    if len(other):
        image, label = batch.image[other[0]], batch["label"][other[0]]
        why = f"image {quoted(ids[image])} has label {label}, and {labels[image]} in images.parquet"
        raise damaged(batch.path, why)


def _places(values: pa.Array, among: pa.Array) -> Ints:
    if pa.types.is_dictionary(values.type):
        return np.asarray(_places(values.dictionary, among)[values.indices.to_numpy()])
    found = pc.index_in(values, value_set=among).fill_null(-1)
    return np.asarray(found.to_numpy(zero_copy_only=False), np.int64)
