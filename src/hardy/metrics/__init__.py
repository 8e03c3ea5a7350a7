"""Predictions to numbers, with NumPy alone.

Per-image numbers (`classification`, `stability`) are averaged over images, formulas turn means into
metrics (`corruption`, `stability`), and `outcome_scores` (with its halves `corruption_scores` and
`calibration_scores`) and `sequence_scores` do that for all metrics at once, with intervals. What
others published is in `hardy.metrics.published`.
"""

from hardy.metrics.bootstrap import (
    Interval,
    Resampling,
    percentile_interval,
    proportion_interval,
    resample_means,
)
from hardy.metrics.classification import (
    Outcomes,
    brier,
    expected_calibration_error,
    nll,
    top_k_error,
    wrong,
)
from hardy.metrics.corruption import (
    MeasuredReference,
    Reference,
    aude,
    corruption_error,
    mean_error,
    measure_reference,
    relative_corruption_error,
)
from hardy.metrics.median import median_interval
from hardy.metrics.paired import McNemar, mcnemar
from hardy.metrics.score import Circumstances, Comparison, Score, compare, differences
from hardy.metrics.scoring_calibration import calibration_scores
from hardy.metrics.scoring_corruptions import corruption_scores
from hardy.metrics.scoring_outcomes import outcome_scores
from hardy.metrics.scoring_sequences import (
    MeasuredFlips,
    measure_flips,
    movement_scores,
    movements,
    sequence_scores,
)
from hardy.metrics.ssim import ms_ssim
from hardy.metrics.stability import (
    FlipReference,
    flips,
    ranks,
    ranks_after,
    top5_distance,
    top5_distances,
    zipf_columns,
    zipf_distance,
    zipf_distances,
)
from hardy.metrics.subset import stratified_subset

__all__ = [
    "Circumstances",
    "Comparison",
    "FlipReference",
    "Interval",
    "McNemar",
    "MeasuredFlips",
    "MeasuredReference",
    "Outcomes",
    "Reference",
    "Resampling",
    "Score",
    "aude",
    "brier",
    "calibration_scores",
    "compare",
    "corruption_error",
    "corruption_scores",
    "differences",
    "expected_calibration_error",
    "flips",
    "mcnemar",
    "mean_error",
    "measure_flips",
    "measure_reference",
    "median_interval",
    "movement_scores",
    "movements",
    "ms_ssim",
    "nll",
    "outcome_scores",
    "percentile_interval",
    "proportion_interval",
    "ranks",
    "ranks_after",
    "relative_corruption_error",
    "resample_means",
    "sequence_scores",
    "stratified_subset",
    "top5_distance",
    "top5_distances",
    "top_k_error",
    "wrong",
    "zipf_columns",
    "zipf_distance",
    "zipf_distances",
]
