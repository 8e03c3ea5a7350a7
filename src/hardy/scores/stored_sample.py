"""The sample that a stored run holds (`hardy eval --until`), if it holds one."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.run.sample_design import SampleDesign
from hardy.run.sample_plan import SampleExtent, SamplePlan, read_plan
from hardy.scores.scored_cells import Places
from hardy.store.provenance import UNREADABLE
from hardy.store.reader import StoredRun
from hardy.suites.cells import CLEAN, Cell


class StoredSample(NamedTuple):
    """The sample that a run holds."""

    plan: SamplePlan
    cells: tuple[Cell, ...]  # besides the clean images
    frames: tuple[int, ...]  # of each, 1 where it is an image
    images: Places  # in the run, along the line
    wanted: npt.NDArray[np.bool_]  # (images, 1 + cells): the clean images, then the cells
    population: int  # images to sample from: all that can be read
    visits: int

    @property
    def predictions(self) -> tuple[int, int]:
        """How many there are, and how many the full run has."""
        clean = int(self.wanted[:, 0].any())
        made = self.wanted.sum(axis=0) @ (1, *self.frames)
        return int(made), self.population * (clean + sum(self.frames))


def find_sample(run: StoredRun, extent: SampleExtent | None = None) -> StoredSample | None:
    """The longest beginning of the sample that is stored, or one that goes as far as is said; None
    of a run that is no sample, or is complete."""
    found = read_plan(run.details["sessions"])
    if found is None:
        return None
    plan, asked = found
    every = (Cell(name, int(level)) for name, _, level in (cell.rpartition(":") for cell in asked))
    cells = tuple(cell for cell in every if cell != CLEAN)
    design = SampleDesign(
        run.ids, run.labels, cells=len(cells), suite=run.suite, seed=run.details["seed"]
    )
    have = run.have([CLEAN, *cells])[design.line]
    absent = min(run.left_out.get(UNREADABLE, 0), int((~have.any(axis=1)).sum()))
    with_clean = str(CLEAN) in asked
    if have[:, 0 if with_clean else 1 :].all(axis=1).sum() >= len(run.ids) - absent:
        return None
    visits = design.visits_done(have[:, 1:], plan, absent)
    clean = _clean_prefix(have[:, 0], absent)
    if extent is not None:
        visits, clean = min(visits, extent.visits), min(clean, extent.clean)
    wanted = have & np.column_stack([have[:, 0], design.wanted(visits, plan)])
    wanted[clean:, 0] = False
    kept = wanted.any(axis=1)
    frames = tuple(run.frames(cell) or 1 for cell in cells)
    population = len(run.ids) - absent
    return StoredSample(plan, cells, frames, design.line[kept], wanted[kept], population, visits)


def _clean_prefix(there: npt.NDArray[np.bool_], absent: int) -> int:
    """How many images at the beginning of the line have a clean prediction, but for so many."""
    gaps = np.flatnonzero(~there)
    return int(gaps[absent]) if len(gaps) > absent else len(there)
