"""Pixelwise noise as a table: the law of the output byte given the input byte, in closed form.

Each law is an array (256 input levels, 256 output levels) of probabilities. `_alias_table` turns it
into Walker's alias form: one 32-bit word picks column w >> 24 and keeps it if w & 0xFFFFFF is below
the column's threshold, else takes its alias. Probabilities are whole multiples of 2**-32, the
look-up is integer only, and every device gives the same byte.
"""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hardy.engine import portable
from hardy.engine.tables import frozen

_Law = NDArray[np.float64]
AliasTable = NDArray[np.uint32]

_LEVELS = np.arange(256)
_COLUMN = 1 << 24  # what one column of the alias table holds, in units of 2**-32


def _from_survival(at_least: _Law) -> _Law:
    """P(out >= k), k = 1..255, as a law."""
    ones, zeros = np.ones((256, 1)), np.zeros((256, 1))
    return -np.diff(np.concatenate([ones, at_least, zeros], axis=1), axis=1)


def _gaussian_law(sigma: float) -> _Law:
    """trunc(255 clip(x + sigma Z)): at least k where Z >= (k - v) / (255 sigma)."""
    gap = (_LEVELS[:, None] - _LEVELS[1:]) / (255.0 * sigma)
    return _from_survival(portable.normal_cdf(gap))


def _speckle_law(sigma: float) -> _Law:
    """trunc(255 clip(x + x sigma Z)): at least k where Z >= (k - v) / (v sigma); black stays."""
    level = np.maximum(_LEVELS, 1)[:, None]
    survival = portable.normal_cdf((level - _LEVELS[1:]) / (level * sigma))
    survival[0] = 0.0
    return _from_survival(survival)


def _impulse_law(amount: float) -> _Law:
    """Pepper with probability amount/2, salt with amount/2, else unchanged."""
    law = np.eye(256) * (1.0 - amount)
    law[:, 0] += amount / 2
    law[:, 255] += amount / 2
    return law


def _shot_law(photons: float) -> _Law:
    """trunc(255 clip(n / photons)) of a Poisson count n with mean photons * x.

    The byte of each count is computed by that float formula itself: at integer gains (photons 5:
    51 n) rounding decides.
    """
    mean = photons * (_LEVELS / 255.0)
    law = np.zeros((256, 256))
    weight = portable.exp_array(-mean)
    used = np.zeros(256)
    count = 0
    while count < photons:
        law[:, int(min(count / photons, 1.0) * 255)] += weight
        used += weight
        count += 1
        weight = weight * mean / count
    law[:, 255] += np.maximum(1.0 - used, 0.0)
    return law


def _alias_table(law: _Law) -> AliasTable:
    """Walker's table (256, 256), each entry threshold << 8 | alias."""
    edges = np.rint(np.clip(np.cumsum(law, axis=1), 0.0, 1.0) * float(1 << 32)).astype(np.int64)
    edges[:, -1] = 1 << 32
    shares = np.diff(edges, axis=1, prepend=0)
    return np.stack([_alias_row(row) for row in shares.tolist()])


def _alias_row(shares: list[int]) -> AliasTable:
    """Fill 256 columns of equal size, each from at most two levels (Vose's two work lists)."""
    threshold, alias = [_COLUMN - 1] * 256, list(range(256))
    small = [k for k in range(256) if shares[k] < _COLUMN]
    large = [k for k in range(256) if shares[k] > _COLUMN]
    left = list(shares)
    while small:
        column = small.pop()
        donor = large[-1]
        threshold[column], alias[column] = left[column], donor
        left[donor] -= _COLUMN - left[column]
        if left[donor] <= _COLUMN:
            large.pop()
            if left[donor] < _COLUMN:
                small.append(donor)
    return np.array(threshold, np.uint32) << np.uint32(8) | np.array(alias, np.uint32)


LAWS = {
    "gaussian": _gaussian_law,
    "speckle": _speckle_law,
    "impulse": _impulse_law,
    "shot": _shot_law,
}


@lru_cache(maxsize=128)
def noise_table(kind: str, strength: float) -> AliasTable:
    return frozen(_alias_table(LAWS[kind](strength)))
