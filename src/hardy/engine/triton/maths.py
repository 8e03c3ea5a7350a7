"""Sines, angles and powers in kernels: the steps of `cpu.maths`, for float64."""

from __future__ import annotations

import triton.language as tl

from hardy.engine import portable
from hardy.engine.triton.stable_jit import jit

PI = tl.constexpr(portable.PI)
TWO_PI = tl.constexpr(2.0 * portable.PI)
_HALF_PI, _INVERSE_PI = tl.constexpr(portable.HALF_PI), tl.constexpr(portable.INVERSE_PI)
_PI1, _PI2, _PI3 = (tl.constexpr(part) for part in portable.PI_PARTS)
_ROUNDER = tl.constexpr(portable.ROUNDER)
_SINE, _SINES = tl.constexpr(portable.SINE_TERMS), tl.constexpr(len(portable.SINE_TERMS))
_ARCTAN, _ARCTANS = tl.constexpr(portable.ARCTAN_TERMS), tl.constexpr(len(portable.ARCTAN_TERMS))
_LOG, _LOGS = tl.constexpr(portable.LOG_TERMS), tl.constexpr(len(portable.LOG_TERMS))
_EXP, _EXPS = tl.constexpr(portable.EXP_TERMS), tl.constexpr(len(portable.EXP_TERMS))
_LN2_HIGH, _LN2_LOW = tl.constexpr(portable.LN2_HIGH), tl.constexpr(portable.LN2_LOW)
_INVERSE_LN2 = tl.constexpr(portable.INVERSE_LN2)
_ROOT_HALF_BITS = tl.constexpr(portable.ROOT_HALF_BITS)


@jit
def quotient(a, b):
    """a / b, b above 0. A zero divided is itself, but slow: it would hold up 31 other lanes."""
    zero = a == 0.0
    return tl.where(zero, a, tl.where(zero, 1.0, a) / b)


@jit
def _series(x, TERMS: tl.constexpr, COUNT: tl.constexpr):
    total = x * TERMS[COUNT - 1] + TERMS[COUNT - 2]
    for k in tl.static_range(COUNT - 3, -1, -1):
        total = x * total + TERMS[k]
    return total


@jit
def _sine_about(x, multiple, odd):
    """The sine of x less a multiple of pi, or its negative if the last bit of `odd` is set.

    A sign that is flipped in the bits costs no float64 operation.
    """
    r = ((x - multiple * _PI1) - multiple * _PI2) - multiple * _PI3
    value = r * _series(r * r, _SINE, _SINES)
    return (value.to(tl.int64, bitcast=True) ^ (odd << 63)).to(tl.float64, bitcast=True)


@jit
def sine(x):
    whole = x * _INVERSE_PI + _ROUNDER
    return _sine_about(x, whole - _ROUNDER, whole.to(tl.int64, bitcast=True))


@jit
def cosine(x):
    whole = (x * _INVERSE_PI - 0.5) + _ROUNDER
    return _sine_about(x, (whole - _ROUNDER) + 0.5, whole.to(tl.int64, bitcast=True) ^ 1)


@jit
def arctan2(y, x):
    height, width = tl.abs(y), tl.abs(x)
    longer = tl.maximum(height, width)
    t = tl.minimum(height, width) / tl.where(longer > 0.0, longer, 1.0)
    t = t / (1.0 + tl.sqrt(1.0 + t * t))
    t = t / (1.0 + tl.sqrt(1.0 + t * t))
    angle = 4.0 * (t * _series(t * t, _ARCTAN, _ARCTANS))
    angle = tl.where(height > width, _HALF_PI - angle, angle)
    angle = tl.where(x < 0.0, PI - angle, angle)
    return tl.where(y < 0.0, -angle, angle)


@jit
def power(base, exponent):
    """See ops.power."""
    bits = base.to(tl.int64, bitcast=True)
    octave = (bits - _ROOT_HALF_BITS) >> 52
    mantissa = (bits - (octave << 52)).to(tl.float64, bitcast=True)
    k = octave.to(tl.int32).to(tl.float64)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    log = s * _series(s * s, _LOG, _LOGS) + k * _LN2_LOW
    x = (k * _LN2_HIGH + log) * exponent
    n = (x * _INVERSE_LN2 + _ROUNDER) - _ROUNDER
    r = (x - n * _LN2_HIGH) - n * _LN2_LOW
    scale = (n.to(tl.int32).to(tl.int64) + 1023) << 52
    return _series(r, _EXP, _EXPS) * scale.to(tl.float64, bitcast=True)
