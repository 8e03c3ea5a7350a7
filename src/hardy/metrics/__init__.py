"""Predictions to numbers, with NumPy alone: the registry of metrics, and the bootstrap."""

from hardy.metrics.bootstrap import (
    Interval,
    Resampling,
    percentile_interval,
    proportion_interval,
    resample_means,
)
from hardy.metrics.classification import (
    aude,
    brier,
    corruption_error,
    ece,
    error,
    nll,
    relative_corruption_error,
    top5_error,
    wrong,
)
from hardy.metrics.metric import METRICS, Metric, metric
from hardy.metrics.ssim import ms_ssim
from hardy.metrics.stability import (
    flips,
    ranks,
    ranks_after,
    top5_distance,
    top5_distances,
    zipf_columns,
    zipf_distance,
    zipf_distances,
)
from hardy.metrics.statistics import McNemar, mcnemar, median_interval
from hardy.metrics.subset import stratified_subset

__all__ = [
    "METRICS",
    "Interval",
    "McNemar",
    "Metric",
    "Resampling",
    "aude",
    "brier",
    "corruption_error",
    "ece",
    "error",
    "flips",
    "mcnemar",
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
