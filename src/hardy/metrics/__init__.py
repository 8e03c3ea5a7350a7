"""Predictions to numbers, with NumPy alone: the registry of metrics, and the bootstrap."""

from hardy.metrics import calibration, stability  # which register their metrics
from hardy.metrics.bootstrap import (
    Interval,
    Resampling,
    percentile_interval,
    proportion_interval,
    resample_means,
)
from hardy.metrics.classification import error, wrong
from hardy.metrics.metric import METRICS, Metric, metric
from hardy.metrics.subset import stratified_subset

__all__ = [
    "METRICS",
    "Interval",
    "Metric",
    "Resampling",
    "calibration",
    "error",
    "metric",
    "percentile_interval",
    "proportion_interval",
    "resample_means",
    "stability",
    "stratified_subset",
    "wrong",
]
