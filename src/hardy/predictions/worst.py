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

from hardy.predictions.parts import whole_file
from hardy.predictions.store import StoredRun, open_run
from hardy.predictions.subject import Subject, UInt8
from hardy.suites.cells import CLEAN, Cell

FILE = "worst.parquet"
PER_CORRUPTION = 3
SIDE = 96


def keep_worst(folder: Path, subject: Subject) -> None:
    """Of sequences none: one frame does not show what went wrong."""
    if subject.suite.kind != "corruptions":
        return
    run = open_run(folder)
    place = {id: row for row, id in enumerate(subject.ids)}
    rows = []
    for name in dict.fromkeys(cell.name for cell in subject.cells if cell != CLEAN):
        cells = [cell for cell in run.cells if cell.name == name and cell in subject.cells]
        for entry in _worst_of(run, cells, place):
            loaded = subject.load(np.array([place[entry["image"]]], np.int64))
            if loaded.chunk is None:
                continue
            cell = Cell(name, entry["severity"])
            clean = loaded.chunk.make(CLEAN)[0] if CLEAN in subject.cells else None
            made = loaded.chunk.make(cell)[0]
            rows.append(
                {
                    **entry,
                    "image": str(entry["image"]),
                    "corruption": name,
                    "clean": None if clean is None else _thumbnail(clean),
                    "corrupted": _thumbnail(made),
                }
            )
    if not rows:
        return
    with whole_file(folder / FILE) as file:
        pq.write_table(pa.Table.from_pylist(rows), file)


def _worst_of(run: StoredRun, cells: list[Cell], place: dict[Any, int]) -> list[dict[str, Any]]:
    """Different images, the least likely label first."""
    if not cells:
        return []
    known = np.array([row for row, id in enumerate(run.ids) if id in place], np.int64)
    known = known[run.complete(cells)[known]]
    got = run.read(cells, ["log_prob", "rank", "top5"], known)
    log_prob: npt.NDArray[Any] = np.where(got["rank"] > 0, got["log_prob"], np.inf)
    level = log_prob.argmin(axis=1)
    least = log_prob[np.arange(len(known)), level]
    ids = [run.ids[row] for row in known]
    found = []
    for row in np.lexsort((np.arange(len(known)), least))[:PER_CORRUPTION]:
        if not np.isfinite(least[row]):
            break
        found.append(
            {
                "image": ids[row],
                "severity": cells[level[row]].level,
                "label": int(run.labels[known[row]]),
                "predicted": int(got["top5"][row, level[row], 0]),
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
