"""What is still to be predicted of a sample, in blocks of images."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.run.subject import Rows, Subject

_TOGETHER = 256  # predictions of small images: enough for a model, and for every thread a block
# On a device: to ask for a few images of each cell takes the host as long as for many.
_TOGETHER_ON_DEVICE, _BLOCKS_ON_DEVICE = 4096, 4


class SampleTask(NamedTuple):
    """Rows whose turn it is, in the order of the sample."""

    rows: Rows
    lacks: npt.NDArray[np.bool_]  # (rows, cells, models)


def list_sample_tasks(
    subject: Subject,
    line: Rows,
    wanted: npt.NDArray[np.bool_],
    have: Sequence[npt.NDArray[np.bool_]],
) -> list[SampleTask]:
    """What is still to do; `wanted` is (rows, cells) along the line, `have` by row for each model.

    Blocks are at fixed places of the line.
    """
    lacks = wanted[..., None] & ~np.stack(have, axis=-1)[line]
    taken = wanted.sum(axis=1)
    turns = max(1, round(float(taken[taken > 0].mean()))) if taken.any() else 1
    size = max(1, _predictions_together(subject) // turns)
    tasks = []
    for start in range(0, len(line), size):
        block = lacks[start : start + size]
        rows = np.flatnonzero(block.any(axis=(1, 2)))
        if len(rows):
            tasks.append(SampleTask(line[start + rows], block[rows]))
    return tasks


def _predictions_together(subject: Subject) -> int:
    if subject.device is None:
        return min(subject.chunk_size, _TOGETHER)
    if subject.sequences:
        return subject.chunk_size
    return min(_TOGETHER_ON_DEVICE, _BLOCKS_ON_DEVICE * subject.chunk_size)


def count_sample(subject: Subject, tasks: Iterable[SampleTask]) -> int:
    frames = np.array([subject.frames(cell) or 1 for cell in subject.cells])
    return sum(int(task.lacks.sum(axis=(0, 2)) @ frames) for task in tasks)
