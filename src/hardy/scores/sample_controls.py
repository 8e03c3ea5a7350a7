"""Full runs of other models on the same images, beside a sample: control variates.

What is hard for one model is hard for another. Where the other's numbers f are known of all images,
a sample need only tell how y differs from λ f (Angelopoulos et al. 2023 call it PPI++).
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hardy.errors import InputError
from hardy.metrics.classification import Floats
from hardy.metrics.sampled_means import Control
from hardy.scores.columns import AnyMetric
from hardy.scores.per_image import measure_images
from hardy.scores.scored_cells import Places, ScoredCells, suite_of
from hardy.scores.stored_sample import StoredSample
from hardy.store.reader import StoredRun, open_run
from hardy.store.records import RUN
from hardy.store.sessions import parts_that_count
from hardy.suites.cells import Cell

_MOST = 4  # other runs that are tried


class FullRun(NamedTuple):
    """Another model's numbers of all images."""

    name: str
    numbers: Mapping[str, Floats]  # by metric: (images of the sampled run, 1 + cells)

    def control(self, metric: str, images: Places) -> Control:
        """What a table of these images may use."""
        known = self.numbers[metric]
        return Control(self.name, known[images], known[~np.isnan(known[:, 1])].mean(axis=0))


def find_controls(
    run: StoredRun, sample: StoredSample, part: ScoredCells, metrics: Sequence[AnyMetric]
) -> list[FullRun]:
    """Those in the same store, of up to a few models, that were made alike and are complete."""
    found: list[FullRun] = []
    for folder in sorted(path.parent for path in run.folder.parent.glob(f"*/{RUN}")):
        if folder == run.folder or len(found) == _MOST:
            continue
        try:
            other = _open_once(folder, tuple(parts_that_count(folder)))
        except InputError:
            continue
        rows = _same_images(run, sample, other, part.cells)
        if rows is not None:
            cells = (part.names, part.levels, part.cells)
            numbers = _read_numbers(other, cells, tuple(metrics), rows.tobytes())
            found.append(FullRun(other.model, numbers))
    return found


@lru_cache(maxsize=64)
def _open_once(folder: Path, parts: tuple[Path, ...]) -> StoredRun:
    """The run while it has these parts, whose names follow from what is in them: it is read once,
    though there are many looks."""
    return open_run(folder)


def _same_images(
    run: StoredRun, sample: StoredSample, other: StoredRun, cells: Sequence[Cell]
) -> Places | None:
    """Where the other run has the images of this one, -1 where it has not; None where it was made
    in another way, or lacks what this one has."""
    alike = ("suite", "suite_hash", "recipe", "made", "seed", "labels")
    if any(run.details[name] != other.details[name] for name in alike):
        return None
    there = {id: place for place, id in enumerate(other.ids)}
    rows = np.array([there.get(id, -1) for id in run.ids], np.int64)
    rows[~other.complete(cells)[rows]] = -1
    shown = rows[sample.images]
    if np.count_nonzero(rows >= 0) != sample.population or (shown < 0).any():
        return None
    same = np.array_equal(other.labels[shown], run.labels[sample.images])
    same &= np.array_equal(other.pixels[shown], run.pixels[sample.images])
    return rows if same else None


@lru_cache(maxsize=_MOST)
def _read_numbers(
    run: StoredRun,
    cells: tuple[tuple[str, ...], tuple[int, ...], tuple[Cell, ...]],
    metrics: tuple[AnyMetric, ...],
    rows: bytes,
) -> dict[str, Floats]:
    """The numbers by metric, (rows, clean images and cells). Each look asks for the same."""
    places = np.frombuffer(rows, np.int64)
    known = np.flatnonzero(places >= 0)
    part = ScoredCells(*cells, places[known])
    (measured,) = measure_images(run, suite_of(run), [part], metrics)
    found = {}
    for metric in metrics:
        clean, numbers = measured[metric.name]
        every: Floats = np.full((len(places), 1 + numbers[0].size), np.nan)
        every[known, 1:] = numbers.reshape(len(known), -1)
        if clean is not None:
            every[known, 0] = clean
        found[metric.name] = every
    return found
