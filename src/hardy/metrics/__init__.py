"""Predictions to numbers, with NumPy alone: the registry of metrics, and the bootstrap."""

from hardy.metrics import calibration as calibration  # these three register their metrics
from hardy.metrics import natural_shifts as natural_shifts
from hardy.metrics import stability as stability
from hardy.metrics.bootstrap import Resampling as Resampling
from hardy.metrics.bootstrap import resample_means as resample_means
from hardy.metrics.classification import error as error
from hardy.metrics.classification import wrong as wrong
from hardy.metrics.corrupted_performance import mpc as mpc
from hardy.metrics.corrupted_performance import rpc as rpc
from hardy.metrics.intervals import Interval as Interval
from hardy.metrics.intervals import percentile_interval as percentile_interval
from hardy.metrics.intervals import proportion_interval as proportion_interval
from hardy.metrics.metric import METRICS as METRICS
from hardy.metrics.metric import Metric as Metric
from hardy.metrics.metric import metric as metric
from hardy.metrics.subset import stratified_subset as stratified_subset
