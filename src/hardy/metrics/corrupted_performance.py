"""Detection and segmentation under corruptions: mPC and rPC, of any performance such as AP.

Michaelis et al., "Benchmarking Robustness in Object Detection: Autonomous Driving when Winter is
Coming", arXiv:1907.07484. P is the performance in a cell, one corruption c at one severity s:

    mPC = 1/15 Σ_c 1/5 Σ_s P_cs        rPC = mPC / P_clean
"""

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.metrics.classification import Floats


def mpc(performance: npt.ArrayLike) -> Floats:
    """Mean performance under corruption, of an array (..., corruptions, severities)."""
    cells = np.asarray(performance, float)
    if cells.ndim < 2 or not cells.shape[-2] or not cells.shape[-1]:
        raise InputError(
            f"expected performances (..., corruptions, severities), got the shape {cells.shape}"
        )
    _check_finite(cells)
    return np.asarray(cells.mean(axis=-1).mean(axis=-1))


def rpc(performance: npt.ArrayLike, clean: npt.ArrayLike) -> Floats:
    """Relative performance under corruption: the share of the clean one that is left."""
    whole = np.asarray(clean, float)
    _check_finite(whole)
    if not np.all(whole > 0):
        raise InputError(f"expected a clean performance above 0 to divide by, got {whole.min():g}")
    return np.asarray(mpc(performance) / whole)


def _check_finite(values: Floats) -> None:
    if not np.isfinite(values).all():
        raise InputError("expected performances that are numbers, got NaN or infinity")
