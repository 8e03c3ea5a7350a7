"""Scores of a stored run on a suite of corruptions."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics import Outcomes, Reference, Resampling, measure_reference
from hardy.scores import selection
from hardy.scores.outcome_scores import outcome_scores
from hardy.scores.score import Score
from hardy.scores.selection import Part, Places
from hardy.store.reader import StoredRun
from hardy.suites.cells import CLEAN, Cell
from hardy.suites.suite import Suite

COLUMNS = ("rank", "log_prob", "square_sum", "confidence")  # as `Outcomes` has them


def score_corruptions(
    run: StoredRun,
    suite: Suite,
    places: Places,
    reference: StoredRun | str | None,
    how: Resampling | None,
) -> tuple[dict[str, Score], Places, list[str]]:
    """Scores by name, the images of the headline ones, and notes on what is left out."""
    if (run.labels[places] < 0).any():
        raise InputError(
            f"expected labels for scores on {suite.name}, got a run of {run.model} without any; "
            "run it on images with labels"
        )
    notes: list[str] = []
    scores: dict[str, Score] = {}
    parts = _parts(run, suite, places, notes)
    for part in parts:
        yardstick = _reference(run, suite, part, reference, notes)
        made = _score(run, suite, part, yardstick, how)
        if yardstick is not None:
            notes += _not_divided(made, suite, part, yardstick.name)
        # Clean scores of the part that counts come first, and stay.
        scores = {**scores, **made, **scores}
    return scores, parts[0].images, notes


def _parts(run: StoredRun, suite: Suite, places: Places, notes: list[str]) -> list[Part]:
    """Usually one. Two where the validation corruptions have other severities or images, which must
    cost the scores that count nothing."""
    clean = (CLEAN,) if CLEAN in run.cells else ()
    if not clean:
        notes.append("no clean images: no clean error, relative mCE or mAUDE")
    found = []
    for group in (suite.counted, suite.validation):
        levels = selection.levels_by_name(run, group)
        if levels:
            names, common = selection.rectangle(levels)
            cells = tuple(Cell(name, level) for name in names for level in common)
            found.append(selection.part_of(run, places, names, common, (*clean, *cells)))
            notes += [
                f"{name} was run at severity {_listed(levels[name])} only, and is left out"
                for name in levels
                if name not in names
            ]
    if not found:
        found = [selection.part_of(run, places, (), (), clean)]
    parts = [part for part in found if len(part.images)]
    if not parts:
        raise selection.nothing_complete(run, places, found[0].cells)
    if len(parts) == 2 and _alike(*parts):
        one, two = parts
        cells = one.cells + two.cells[len(clean) :]
        parts = [Part(one.names + two.names, one.levels, cells, one.images)]
    for part in parts:
        counts = not set(part.names) <= set(suite.validation)
        notes += selection.incomplete(part, places, "" if counts else "validation: ")
    return parts


def _alike(one: Part, two: Part) -> bool:
    return one.levels == two.levels and np.array_equal(one.images, two.images)


def _listed(levels: tuple[int, ...]) -> str:
    return ", ".join(map(str, levels))


def _clean(part: Part, values: npt.NDArray[Any]) -> npt.NDArray[Any] | None:
    return values[:, 0] if CLEAN in part.cells else None


def _corrupted(part: Part, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """(images, corruptions, severities)"""
    first = 1 if CLEAN in part.cells else 0
    return values[:, first:].reshape(len(values), len(part.names), len(part.levels))


def _score(
    run: StoredRun,
    suite: Suite,
    part: Part,
    reference: Reference | None,
    how: Resampling | None,
) -> dict[str, Score]:
    kept = run.read(part.cells, COLUMNS, part.images)
    cells = Outcomes(*(_corrupted(part, kept[name]) for name in COLUMNS))
    clean = Outcomes(*(kept[name][:, 0] for name in COLUMNS)) if CLEAN in part.cells else None
    around = selection.circumstances(run, suite, part)
    how = selection.resampling(run, part.images, how)
    return outcome_scores(
        clean,
        cells,
        around,
        counted=suite.counted,
        validation=suite.validation,
        reference=reference,
        relative=suite.score == "relative mCE",
        severities=_severities(suite, part),
        how=how,
    )


def _severities(suite: Suite, part: Part) -> tuple[int, ...]:
    """All that there are of these names."""
    return suite.edition.severities(part.names[0]) if part.names else ()


def _not_divided(made: dict[str, Score], suite: Suite, part: Part, reference: str) -> list[str]:
    """Notes on ratios that were not made."""
    notes = []
    without = [name for name in part.names if f"CE {name}" not in made]
    if without and suite.score == "mCE":
        notes.append(
            f"{reference} makes too few errors under {', '.join(without)} to divide by: no CE "
            "there, and no mean"
        )
    without = [name for name in part.names if f"relative CE {name}" not in made]
    if without and CLEAN in part.cells:
        notes.append(
            f"{', '.join(without)} costs {reference} too little to divide by: no relative CE "
            "there, and no mean"
        )
    return notes


def _reference(
    run: StoredRun,
    suite: Suite,
    part: Part,
    reference: StoredRun | str | None,
    notes: list[str],
) -> Reference | None:
    """The suite's own model, or one that was run on the same cells of the same images."""
    name = suite.reference.name if suite.reference else None
    if not isinstance(reference, str):
        name = None if reference is None else reference.model
    if name is None or not part.names:
        return None
    if part.levels != _severities(suite, part):
        notes.append(
            f"severity {_listed(part.levels)} only: no scores against {name}, whose errors are "
            "means over all five"
        )
        return None
    if isinstance(reference, str | None):
        return suite.reference
    same = selection.same_part(run, part, reference)
    ranks = reference.read(same.cells, ["rank"], same.images)["rank"]
    name = selection.reference_name(reference)
    return measure_reference(name, _clean(part, ranks), _corrupted(part, ranks), part.names)
