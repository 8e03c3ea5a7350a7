"""Rows that wait to become a part: its name and its ids are those of the rows alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from hardy.store.waiting_rows import WaitingRows
from hardy.suites.cells import CLEAN, Cell
from tests.store.stores import labels_of, pixels_of, predict

FOG = Cell("fog", 1)


class Watched(list[str]):
    """Ids that know how often one was looked at."""

    looks = 0

    def __iter__(self) -> Iterator[str]:
        self.looks += len(self)
        return super().__iter__()

    def __getitem__(self, place: Any) -> Any:
        self.looks += 1
        return super().__getitem__(place)


def write(ids: list[str], places: list[int], folder: Path) -> Path:
    waiting = WaitingRows("run", ids, labels_of([*range(len(ids))]), {})
    some = [str(list.__getitem__(ids, place)) for place in places]
    for cell in (CLEAN, FOG):
        waiting.add(np.array(places), cell, predict(some, cell), pixels_of(some))
    (folder / "parts").mkdir(parents=True, exist_ok=True)
    return folder / "parts" / waiting.write(folder)


def test_a_block_of_many_images_costs_what_its_own_images_cost(tmp_path: Path) -> None:
    ids = Watched(f"image {number}" for number in range(5000))
    part = write(ids, [4000, 7, 4001], tmp_path)
    assert ids.looks < 10
    rows = pq.read_table(part, columns=["image", "corruption"]).to_pydict()
    assert rows["image"] == ["image 4000", "image 7", "image 4001"] * 2
    assert rows["corruption"] == ["clean"] * 3 + ["fog"] * 3


def test_a_part_is_named_after_its_images_and_cells_wherever_they_are_listed(
    tmp_path: Path,
) -> None:
    name = write(["a", "b\\c", "d"], [1, 2], tmp_path).name
    assert name == write(["b\\c", "d", "e"], [0, 1], tmp_path).name
    assert name == "bc0938f23c3b6660a8711a174010e41f.parquet"
    assert name != write(["b\\c", "d", "e"], [1, 0], tmp_path).name
