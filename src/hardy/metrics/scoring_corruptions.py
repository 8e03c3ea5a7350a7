"""All scores of a model on a suite of corruptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.bootstrap import Interval, Resampling, proportion_interval
from hardy.metrics.classification import Bools, Floats, wrong
from hardy.metrics.corruption import (
    Reference,
    aude,
    corruption_error,
    mean_error,
    relative_corruption_error,
)
from hardy.metrics.formulas import Formula, Split, build_scores, check_cells, positions, splitter
from hardy.metrics.score import Circumstances, Score

SEVERITIES = (1, 2, 3, 4, 5)


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
    how: Resampling | None = None,
) -> dict[str, Score]:
    """Scores by name from ranks of the label: (images,) and (images, corruptions, severities).

    `circumstances.names` and `.levels` name the axes. "mCE", "relative mCE", "mAUDE", "mean error"
    and "mean top-5 error" average over the `counted` corruptions that were run, "validation mCE"
    and "validation error" over the `validation` ones; "CE fog" and so on are single corruptions.
    The interval is the model's: the reference counts as exact. Without clean ranks (None) the
    scores that need them are left out, and so are ratios to a reference that a corruption costs
    nothing.
    """
    around = circumstances
    ranks = np.asarray(rank)
    clean_ranks = np.zeros(len(ranks), np.int8) if clean_rank is None else np.asarray(clean_rank)
    check_cells(ranks.shape, clean_ranks.shape, around)
    if reference is not None:
        _check_reference(reference, around)
        around = replace(around, reference=reference.name)
    parts = []
    for k in (1, 5):
        parts += [wrong(clean_ranks, k)[:, None], wrong(ranks, k).reshape(len(ranks), -1)]
    columns = np.concatenate(parts, axis=1)
    cells = columns.shape[1] // 2
    top1 = splitter(0, *ranks.shape[1:])
    top5 = splitter(cells, *ranks.shape[1:])
    formulas = [
        _clean("clean error", top1, columns[:, 0]),
        _clean("clean top-5 error", top5, columns[:, cells]),
        *_group(_COUNTED, top1, counted, around, reference),
        *_group(_VALIDATION, top1, validation, around, reference),
        *_group(_Labels("mean top-5 error"), top5, counted, around, None),
    ]
    for name in around.names:
        labels = _Labels(f"error {name}", f"CE {name}", f"relative CE {name}", f"AUDE {name}")
        formulas += _group(labels, top1, [name], around, reference)
    if clean_rank is None:
        formulas = [formula for formula in formulas if not formula.clean]
    return build_scores(columns, formulas, around, how or Resampling())


def _clean(name: str, split: Split, errors: Bools) -> Formula:
    interval = proportion_interval(int(errors.sum()), len(errors))
    percent = Interval(100 * interval.low, 100 * interval.high)
    return Formula(name, lambda means: split(means)[0], (), "%", interval=percent, clean=True)


def _group(
    labels: _Labels,
    split: Split,
    wanted: Sequence[str],
    around: Circumstances,
    reference: Reference | None,
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
    if reference is None:
        return found
    yardstick = np.array([reference.errors[name] for name in names])
    start = reference.clean_error

    def ces(means: Floats) -> Floats:
        return np.asarray(corruption_error(errors(means), yardstick).mean(-1))

    def rises(means: Floats) -> Floats:
        clean = split(means)[0]
        ratios = relative_corruption_error(errors(means), clean, yardstick, start)
        return np.asarray(ratios.mean(-1))

    if labels.ce and (yardstick > 0).all():
        found.append(Formula(labels.ce, ces, names, reference=True))
    if labels.relative and (yardstick > start).all():
        found.append(Formula(labels.relative, rises, names, reference=True, clean=True))
    return found


def _check_reference(reference: Reference, around: Circumstances) -> None:
    if around.levels != SEVERITIES:
        raise InputError(
            f"expected severities 1 to 5 for scores against {reference.name}, whose errors are "
            f"means over them, got {', '.join(map(str, around.levels))}; run the others too, or "
            "score without a reference"
        )
    missing = [name for name in around.names if name not in reference.errors]
    if missing:
        raise InputError(
            f"expected errors of {reference.name} for every corruption, got none for "
            f"{', '.join(missing)}; leave these out, or score without a reference"
        )
