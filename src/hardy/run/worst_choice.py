"""Which images of a run are the worst: those whose label the model thought least likely.

They are chosen from the stored predictions and made again at the end of a run, so they are the same
however often the run was stopped.
"""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.engine.ops import is_tensor
from hardy.errors import printable
from hardy.files import remove_for_good
from hardy.run.subject import Subject
from hardy.store.reader import StoredRun, open_run
from hardy.store.sessions import parts_that_count
from hardy.store.worst_images import WORST, WorstImage, write_worst
from hardy.suites.cells import CLEAN, Cell

_PER_CORRUPTION = 3
SIDE = 96  # of a thumbnail


def keep_worst(folder: Path, subject: Subject, *, anew: bool) -> None:
    """Keep thumbnails of the worst images beside the predictions.

    Runs of sequences keep none: one frame does not show what went wrong. Nor does a session that
    had only a part of the run's images: the worst may be among the others. Where another process
    has stored predictions meanwhile, that one will make them anew.
    """
    there = (folder / WORST).exists()
    if subject.suite.kind != "corruptions" or (there and not anew):
        return
    counted = parts_that_count(folder)
    run = open_run(folder)
    if there and len(run.ids) > len(subject):
        return
    place = {id: row for row, id in enumerate(subject.ids)}
    found = []
    for id, one in _worst(run, place, subject):
        loaded = subject.load(np.array([place[id]], np.int64))
        if loaded.chunk is None:
            continue
        cell = Cell(one.corruption, one.severity)
        # By the engine that made them before: another one would be loaded, and compiled, for these.
        chunk = loaded.chunk if subject.device is None else loaded.chunk.on(subject.device)
        clean = chunk.make(CLEAN)[0] if CLEAN in subject.cells else None
        found.append(
            one._replace(
                clean=None if clean is None else _thumbnail(clean),
                corrupted=_thumbnail(chunk.make(cell)[0]),
            )
        )
    if found:
        write_worst(folder, found)
    if parts_that_count(folder) != counted:
        remove_for_good(folder / WORST)


def _worst(
    run: StoredRun, place: dict[Any, int], subject: Subject
) -> Iterator[tuple[int | str, WorstImage]]:
    """Ids and facts of the worst, the least likely label first, each image once per corruption."""
    cells = [cell for cell in run.cells if cell in subject.variants.cells]
    known = np.array([row for row, id in enumerate(run.ids) if id in place], np.int64)
    known = known[run.complete(cells)[known]] if cells else known[:0]
    if not len(known):
        return
    got = run.read(cells, ["log_prob", "rank", "top1"], known)
    likely: npt.NDArray[Any] = np.where(got["rank"] > 0, got["log_prob"], np.inf)
    for name in dict.fromkeys(cell.name for cell in cells):
        columns = [number for number, cell in enumerate(cells) if cell.name == name]
        least = likely[:, columns].min(axis=1)
        level = likely[:, columns].argmin(axis=1)
        for row in np.argsort(least, kind="stable")[:_PER_CORRUPTION]:
            if np.isfinite(least[row]):
                column, image = columns[level[row]], known[row]
                label, predicted = int(run.labels[image]), int(got["top1"][row, column])
                shown = (printable(str(run.ids[image])), name, cells[column].level)
                yield run.ids[image], WorstImage(*shown, label, predicted, float(least[row]))


def _thumbnail(image: Any) -> bytes:
    from PIL import Image

    picture = Image.fromarray(image.cpu().numpy() if is_tensor(image) else image)
    picture.thumbnail((SIDE, SIDE))
    data = io.BytesIO()
    picture.save(data, "PNG", optimize=True)
    return data.getvalue()
