"""All scores of a model on a suite of corruptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.bootstrap import Interval, Resampling, proportion_interval
from hardy.metrics.classification import Counts, Floats, wrong
from hardy.metrics.corruption_error import (
    MeasuredReference,
    Reference,
    aude,
    corruption_error,
    mean_error,
    relative_corruption_error,
)
from hardy.scores.formulas import (
    Formula,
    Split,
    Table,
    build_scores,
    check_cells,
    positions,
    positive,
    splitter,
    sum_splitter,
)
from hardy.scores.score import Circumstances, Score

SEVERITIES = (1, 2, 3, 4, 5)

# Means of all columns -> the reference's clean error (...) and errors (..., corruptions).
Yardstick = Callable[[Floats], tuple[Floats, Floats]]


class _Labels(NamedTuple):
    """What the scores over a group of corruptions are called; one without a name is not made."""

    error: str
    ce: str | None = None
    relative: str | None = None
    area: str | None = None


_COUNTED = _Labels("mean error", "mCE", "relative mCE", "mAUDE")
_VALIDATION = _Labels("validation error", "validation mCE")


def corruption_scores(
    clean_rank: npt.ArrayLike | None,
    rank: npt.ArrayLike,
    circumstances: Circumstances,
    *,
    counted: Sequence[str],
    validation: Sequence[str] = (),
    reference: Reference | None = None,
    relative: bool = False,
    severities: Sequence[int] = SEVERITIES,
    how: Resampling | None = None,
) -> dict[str, Score]:
    """Scores by name from ranks of the label: (images,) and (images, corruptions, severities).

    `circumstances.names` and `.levels` name the axes. "mCE", "relative mCE", "mAUDE", "mean error"
    and "mean top-5 error" average over the `counted` corruptions that were run, "validation mCE"
    and "validation error" over the `validation` ones; "CE fog" and so on are single corruptions.
    A published reference counts as exact; one that was measured on the same images is resampled
    with the model. Without clean ranks (None) the scores that need them are left out, and so are
    ratios to a reference that a corruption costs nothing, or hardly anything. `severities` are all
    that there are, which a reference's errors are means over; with `relative`, of the two ratios
    only the relative one is made: some benchmarks mean that one by CE.
    """
    table = corruption_table(
        clean_rank,
        rank,
        circumstances,
        counted=counted,
        validation=validation,
        reference=reference,
        relative=relative,
        severities=severities,
    )
    return build_scores([table], how or Resampling())


def corruption_table(
    clean_rank: npt.ArrayLike | None,
    rank: npt.ArrayLike,
    circumstances: Circumstances,
    *,
    counted: Sequence[str],
    validation: Sequence[str],
    reference: Reference | None,
    relative: bool = False,
    severities: Sequence[int] = SEVERITIES,
) -> Table:
    """Errors of the best class cell by cell; of the five best, and of the reference, their sums
    over severities, which is all that anything is made of."""
    around = circumstances
    ranks = np.asarray(rank)
    clean_ranks = np.zeros(len(ranks), np.int8) if clean_rank is None else np.asarray(clean_rank)
    check_cells(ranks.shape, clean_ranks.shape, around)
    if reference is not None:
        _check_reference(reference, around, tuple(severities))
        around = replace(around, reference=reference.name)
    cells = wrong(ranks).reshape(len(ranks), -1)
    sums = wrong(ranks, 5).sum(axis=-1, dtype=np.uint8)
    columns = np.column_stack([wrong(clean_ranks), cells, wrong(clean_ranks, 5), sums])
    second = 1 + cells.shape[1]
    top1 = splitter(0, *ranks.shape[1:])
    top5 = sum_splitter(second, *ranks.shape[1:])
    yardstick = None
    if reference is not None:
        theirs = _per_image(reference, around.names)
        yardstick = _yardstick(reference, around, None if theirs is None else columns.shape[1])
        if theirs is not None:
            if len(theirs) != len(columns):
                raise InputError(
                    f"expected errors of {reference.name} on each of the {len(columns):,} images, "
                    f"got {len(theirs):,}"
                )
            columns = np.concatenate([columns, theirs], axis=1)
    formulas = [
        _clean("clean error", top1, columns[:, 0]),
        _clean("clean top-5 error", top5, columns[:, second]),
        *_group(_named(_COUNTED, relative), top1, counted, around, yardstick),
        *_group(_named(_VALIDATION, relative), top1, validation, around, yardstick),
        *_group(_Labels("mean top-5 error"), top5, counted, around, None),
    ]
    for name in around.names:
        labels = _Labels(f"error {name}", f"CE {name}", f"relative CE {name}", f"AUDE {name}")
        formulas += _group(_named(labels, relative), top1, [name], around, yardstick)
    if clean_rank is None:
        formulas = [formula for formula in formulas if not formula.clean]
    return Table(columns, formulas, around)


def _named(labels: _Labels, relative: bool) -> _Labels:
    return labels._replace(ce=None) if relative else labels


def _per_image(reference: Reference, names: Sequence[str]) -> Counts | None:
    """Its columns for these corruptions, where it was measured."""
    if not isinstance(reference, MeasuredReference) or reference.per_image is None:
        return None
    order = list(reference.errors)
    return reference.per_image[:, [0, *(1 + order.index(name) for name in names)]]


def _yardstick(reference: Reference, around: Circumstances, start: int | None) -> Yardstick:
    """Of a measured reference, whose columns begin at `start`, as uncertain as these are."""
    if start is not None:
        split = sum_splitter(start, len(around.names), len(around.levels))
        unknown = np.isnan(reference.clean_error)

        def measured(means: Floats) -> tuple[Floats, Floats]:
            clean, errors = split(means)
            return np.full_like(clean, np.nan) if unknown else clean, errors[..., 0]

        return measured
    exact = np.array([reference.errors[name] for name in around.names])
    return lambda means: (np.asarray(reference.clean_error), exact)


def _clean(name: str, split: Split, errors: Counts) -> Formula:
    interval = proportion_interval(int(errors.sum()), len(errors))
    percent = Interval(100 * interval.low, 100 * interval.high)
    return Formula(name, lambda means: split(means)[0], (), "%", interval=percent, clean=True)


def _group(
    labels: _Labels,
    split: Split,
    wanted: Sequence[str],
    around: Circumstances,
    yardstick: Yardstick | None,
) -> list[Formula]:
    """The formulas that average over some corruptions, as far as these were run."""
    index = positions(wanted, around.names)
    names = tuple(around.names[i] for i in index)
    if not names:
        return []

    def errors(means: Floats) -> Floats:
        return mean_error(split(means)[1][..., index, :])

    found = [Formula(labels.error, lambda means: errors(means).mean(-1), names, "%")]
    if labels.area and around.levels == SEVERITIES:

        def areas(means: Floats) -> Floats:
            clean, cells = split(means)
            return np.asarray(aude(clean, cells[..., index, :]).mean(-1))

        found.append(Formula(labels.area, areas, names, "%", clean=True))
    if yardstick is None:
        return found

    def ces(means: Floats) -> Floats:
        theirs = yardstick(means)[1][..., index]
        return np.asarray(corruption_error(errors(means), positive(theirs)).mean(-1))

    def rises(means: Floats) -> Floats:
        clean = split(means)[0]
        their_clean, theirs = yardstick(means)
        start = their_clean[..., None]
        theirs = positive(theirs[..., index], above=start)
        return np.asarray(
            relative_corruption_error(errors(means), clean, theirs, their_clean).mean(-1)
        )

    if labels.ce:
        found.append(Formula(labels.ce, ces, names, reference=True))
    if labels.relative:
        found.append(Formula(labels.relative, rises, names, reference=True, clean=True))
    return found


def _check_reference(
    reference: Reference, around: Circumstances, severities: tuple[int, ...]
) -> None:
    if around.levels != severities:
        wanted = f"severities 1 to {len(severities)}" if len(severities) > 1 else "severity 1"
        raise InputError(
            f"expected {wanted} for scores against {reference.name}, whose errors are "
            f"means over them, got {', '.join(map(str, around.levels))}; run the others too, or "
            "score without a reference"
        )
    missing = [name for name in around.names if name not in reference.errors]
    if missing:
        raise InputError(
            f"expected errors of {reference.name} for every corruption, got none for "
            f"{', '.join(missing)}; leave these out, or score without a reference"
        )
