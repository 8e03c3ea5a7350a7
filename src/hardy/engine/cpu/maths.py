"""Units, sines, angles and powers for kernels: the steps of `portable`, one number at a time.

No branches, and no loops but over constant terms, which the compiler unrolls: it is vector code.
"""

import numpy as np

from hardy.engine import portable
from hardy.engine.cpu.compile import kernel

_PI, _HALF_PI, _INVERSE_PI = portable.PI, portable.HALF_PI, portable.INVERSE_PI
_PI1, _PI2, _PI3 = portable.PI_PARTS
_SINE, _ARCTAN = portable.SINE_TERMS, portable.ARCTAN_TERMS
_LOG, _EXP = portable.LOG_TERMS, portable.EXP_TERMS
_LN2_HIGH, _LN2_LOW = portable.LN2_HIGH, portable.LN2_LOW
_ROUNDER, _INVERSE_LN2 = portable.ROUNDER, portable.INVERSE_LN2
_ROOT_HALF_BITS, _52, _1023 = map(np.int64, (portable.ROOT_HALF_BITS, 52, 1023))

# 1/255 in two parts: the first has so few bits that its product with a level is exact.
_255TH, _REST = float.fromhex("0x1.01010101p-8"), float.fromhex("0x1.010101010101p-48")
_255TH_SINGLE = np.float32(float.fromhex("0x1.01p-8"))
_REST_SINGLE = np.float32(float.fromhex("0x1.010102p-24"))


@kernel
def unit(level):
    """level / 255 for the 256 levels, to the bit; no table or division slows vector code down."""
    level = np.float64(level)
    return level * _255TH + level * _REST


@kernel
def single_unit(level):
    """The same in float32."""
    level = np.float32(level)
    return level * _255TH_SINGLE + level * _REST_SINGLE


@kernel
def _series(x, terms):
    total = x * terms[-1] + terms[-2]
    for k in range(len(terms) - 3, -1, -1):
        total = x * total + terms[k]
    return total


@kernel
def _sine_near(r):
    """r within pi/2 of zero."""
    return r * _series(r * r, _SINE)


@kernel
def _alternating(n):
    odd = n - 2.0 * ((n * 0.5 + _ROUNDER) - _ROUNDER)
    return 1.0 - 2.0 * (odd * odd)


@kernel
def sine(x):
    n = (x * _INVERSE_PI + _ROUNDER) - _ROUNDER
    return _sine_near(((x - n * _PI1) - n * _PI2) - n * _PI3) * _alternating(n)


@kernel
def cosine(x):
    n = ((x * _INVERSE_PI - 0.5) + _ROUNDER) - _ROUNDER
    m = n + 0.5
    return _sine_near(((x - m * _PI1) - m * _PI2) - m * _PI3) * -_alternating(n)


@kernel
def arctan2(y, x):
    height, width = max(y, -y), max(x, -x)
    longer, shorter = max(height, width), min(height, width)
    t = shorter / (longer if longer > 0.0 else 1.0)
    t = t / (1.0 + np.sqrt(1.0 + t * t))
    t = t / (1.0 + np.sqrt(1.0 + t * t))
    angle = 4.0 * (t * _series(t * t, _ARCTAN))
    angle = _HALF_PI - angle if height > width else angle
    angle = _PI - angle if x < 0.0 else angle
    return -angle if y < 0.0 else angle


@kernel
def power(base, exponent):
    """See ops.power."""
    bits = np.float64(base).view(np.int64)
    octave = (bits - _ROOT_HALF_BITS) >> _52
    mantissa = np.int64(bits - (octave << _52)).view(np.float64)
    k = np.float64(octave)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    x = (k * _LN2_HIGH + (s * _series(s * s, _LOG) + k * _LN2_LOW)) * exponent
    n = (x * _INVERSE_LN2 + _ROUNDER) - _ROUNDER
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    return _series(r, _EXP) * np.int64((np.int64(n) + _1023) << _52).view(np.float64)
