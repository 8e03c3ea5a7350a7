"""The sample that a stored run holds (`hardy eval --until`), if it holds one."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.run.sample_design import SampleDesign
from hardy.run.sample_plan import SampleExtent, SamplePlan, read_plans
from hardy.scores.scored_cells import Places
from hardy.store.provenance import UNREADABLE
from hardy.store.reader import StoredRun
from hardy.suites.cells import CLEAN, Cell
from hardy.suites.suite import Suite


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
    """The longest beginning of the last sample that is stored, or one that goes as far as is said;
    None of a run that is no sample, or whose last one is complete."""
    for plan, asked in read_plans(run.details["sessions"])[:1]:
        return _read_sample(run, plan, asked, extent)
    return None


def choose_sample(run: StoredRun, suite: Suite) -> tuple[StoredSample | None, tuple[Cell, ...]]:
    """The sample that a run is scored by, if it is, and the cells that are to be left out if not.

    A sample gives way to other cells that are complete, whose scores have no such error; those of
    validation are no reason to let go of one of corruptions that count.
    """
    plans = read_plans(run.details["sessions"])
    samples = (_read_sample(run, plan, asked) for plan, asked in plans)
    sample = next((one for one in samples if one is not None), None)
    if sample is None:
        return None, ()
    whole = _whole_cells(run)
    counts = any(cell.name in suite.counted for cell in sample.cells)
    weighty = suite.counted if counts else suite.counted + suite.validation
    if not any(cell.name in weighty and cell not in sample.cells for cell in whole):
        return sample, ()
    sampled = {name for _, asked in plans for name in asked}
    return None, tuple(cell for cell in run.cells if str(cell) in sampled and cell not in whole)


def note_beside(run: StoredRun, sample: StoredSample) -> list[str]:
    """Notes on what is stored beside a sample, and is no part of its scores."""
    notes = []
    others = [cell for cell in run.cells if cell != CLEAN and cell not in sample.cells]
    if others:
        names = name_cells(others, sample.cells)
        notes.append(f"stored, but not in the sample, and left out: {names}")
    whole = [cell for cell in _whole_cells(run) if cell in sample.cells]
    if whole:
        names = name_cells(whole, [cell for cell in sample.cells if cell not in whole])
        notes.append(f"stored of all images, of which just the sample is scored: {names}")
    rest = [cell for cell in sample.cells if cell not in whole]
    places = [1 + sample.cells.index(cell) for cell in rest]
    more = int(run.have(rest).sum() - sample.wanted[:, places].sum())
    if more:
        notes.append(f"{more:,} more images under corruptions are stored, and not in the sample")
    return notes


def name_cells(cells: Sequence[Cell], others: Sequence[Cell]) -> str:
    """Cells in words: by name alone where the others have none of that name."""
    shared = {cell.name for cell in others}
    return ", ".join(
        dict.fromkeys(str(cell) if cell.name in shared else cell.name for cell in cells)
    )


def _whole_cells(run: StoredRun) -> list[Cell]:
    """Cells that all images have which can be read."""
    have = run.have(run.cells)
    absent = min(run.left_out.get(UNREADABLE, 0), int((~have.any(axis=1)).sum()))
    counts = have.sum(axis=0)
    return [cell for cell, n in zip(run.cells, counts, strict=True) if n >= len(run.ids) - absent]


def _read_cell(text: str, run: StoredRun) -> Cell:
    name, _, level = text.rpartition(":")
    if not name or not level.isdecimal() or len(level) > 4:
        raise InputError(
            f"{run.folder}: expected cells of a sample such as fog:3 in its sessions, got "
            f"{text[:40]!r}; restore the file, or evaluate anew into another store"
        )
    return Cell(name, int(level))


def _read_sample(
    run: StoredRun, plan: SamplePlan, asked: Sequence[str], extent: SampleExtent | None = None
) -> StoredSample | None:
    """None of one that is complete."""
    every = (_read_cell(cell, run) for cell in asked)
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
