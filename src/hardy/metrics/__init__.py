"""Predictions to numbers, with NumPy alone.

Per-image numbers (`classification`, `stability`) are averaged over images, and formulas turn means
into metrics (`corruption_error`, `stability`).
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
    ece,
    error,
    nll,
    top5_error,
    wrong,
)
from hardy.metrics.corruption_error import (
    MeasuredReference,
    Reference,
    aude,
    corruption_error,
    mean_error,
    measure_reference,
    relative_corruption_error,
)
from hardy.metrics.mcnemar import McNemar, mcnemar
from hardy.metrics.median import median_interval
from hardy.metrics.metric import METRICS, Metric, metric
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
    "METRICS",
    "FlipReference",
    "Interval",
    "McNemar",
    "MeasuredReference",
    "Metric",
    "Outcomes",
    "Reference",
    "Resampling",
    "aude",
    "brier",
    "corruption_error",
    "ece",
    "error",
    "flips",
    "mcnemar",
    "mean_error",
    "measure_reference",
    "median_interval",
    "metric",
    "ms_ssim",
    "nll",
    "percentile_interval",
    "proportion_interval",
    "ranks",
    "ranks_after",
    "relative_corruption_error",
    "resample_means",
    "stratified_subset",
    "top5_distance",
    "top5_distances",
    "top5_error",
    "wrong",
    "zipf_columns",
    "zipf_distance",
    "zipf_distances",
]
