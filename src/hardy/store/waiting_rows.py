"""Predictions that wait to become a part: rows, and the name that follows from what they are."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hardy.images.source import Ids
from hardy.store.parts import COLUMNS, FOLDER, Columns, part_name, table, write_part
from hardy.store.records import id_array
from hardy.suites.cells import Cell

_COLLECTED = {"place": (np.int32, ("image",)), "frame": (np.int16, ("frame",)), **COLUMNS}


class WaitingRows:
    """Rows of one run, in the order in which they came."""

    def __init__(
        self, run_hash: str, ids: Ids, labels: npt.NDArray[np.int32], frames: Mapping[Cell, int]
    ) -> None:
        """The rows of a run: its hash, its images, and the frames of cells that are sequences."""
        self._run_hash = run_hash
        self._ids = ids
        self._labels = labels
        self._frames = frames
        self._entries: list[tuple[Cell, Columns]] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(
        self,
        places: npt.NDArray[np.int64],
        cell: Cell,
        columns: Columns,
        pixels: npt.NDArray[np.uint64],
    ) -> None:
        """Add what `reduce` gave for these images under a cell."""
        frames = self._frames.get(cell, 1)
        size = len(places) * frames
        given = columns if cell in self._frames else columns | {"zipf": np.full((size, 4), np.nan)}
        given = given | {
            "place": np.repeat(places, frames),
            "frame": np.tile(np.arange(frames), len(places)),
            "label": np.repeat(self._labels[places], frames),
            "pixels": np.repeat(pixels, frames),
        }
        # Copies: what is given may be a view of something large.
        kept = {name: np.array(given[name], kind) for name, (kind, _) in _COLLECTED.items()}
        for name, values in kept.items():
            if values.size != size * len(_COLLECTED[name][1]):
                raise ValueError(f"expected {size} rows of {name}, got shape {values.shape}")
        self._entries.append((cell, kept))
        self._count += size

    def write(self, run: Path) -> str:
        """Write them as a part of the run, and say its name."""
        ids = self._ids_of_rows()
        name = self._name(ids)
        write_part(run / FOLDER, name, self._table(ids))
        return name

    def clear(self) -> None:
        self._entries.clear()
        self._count = 0

    def _ids_of_rows(self) -> pa.Array:
        """The id of each row. Those of all images, of which a block has few, are not looked at."""
        places = np.concatenate([columns["place"] for _, columns in self._entries])
        held, rows = np.unique(places, return_inverse=True)
        return id_array([self._ids[place] for place in held]).take(pa.array(rows))

    def _name(self, ids: pa.Array) -> str:
        ends = np.cumsum([len(columns["place"]) for _, columns in self._entries]).tolist()
        held = (
            f"{cell} {ids[start:end].to_pylist()}"
            for (cell, _), (start, end) in zip(self._entries, pairwise([0, *ends]), strict=True)
        )
        return part_name(self._run_hash, *held)

    def _table(self, ids: pa.Array) -> pa.Table:
        made: dict[str, Any] = {
            name: np.concatenate([columns[name] for _, columns in self._entries])
            for name in _COLLECTED
        }
        lengths = [len(columns["frame"]) for _, columns in self._entries]
        entry = np.repeat(np.arange(len(self._entries)), lengths)
        cells = [cell for cell, _ in self._entries]
        return table(
            ids,
            pa.array([cell.name for cell in cells]).take(pa.array(entry)),
            np.array([cell.level for cell in cells], np.int8)[entry],
            made,
        )
