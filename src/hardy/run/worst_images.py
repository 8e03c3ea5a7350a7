"""Thumbnails of the worst images: those whose label the model thought least likely.

They are chosen from the stored predictions and made again at the end of a run, so they are the same
however often the run was stopped.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from hardy.engine.door import UInt8
from hardy.errors import printable
from hardy.files import whole_file
from hardy.run.subject import Subject
from hardy.store.reader import StoredRun, open_run
from hardy.suites.cells import CLEAN, Cell

FILE = "worst.parquet"
PER_CORRUPTION = 3
SIDE = 96


def keep_worst(folder: Path, subject: Subject, *, anew: bool) -> None:
    """Of sequences none: one frame does not show what went wrong.

    Nor where the session had a part of the run's images only: the worst may be among the others.
    """
    there = (folder / FILE).exists()
    if subject.suite.kind != "corruptions" or (there and not anew):
        return
    run = open_run(folder)
    if there and len(run.ids) > len(subject):
        return
    place = {id: row for row, id in enumerate(subject.ids)}
    rows = []
    for entry in _worst(run, place, subject):
        cell = Cell(entry["corruption"], entry["severity"])
        loaded = subject.load(np.array([place[entry["image"]]], np.int64))
        if loaded.chunk is None:
            continue
        clean = loaded.chunk.make(CLEAN)[0] if CLEAN in subject.cells else None
        rows.append(
            {
                **entry,
                "image": printable(str(entry["image"])),
                "clean": None if clean is None else _thumbnail(clean),
                "corrupted": _thumbnail(loaded.chunk.make(cell)[0]),
            }
        )
    if rows:
        with whole_file(folder / FILE) as file:
            pq.write_table(pa.Table.from_pylist(rows), file)


def _worst(run: StoredRun, place: dict[Any, int], subject: Subject) -> list[dict[str, Any]]:
    """Of each corruption different images, the least likely label first."""
    cells = [cell for cell in run.cells if cell in subject.variants.cells]
    known = np.array([row for row, id in enumerate(run.ids) if id in place], np.int64)
    known = known[run.complete(cells)[known]] if cells else known[:0]
    if not len(known):
        return []
    got = run.read(cells, ["log_prob", "rank", "top1"], known)
    likely: npt.NDArray[Any] = np.where(got["rank"] > 0, got["log_prob"], np.inf)
    found = []
    for name in dict.fromkeys(cell.name for cell in cells):
        columns = [number for number, cell in enumerate(cells) if cell.name == name]
        least = likely[:, columns].min(axis=1)
        level = likely[:, columns].argmin(axis=1)
        for row in np.argsort(least, kind="stable")[:PER_CORRUPTION]:
            if np.isfinite(least[row]):
                column = columns[level[row]]
                found.append(
                    {
                        "image": run.ids[known[row]],
                        "corruption": name,
                        "severity": cells[column].level,
                        "label": int(run.labels[known[row]]),
                        "predicted": int(got["top1"][row, column]),
                        "log_prob": float(least[row]),
                    }
                )
    return found


def _thumbnail(image: UInt8) -> bytes:
    from PIL import Image

    picture = Image.fromarray(image)
    picture.thumbnail((SIDE, SIDE))
    data = io.BytesIO()
    picture.save(data, "PNG", optimize=True)
    return data.getvalue()
