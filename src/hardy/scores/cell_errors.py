"""The error of a stored run in each of its cells."""

from typing import NamedTuple

import numpy as np

from hardy.metrics import proportion_interval, wrong
from hardy.scores.run_scores import Scores
from hardy.scores.scored_cells import suite_of
from hardy.suites.cells import CLEAN


class CellError(NamedTuple):
    """The error on so many images, in percent, with its 95 % interval."""

    corruption: str
    severity: int  # 0: clean
    error: float
    low: float
    high: float
    images: int


def cell_errors(scores: Scores) -> list[CellError]:
    """The clean images first, then in the suite's order. Of a sample each cell has images of its
    own; sequences and shifted images have no cells to list."""
    run = scores.run
    if scores.kind != "corruptions":
        return []
    order = (CLEAN.name, *suite_of(run).counted, *suite_of(run).validation)
    cells = sorted(
        (cell for cell in run.cells if cell.name in order),
        key=lambda cell: (order.index(cell.name), cell.level),
    )
    there = np.zeros((len(run.ids), len(cells)), np.bool_)
    there[scores.images] = run.have(cells)[scores.images]
    hits = wrong(run.read_some(cells, ["rank"], there)["rank"])
    wrong_in = np.bincount(np.nonzero(there)[1], hits, minlength=len(cells))
    found = []
    for cell, count, images in zip(cells, wrong_in, there.sum(axis=0), strict=True):
        if images:
            low, high = (100 * end for end in proportion_interval(int(count), int(images)))
            share = float(100 * count / images)
            found.append(CellError(cell.name, cell.level, share, low, high, int(images)))
    return found
