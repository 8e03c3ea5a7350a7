"""Scores straight from arrays, without a store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hardy.metrics import METRICS, Metric, Resampling, error
from hardy.scores.columns import Measured, ReferenceNumbers
from hardy.scores.formulas import make_scores
from hardy.scores.score import Circumstances, Score

ERRORS = [METRICS[name] for name in ("error", "top-5 error", "CE", "relative CE", "AUDE")]
CALIBRATION = [METRICS[name] for name in ("NLL", "Brier score", "ECE")]
MOVES = [METRICS[name] for name in ("FP", "uT5D", "FR", "T5D")]
ZIPF = METRICS["Zipf"]

Columns = Mapping[str, Any]


def measure(clean: Columns | None, cells: Columns, metrics: Sequence[Metric[...]]) -> dict:
    """Numbers by metric, from columns (images,) and (images, corruptions, severities)."""

    def numbers(metric: Metric[...], columns: Columns) -> Any:
        return metric(*(np.asarray(columns[name]) for name in metric.needs))

    return {
        one.name: Measured(None if clean is None else numbers(one, clean), numbers(one, cells))
        for base in metrics
        if base.of is None
        for one in (base, base.beneath)
        if one is not None
    }


def score_columns(
    clean: Columns | None,
    cells: Columns,
    around: Circumstances,
    metrics: Sequence[Metric[...]],
    **settings: Any,
) -> dict[str, Score]:
    return make_scores(measure(clean, cells, metrics), around, metrics, **settings)[0]


def corruption_scores(
    clean_rank: Any, rank: Any, around: Circumstances, **settings: Any
) -> dict[str, Score]:
    clean = None if clean_rank is None else {"rank": clean_rank}
    return score_columns(clean, {"rank": rank}, around, ERRORS, **settings)


def published(name: str, clean: float, errors: Mapping[str, float]) -> ReferenceNumbers:
    return ReferenceNumbers(name, {"error": (clean, errors)})


def measured(name: str, clean_rank: Any, rank: Any) -> ReferenceNumbers:
    clean = None if clean_rank is None else {"rank": clean_rank}
    return ReferenceNumbers(name, measured=measure(clean, {"rank": rank}, [error]))


def moves(
    top5: Columns, difficulty: int = 1, zipf: Columns | None = None
) -> tuple[dict[str, Measured], list[Metric[...]]]:
    """Numbers by metric, from the best classes per frame, perturbation -> (images, frames, 5)."""
    metrics = MOVES if zipf is None else [*MOVES, ZIPF]
    found = {}
    for metric in (one for one in metrics if one.of is None):
        columns = []
        for name, best in top5.items():
            frames = {"top1": best[..., 0], "top5": best, "zipf": zipf and zipf[name]}
            values = [frames[column] for column in metric.needs]
            how: dict[str, Any] = {"noise": "noise" in name, "difficulty": difficulty}
            columns.append(metric(*values, **how))
        found[metric.name] = Measured(None, np.stack(columns, axis=1)[..., None])
    return found, metrics


def moving(name: str, top5: Columns) -> ReferenceNumbers:
    """A reference that was measured on sequences."""
    return ReferenceNumbers(name, measured=moves(top5)[0])


def sequence_scores(
    top5: Columns,
    around: Circumstances,
    *,
    zipf: Columns | None = None,
    counted: Sequence[str],
    validation: Sequence[str] = (),
    reference: ReferenceNumbers | None = None,
    how: Resampling | None = None,
) -> dict[str, Score]:
    found, metrics = moves(top5, around.levels[0], zipf)
    settings: dict[str, Any] = {"counted": counted, "validation": validation, "how": how}
    return make_scores(found, around, metrics, reference=reference, **settings)[0]
