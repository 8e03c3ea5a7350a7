"""All calibration scores of a model on a suite of corruptions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from hardy.metrics.bootstrap import Resampling
from hardy.metrics.classification import Floats, Outcomes, brier, calibration_gap, nll, wrong
from hardy.scores.formulas import (
    Formula,
    Split,
    Table,
    build_scores,
    check_cells,
    positions,
    splitter,
)
from hardy.scores.score import Circumstances, Score


def calibration_scores(
    clean: Outcomes | None,
    cells: Outcomes,
    circumstances: Circumstances,
    *,
    counted: Sequence[str],
    how: Resampling | None = None,
) -> dict[str, Score]:
    """Scores by name from what is stored: (images,) and (images, corruptions, severities).

    "NLL", "Brier score" and "ECE" (in percent) are means over all cells of the `counted`
    corruptions, "clean NLL" and so on concern clean images, "NLL fog" and so on one corruption. The
    ECE of a group is the mean of its cells' ECEs: pooled, over- and underconfident cells would
    cancel. Without clean images (None) their scores are left out.
    """
    table = calibration_table(clean, cells, circumstances, counted=counted)
    return build_scores([table], how or Resampling())


def calibration_table(
    clean: Outcomes | None, cells: Outcomes, circumstances: Circumstances, *, counted: Sequence[str]
) -> Table:
    """Per image the mean over severities, which is all that anything is made of."""
    around = replace(circumstances, reference=None)
    for clean_part, part in zip(clean or len(cells) * [None], cells, strict=True):
        clean_shape = np.shape(part)[:1] if clean_part is None else np.shape(clean_part)
        check_cells(np.shape(part), clean_shape, around)
    nothing = [np.zeros((around.images, 1))] * 3
    columns = [
        nothing if clean is None else [one[:, None] for one in _per_image(clean)],
        # There are no severities where just clean images were run.
        [one.sum(axis=-1) / max(1, len(around.levels)) for one in _per_image(cells)],
    ]
    groups: list[tuple[str, Sequence[str]]] = [("{}", counted)]
    groups += [(f"{{}} {name}", [name]) for name in around.names]
    formulas = []
    width = 1 + len(around.names)
    for place, (metric, unit) in enumerate((("NLL", ""), ("Brier score", ""), ("ECE", "%"))):
        scale = 100.0 if unit else 1.0
        split = splitter(place * width, len(around.names), 1)
        if clean is not None:
            formulas.append(Formula(f"clean {metric}", _first(split), (), unit, scale))
        for label, wanted in groups:
            index = positions(wanted, around.names)
            if index:
                names = tuple(around.names[i] for i in index)
                compute = _average(split, index)
                formulas.append(Formula(label.format(metric), compute, names, unit, scale))
    both = [part for pair in zip(*columns, strict=True) for part in pair]
    return Table(np.concatenate(both, axis=1), formulas, around)


def _per_image(outcomes: Outcomes) -> tuple[Floats, Floats, Floats]:
    """NLL, Brier score and a term of the ECE, as the outcomes are shaped."""
    return (
        nll(outcomes.log_prob),
        brier(outcomes.log_prob, outcomes.square_sum),
        calibration_gap(outcomes.confidence, ~wrong(outcomes.rank)),
    )


def _first(split: Split) -> Callable[[Floats], Floats]:
    return lambda means: split(means)[0]


def _average(split: Split, index: list[int]) -> Callable[[Floats], Floats]:
    return lambda means: split(means)[1][..., index, :].mean((-2, -1))
