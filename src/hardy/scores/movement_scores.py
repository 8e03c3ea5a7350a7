"""All scores of a model on a suite of perturbation sequences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.bootstrap import Resampling
from hardy.metrics.classification import Floats
from hardy.metrics.stability import (
    FlipReference,
    flips,
    is_noise,
    top5_distances,
    zipf_distances,
)
from hardy.scores.formulas import (
    Formula,
    Table,
    build_scores,
    positions,
    positive,
)
from hardy.scores.score import Circumstances, Score

Arrays = Mapping[str, npt.NDArray[Any]]
# Means of all columns -> what flips and distances are divided by: (..., perturbations, 2).
Yardstick = Callable[[Floats], Floats]


@dataclass(frozen=True)
class MeasuredFlips:
    """A reference made from a stored run; with `moves` it is resampled with the model, without
    them its numbers are exact."""

    name: str
    flips: dict[str, float]
    top5_distance: dict[str, float]
    moves: Mapping[str, Floats] | None = field(default=None, repr=False, compare=False)


def measure_flips(name: str, moves: Mapping[str, Floats]) -> MeasuredFlips:
    """From what `movements` gives at difficulty 1, by perturbation."""
    means = {perturbation: move.mean(axis=0).tolist() for perturbation, move in moves.items()}
    return MeasuredFlips(
        name,
        {perturbation: mean[0] for perturbation, mean in means.items()},
        {perturbation: mean[1] for perturbation, mean in means.items()},
        moves,
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
    "FP tilt", "uT5D tilt" and "Zipf tilt" are single ones. Ratios to a reference that never moves,
    or hardly ever, are left out.
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
    columns = _columns(moves, around)
    zipf = columns.shape[1] == 3 * len(around.names)
    yardstick = None
    if reference is not None:
        yardstick = _yardstick(reference, around, columns.shape[1])
        if (theirs := _moves(reference)) is not None:
            columns = np.concatenate([columns, _columns(theirs, around, 2)], axis=1)
    formulas = _averages("", counted, around, yardstick, zipf)
    formulas += _averages("validation ", validation, around, yardstick, zipf)
    for name in around.names:
        formulas += _singles(name, around, yardstick, zipf)
    return build_scores([Table(columns, formulas, around)], how or Resampling())


def _columns(
    moves: Mapping[str, Floats], around: Circumstances, kinds: int | None = None
) -> Floats:
    for name in around.names:
        if len(moves[name]) != around.images:
            raise InputError(
                f"expected {name} of each of the {around.images:,} images, got {len(moves[name]):,}"
            )
    return np.concatenate([moves[name][:, :kinds] for name in around.names], axis=1)


def _moves(reference: FlipReference) -> Mapping[str, Floats] | None:
    return reference.moves if isinstance(reference, MeasuredFlips) else None


def _yardstick(reference: FlipReference, around: Circumstances, start: int) -> Yardstick:
    """Of a measured reference, whose columns begin at `start`, as uncertain as these are."""
    if _moves(reference) is not None:
        return lambda means: means[..., start:].reshape(*means.shape[:-1], len(around.names), 2)
    exact = np.array(
        [[reference.flips[name], reference.top5_distance[name]] for name in around.names]
    )
    return lambda means: exact


def _averages(
    prefix: str,
    wanted: Sequence[str],
    around: Circumstances,
    yardstick: Yardstick | None,
    zipf: bool,
) -> list[Formula]:
    labels = ["flip probability", "mFR", "top-5 distance", "mT5D", "Zipf distance"]
    return _group([prefix + label for label in labels], wanted, around, yardstick, zipf)


def _singles(
    name: str, around: Circumstances, yardstick: Yardstick | None, zipf: bool
) -> list[Formula]:
    labels = [f"{metric} {name}" for metric in ("FP", "FR", "uT5D", "T5D", "Zipf")]
    return _group(labels, [name], around, yardstick, zipf)


def _group(
    labels: list[str],
    wanted: Sequence[str],
    around: Circumstances,
    yardstick: Yardstick | None,
    zipf: bool,
) -> list[Formula]:
    """FR and T5D are ratios to the reference; their means are means of ratios."""
    index = positions(wanted, around.names)
    names = tuple(around.names[i] for i in index)
    if not names:
        return []
    kinds = 3 if zipf else 2

    def mean_of(kind: int, by: Yardstick | None = None) -> Callable[[Floats], Floats]:
        places = [i * kinds + kind for i in index]

        def mean(means: Floats) -> Floats:
            values = means[..., places]
            if by is not None:
                values = values / positive(by(means)[..., index, kind])
            return np.asarray(values.mean(-1))

        return mean

    flip, rate, distance, ratio, all_classes = labels
    found = [
        Formula(flip, mean_of(0), names, "%"),
        Formula(distance, mean_of(1), names, scale=1.0),
    ]
    if zipf:
        found.append(Formula(all_classes, mean_of(2), names, scale=1.0))
    if yardstick is not None:
        found.append(Formula(rate, mean_of(0, yardstick), names, reference=True))
        found.append(Formula(ratio, mean_of(1, yardstick), names, reference=True))
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
