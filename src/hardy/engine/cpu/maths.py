"""Units, sines, angles and powers for kernels: the steps of `portable`, one number at a time.

Straight lines without branches or loops, which the compiler turns into vector code.
"""

from __future__ import annotations

import numpy as np

from hardy.engine import portable
from hardy.engine.cpu.compile import kernel

_PI, _HALF_PI, _INVERSE_PI = portable.PI, portable.HALF_PI, portable.INVERSE_PI
_PI1, _PI2, _PI3 = portable.PI_PARTS
_S0, _S1, _S2, _S3, _S4, _S5, _S6, _S7, _S8, _S9, _S10 = portable.SINE_TERMS
_A0, _A1, _A2, _A3, _A4, _A5, _A6, _A7, _A8, _A9, _A10, _A11 = portable.ARCTAN_TERMS
_L0, _L1, _L2, _L3, _L4, _L5, _L6, _L7, _L8, _L9, _L10, _L11 = portable.LOG_TERMS
_E0, _E1, _E2, _E3, _E4, _E5, _E6, _E7, _E8, _E9, _E10, _E11, _E12, _E13 = portable.EXP_TERMS
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
def _sine_near(r):
    """r within pi/2 of zero."""
    q = r * r
    total = q * _S10 + _S9
    total = q * total + _S8
    total = q * total + _S7
    total = q * total + _S6
    total = q * total + _S5
    total = q * total + _S4
    total = q * total + _S3
    total = q * total + _S2
    total = q * total + _S1
    return r * (q * total + _S0)


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
    q = t * t
    total = q * _A11 + _A10
    total = q * total + _A9
    total = q * total + _A8
    total = q * total + _A7
    total = q * total + _A6
    total = q * total + _A5
    total = q * total + _A4
    total = q * total + _A3
    total = q * total + _A2
    total = q * total + _A1
    angle = 4.0 * (t * (q * total + _A0))
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
    q = s * s
    total = q * _L11 + _L10
    total = q * total + _L9
    total = q * total + _L8
    total = q * total + _L7
    total = q * total + _L6
    total = q * total + _L5
    total = q * total + _L4
    total = q * total + _L3
    total = q * total + _L2
    total = q * total + _L1
    x = (k * _LN2_HIGH + (s * (q * total + _L0) + k * _LN2_LOW)) * exponent
    n = (x * _INVERSE_LN2 + _ROUNDER) - _ROUNDER
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    total = r * _E13 + _E12
    total = r * total + _E11
    total = r * total + _E10
    total = r * total + _E9
    total = r * total + _E8
    total = r * total + _E7
    total = r * total + _E6
    total = r * total + _E5
    total = r * total + _E4
    total = r * total + _E3
    total = r * total + _E2
    total = r * total + _E1
    total = r * total + _E0
    return total * np.int64((np.int64(n) + _1023) << _52).view(np.float64)
