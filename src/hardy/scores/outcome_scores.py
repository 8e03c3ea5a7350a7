"""All scores of a model on a suite of corruptions: errors and calibration."""

from __future__ import annotations

from collections.abc import Sequence

from hardy.metrics.bootstrap import Resampling
from hardy.metrics.classification import Outcomes
from hardy.metrics.corruption_error import Reference
from hardy.scores.calibration_scores import calibration_table
from hardy.scores.error_scores import SEVERITIES, corruption_table
from hardy.scores.formulas import build_scores
from hardy.scores.score import Circumstances, Score


def outcome_scores(
    clean: Outcomes | None,
    cells: Outcomes,
    circumstances: Circumstances,
    *,
    counted: Sequence[str],
    validation: Sequence[str] = (),
    reference: Reference | None = None,
    relative: bool = False,
    severities: Sequence[int] = SEVERITIES,
    how: Resampling | None = None,
) -> dict[str, Score]:
    """What `corruption_scores` and `calibration_scores` give, from one drawing of the images."""
    errors = corruption_table(
        None if clean is None else clean.rank,
        cells.rank,
        circumstances,
        counted=counted,
        validation=validation,
        reference=reference,
        relative=relative,
        severities=severities,
    )
    calibration = calibration_table(clean, cells, circumstances, counted=counted)
    return build_scores([errors, calibration], how or Resampling())
