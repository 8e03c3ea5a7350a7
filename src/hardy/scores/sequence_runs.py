"""Scores of a stored run on a suite of perturbation sequences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from hardy.metrics import FlipReference, Resampling
from hardy.metrics.classification import Floats
from hardy.metrics.stability import DIFFICULTIES, is_noise
from hardy.scores import selection
from hardy.scores.movement_scores import measure_flips, movement_scores, movements
from hardy.scores.score import Score
from hardy.scores.selection import Part, Places
from hardy.store.reader import StoredRun
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite

# Bytes of a frame: five classes and four distances; and of those that are read at a time.
FRAME = 4 * (5 + 4)
AT_ONCE = 1 << 28


def score_sequences(
    run: StoredRun,
    suite: Suite,
    places: Places,
    reference: StoredRun | str | None,
    how: Resampling | None,
) -> tuple[dict[str, Score], Places, list[str]]:
    """Scores by name, the images of the headline ones, and notes on what is left out.

    Only difficulty 1 has a reference.
    """
    found = [
        part
        for difficulty in DIFFICULTIES
        for group in (suite.counted, suite.validation)
        for part in _parts(run, places, group, difficulty)
    ]
    parts = [part for part in found if len(part.images)]
    if not any(part.levels == (1,) for part in parts):  # of which the headline is made
        raise selection.nothing_complete(run, places, found[0].cells if found else run.cells)
    notes: list[str] = []
    scores: dict[str, Score] = {}
    moves = _Moves(run, parts)
    for part in parts:
        (difficulty,) = part.levels
        if difficulty == 1:
            counts = not set(part.names) <= set(suite.validation)
            notes += selection.incomplete(part, places, "" if counts else "validation: ")
        yardstick = _reference(run, suite, part, reference)
        made = movement_scores(
            moves.of(part),
            selection.circumstances(run, suite, part),
            counted=suite.counted,
            validation=suite.validation,
            reference=yardstick,
            how=selection.resampling(run, part.images, how),
        )
        if yardstick is not None:
            notes += _not_divided(made, part, yardstick.name)
        for name, score in made.items():
            label = name if difficulty == 1 else f"{name} (difficulty {difficulty})"
            scores[label] = replace(score, name=label)
    return scores, parts[0].images, notes


def _parts(
    run: StoredRun, places: Places, group: tuple[str, ...], difficulty: int
) -> Iterator[Part]:
    """What was run of a group; where its noise lacks a level, no image has all of that."""
    there = set(run.cells)
    names = tuple(name for name in group if _cell(name, 1) in there)
    if names:
        cells = tuple(_cell(name, difficulty) for name in names)
        yield selection.part_of(run, places, names, (difficulty,), cells)


def _cell(name: str, difficulty: int) -> Cell:
    """Noise is stored per difficulty; of the others the frames compared lie further apart."""
    return Cell(name, difficulty if is_noise(name) else 1)


class _Moves:
    """Per image how far predictions move, at all difficulties: each cell is read once."""

    def __init__(self, run: StoredRun, parts: Sequence[Part]) -> None:
        self._values: dict[tuple[str, int], Floats] = {}
        wanted: dict[Cell, list[int]] = {}
        for part in parts:
            for cell in part.cells:
                wanted.setdefault(cell, []).extend(part.levels)
        for some, images in _batches(run, wanted):
            kept = run.read(some, ["top5", "zipf"], images)
            for place, cell in enumerate(some):
                for difficulty in wanted[cell]:
                    values = np.full((len(run.ids), 3), np.nan)
                    top5, zipf = kept["top5"][:, place], kept["zipf"][:, place]
                    values[images] = movements(cell.name, top5, zipf, difficulty)
                    self._values[cell.name, difficulty] = values

    def of(self, part: Part) -> dict[str, Floats]:
        (difficulty,) = part.levels
        return {name: self._values[name, difficulty][part.images] for name in part.names}


def _batches(run: StoredRun, cells: Iterable[Cell]) -> Iterator[tuple[list[Cell], Places]]:
    """Cells that the same images have, as many as are read at a time."""
    alike: dict[tuple[int | None, bytes], list[Cell]] = {}
    for cell in cells:
        alike.setdefault((run.frames(cell), run.complete([cell]).tobytes()), []).append(cell)
    for (frames, _), some in alike.items():
        images = np.flatnonzero(run.complete(some[:1]))
        step = max(1, AT_ONCE // max(1, len(images) * (frames or 1) * FRAME))
        for start in range(0, len(some), step):
            yield some[start : start + step], images


def _reference(
    run: StoredRun,
    suite: Suite,
    part: Part,
    reference: StoredRun | str | None,
) -> FlipReference | None:
    """The suite's own model, or one that was run on the same sequences."""
    if part.levels != (1,):
        return None
    if isinstance(reference, str | None):
        return None if reference is None else suite.flips
    same = selection.same_part(run, part, reference)
    moves = _Moves(reference, [same]).of(same)
    return measure_flips(selection.reference_name(reference), moves)


def _not_divided(made: dict[str, Score], part: Part, reference: str) -> list[str]:
    """A note on ratios that were not made."""
    without = [name for name in part.names if f"FR {name}" not in made]
    if not without:
        return []
    return [
        f"{reference} flips too rarely under {', '.join(without)} to divide by: no FR there, and "
        "no mean"
    ]
