"""Numbers in kernels: between bytes and floats in fewer instructions than a conversion and a
division take; sines, angles and powers by the steps of `cpu.maths`, for float64.
"""

from __future__ import annotations

import triton
import triton.language as tl

from hardy.engine import portable

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
# 1 / 255 in two parts. A byte times the first is exact, so the sum of both products is rounded
# once, and it is the quotient's own rounding for all 256 levels (a test enumerates them).
_HIGH_64 = tl.constexpr(float.fromhex("0x1.010101010100p-8"))
_LOW_64 = tl.constexpr(float.fromhex("0x1.010101010101p-56"))
_HIGH_32 = tl.constexpr(float.fromhex("0x1.01p-8"))
_LOW_32 = tl.constexpr(float.fromhex("0x1.010102p-24"))
_TWO_52 = tl.constexpr(2.0**52)
_TWO_52_BITS = tl.constexpr(0x4330000000000000)


@triton.jit
def whole64(number):
    """Whole numbers 0 .. 2**32 - 1 to float64: written into the last bits of 2**52, which goes.

    A conversion runs at a quarter of the speed of this difference.
    """
    bits = number.to(tl.uint32).to(tl.uint64) | _TWO_52_BITS
    return bits.to(tl.float64, bitcast=True) - _TWO_52


@triton.jit
def unit64(levels):
    """level / 255 in float64."""
    whole = whole64(levels)
    return whole * _HIGH_64 + whole * _LOW_64


@triton.jit
def unit32(levels):
    """level / 255 in float32."""
    whole = levels.to(tl.float32)
    return whole * _HIGH_32 + whole * _LOW_32


@triton.jit
def byte_of(unit):
    """clip to 0..1, times 255, truncate."""
    return (tl.minimum(tl.maximum(unit, 0.0), 1.0) * 255.0).to(tl.int32).to(tl.uint8)


@triton.jit
def level_of(value):
    """clip to 0..255, truncate."""
    return tl.minimum(tl.maximum(value, 0.0), 255.0).to(tl.int32).to(tl.uint8)


@triton.jit
def quotient(a, b):
    """a / b, b above 0. A zero divided is itself, but slow: it would hold up 31 other lanes."""
    zero = a == 0.0
    return tl.where(zero, a, tl.where(zero, 1.0, a) / b)


@triton.jit
def _series(x, TERMS: tl.constexpr, COUNT: tl.constexpr):
    total = x * TERMS[COUNT - 1] + TERMS[COUNT - 2]
    for k in tl.static_range(COUNT - 3, -1, -1):
        total = x * total + TERMS[k]
    return total


@triton.jit
def _sine_about(x, multiple, odd):
    """The sine of x less a multiple of pi, or its negative if the last bit of `odd` is set.

    A sign that is flipped in the bits costs no float64 operation.
    """
    r = ((x - multiple * _PI1) - multiple * _PI2) - multiple * _PI3
    value = r * _series(r * r, _SINE, _SINES)
    return (value.to(tl.int64, bitcast=True) ^ (odd << 63)).to(tl.float64, bitcast=True)


@triton.jit
def sine(x):
    whole = x * _INVERSE_PI + _ROUNDER
    return _sine_about(x, whole - _ROUNDER, whole.to(tl.int64, bitcast=True))


@triton.jit
def cosine(x):
    whole = (x * _INVERSE_PI - 0.5) + _ROUNDER
    return _sine_about(x, (whole - _ROUNDER) + 0.5, whole.to(tl.int64, bitcast=True) ^ 1)


@triton.jit
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


@triton.jit
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
