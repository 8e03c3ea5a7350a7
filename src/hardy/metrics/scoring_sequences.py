"""All scores of a model on a suite of perturbation sequences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.bootstrap import Resampling
from hardy.metrics.classification import Floats
from hardy.metrics.formulas import Formula, build_scores, positions
from hardy.metrics.score import Circumstances, Score
from hardy.metrics.stability import (
    FlipReference,
    flips,
    is_noise,
    top5_distances,
    zipf_distances,
)

Arrays = Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class MeasuredFlips:
    """A reference made from a stored run; scores treat its numbers as exact."""

    name: str
    flips: dict[str, float]
    top5_distance: dict[str, float]


def measure_flips(name: str, moves: Mapping[str, Floats]) -> MeasuredFlips:
    """From what `movements` gives at difficulty 1, by perturbation."""
    means = {perturbation: move.mean(axis=0).tolist() for perturbation, move in moves.items()}
    return MeasuredFlips(
        name,
        {perturbation: mean[0] for perturbation, mean in means.items()},
        {perturbation: mean[1] for perturbation, mean in means.items()},
    )


def sequence_scores(
    top5: Arrays,
    circumstances: Circumstances,
    *,
    counted: Sequence[str],
    validation: Sequence[str] = (),
    zipf: Arrays | None = None,
    reference: FlipReference | None = None,
    how: Resampling | None = None,
) -> dict[str, Score]:
    """Scores by name from the best classes per frame, perturbation -> (images, frames, 5).

    `zipf` has what `zipf_columns` gives, perturbation -> (images, frames, 4). `circumstances.names`
    are the perturbations, `.levels` is the difficulty; noise must come from the sequences of that
    difficulty. "mFR", "mT5D", "flip probability", "top-5 distance" and "Zipf distance" average over
    the `counted` perturbations, the same after "validation" over the others; "FR tilt", "T5D tilt",
    "FP tilt", "uT5D tilt" and "Zipf tilt" are single ones. Ratios to a reference that never moves
    are left out.
    """
    (difficulty,) = circumstances.levels
    moves = {
        name: movements(name, top5[name], None if zipf is None else zipf[name], difficulty)
        for name in circumstances.names
    }
    return movement_scores(
        moves, circumstances, counted=counted, validation=validation, reference=reference, how=how
    )


def movements(
    name: str, top5: npt.ArrayLike, zipf: npt.ArrayLike | None = None, difficulty: int = 1
) -> Floats:
    """Per image how far predictions move under one perturbation: (images, 2), with Zipf 3.

    The share of flips, the mean top-5 distance and the mean Zipf distance over the pairs.
    """
    best = np.asarray(top5)
    if best.ndim != 3:
        raise InputError(
            f"expected the best classes of {name} as (images, frames, 5), got {best.shape}"
        )
    pairing: dict[str, Any] = {"noise": is_noise(name), "difficulty": difficulty}
    columns = [flips(best[..., 0], **pairing), top5_distances(best, **pairing)]
    if zipf is not None:
        columns.append(zipf_distances(np.asarray(zipf), **pairing))
    return np.stack(columns, axis=1)


def movement_scores(
    moves: Mapping[str, Floats],
    circumstances: Circumstances,
    *,
    counted: Sequence[str],
    validation: Sequence[str] = (),
    reference: FlipReference | None = None,
    how: Resampling | None = None,
) -> dict[str, Score]:
    """`sequence_scores` from what `movements` gives, for callers who cannot hold all frames."""
    around = circumstances
    if reference is not None:
        _check_reference(reference, around)
        around = replace(around, reference=reference.name)
    for name in around.names:
        if len(moves[name]) != around.images:
            raise InputError(
                f"expected {name} of each of the {around.images:,} images, got {len(moves[name]):,}"
            )
    columns = np.concatenate([moves[name] for name in around.names], axis=1)
    zipf = columns.shape[1] == 3 * len(around.names)
    formulas = _averages("", counted, around, reference, zipf)
    formulas += _averages("validation ", validation, around, reference, zipf)
    for name in around.names:
        formulas += _singles(name, around, reference, zipf)
    return build_scores(columns, formulas, around, how or Resampling())


def _averages(
    prefix: str,
    wanted: Sequence[str],
    around: Circumstances,
    reference: FlipReference | None,
    zipf: bool,
) -> list[Formula]:
    labels = ["flip probability", "mFR", "top-5 distance", "mT5D", "Zipf distance"]
    return _group([prefix + label for label in labels], wanted, around, reference, zipf)


def _singles(
    name: str, around: Circumstances, reference: FlipReference | None, zipf: bool
) -> list[Formula]:
    labels = [f"{metric} {name}" for metric in ("FP", "FR", "uT5D", "T5D", "Zipf")]
    return _group(labels, [name], around, reference, zipf)


def _group(
    labels: list[str],
    wanted: Sequence[str],
    around: Circumstances,
    reference: FlipReference | None,
    zipf: bool,
) -> list[Formula]:
    """FR and T5D are ratios to the reference; their means are means of ratios."""
    index = positions(wanted, around.names)
    names = tuple(around.names[i] for i in index)
    if not names:
        return []
    kinds = 3 if zipf else 2

    def mean_of(kind: int, divisors: Floats | float = 1.0) -> Callable[[Floats], Floats]:
        places = [i * kinds + kind for i in index]
        return lambda means: (means[..., places] / divisors).mean(-1)

    flip, rate, distance, ratio, all_classes = labels
    found = [
        Formula(flip, mean_of(0), names, "%"),
        Formula(distance, mean_of(1), names, scale=1.0),
    ]
    if zipf:
        found.append(Formula(all_classes, mean_of(2), names, scale=1.0))
    if reference is not None:
        flip_by = np.array([reference.flips[name] for name in names])
        distance_by = np.array([reference.top5_distance[name] for name in names])
        if (flip_by > 0).all():
            found.append(Formula(rate, mean_of(0, flip_by), names, reference=True))
        if (distance_by > 0).all():
            found.append(Formula(ratio, mean_of(1, distance_by), names, reference=True))
    return found


def _check_reference(reference: FlipReference, around: Circumstances) -> None:
    if around.levels != (1,):
        raise InputError(
            f"expected difficulty 1 for scores against {reference.name}, which was not measured on "
            f"others, got {around.levels[0]}; score without a reference"
        )
    for kind, table in (("flips", reference.flips), ("distances", reference.top5_distance)):
        missing = [name for name in around.names if name not in table]
        if missing:
            raise InputError(
                f"expected {kind} of {reference.name} for every perturbation, got none for "
                f"{', '.join(missing)}; score without a reference"
            )
