"""Mathematics that gives the same bits on every machine.

The C library's exp, sin and erf differ in the last bit between platforms, and a threshold or a
truncation turns that bit into a grey level. Here scalars go through `decimal` (correctly rounded
everywhere), and arrays use nothing but IEEE additions, multiplications and divisions, one rounding
each, so NumPy, torch and a GPU agree.
"""

from decimal import Context, Decimal
from functools import lru_cache
from math import factorial
from typing import Any

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
Int64 = NDArray[np.int64]

_PRECISE = Context(prec=40)
_SMALL = Decimal("1e-36")
LN2_HIGH, LN2_LOW = 6.93147180369123816490e-01, 1.90821492927058770002e-10
INVERSE_LN2 = 1.4426950408889634
ROOT_HALF_BITS = 0x3FE6A09E667F3BCD  # of the square root of 1/2 as a float64
_EXP_TERMS = 14
_CDF_TERMS = 60
_TRIG_TERMS = 12
_SQRT_2PI = 2.5066282746310002
_DEGREE = 0.017453292519943295

PI = 3.141592653589793
HALF_PI = 1.5707963267948966
INVERSE_PI = 0.3183098861837907
# Pi in three parts: the first two have 30 bits, so their products with small numbers are exact.
PI_PARTS = (3.141592651605606, 1.984187159194406e-09, 1.6667485837041758e-19)
# Added and taken away again it leaves the nearest whole number, of less than 2**51, a tie the even.
ROUNDER = 6755399441055744.0
SINE_TERMS = tuple((-1.0) ** k / factorial(2 * k + 1) for k in range(11))
ARCTAN_TERMS = tuple((-1.0) ** k / (2 * k + 1) for k in range(12))
LOG_TERMS = tuple(2.0 / (2 * k + 1) for k in range(12))
EXP_TERMS = tuple(1.0 / factorial(k) for k in range(14))


def exp(x: float) -> float:
    """The double nearest to e**x."""
    return float(_PRECISE.exp(Decimal(x)))


def pairwise_sum(values: Float64) -> float:
    """Sum in NumPy's pairwise order, spelled out so that no SIMD variant can change it."""
    n = len(values)
    if n > 128:
        half = n // 2 // 8 * 8
        return pairwise_sum(values[:half]) + pairwise_sum(values[half:])
    if n < 8:
        total = 0.0
        for value in values.tolist():  # not `sum`, which compensates from Python 3.12 on
            total += value
        return float(total)
    whole = n // 8 * 8
    r = values[:8].tolist()
    for start in range(8, whole, 8):
        r = [a + b for a, b in zip(r, values[start : start + 8].tolist(), strict=True)]
    total = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]))
    for value in values[whole:].tolist():
        total += value
    return float(total)


def exp_array(x: Float64) -> Float64:
    """e**x to about one ulp, for arrays; x must not overflow."""
    n = np.rint(x * INVERSE_LN2)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    total = np.ones_like(r)
    for k in range(_EXP_TERMS, 0, -1):
        total = 1.0 + total * (r / k)
    return np.ldexp(total, n.astype(np.int64))


def normal_cdf(z: Float64) -> Float64:
    """Phi(z): the power series within 5 standard deviations, a continued fraction outside."""
    a = np.minimum(np.abs(z), 38.0)
    near = np.minimum(a, 5.0)
    term = near.copy()
    series = near.copy()
    for k in range(1, _CDF_TERMS):
        term = term * (near * near) / (2 * k + 1)
        series = series + term
    far = np.maximum(a, 5.0)
    fraction = far.copy()
    for k in range(_CDF_TERMS, 0, -1):
        fraction = far + k / fraction
    density = exp_array(-0.5 * (a * a)) / _SQRT_2PI
    tail = np.where(a <= 5.0, 0.5 - density * series, density / fraction)
    return np.where(z < 0, tail, 1.0 - tail)


def normal_quantile_of_tail(p: Float64) -> Float64:
    """z >= 0 with 1 - Phi(z) = p, for 0 < p <= 1/2, by bisection: slow, exact, run once."""
    low, high = np.zeros_like(p), np.full_like(p, 8.0)
    for _ in range(60):
        middle = 0.5 * (low + high)
        above = normal_cdf(-middle) > p
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return 0.5 * (low + high)


def cos_sin_degrees(angle: Any) -> tuple[Any, Any]:
    """Cosine and sine of an array of angles within +-135 degrees, by their Taylor series."""
    x = angle * _DEGREE
    square = x * x
    cosine, sine = square * 0.0 + 1.0, square * 0.0 + 1.0
    for k in range(_TRIG_TERMS, 0, -1):
        cosine = 1.0 - cosine * (square * (1.0 / ((2 * k - 1) * (2 * k))))
        sine = 1.0 - sine * (square * (1.0 / ((2 * k) * (2 * k + 1))))
    return cosine, sine * x


@lru_cache(maxsize=512)
def cos_sin(radians: float) -> tuple[float, float]:
    """The doubles nearest to cosine and sine.

    In radians, because the reference rounds there: the cosine of its -120 degrees is a hair off
    -1/2, and where a place is rounded to a pixel the hair decides.
    """
    x = Decimal(radians)
    cosine, sine, term, k = Decimal(0), Decimal(0), Decimal(1), 0
    while abs(term) > _SMALL:
        # cos takes +x^0 - x^2 + ..., sin takes +x^1 - x^3 + ...
        add = _PRECISE.add if k % 4 < 2 else _PRECISE.subtract
        if k % 2:
            sine = add(sine, term)
        else:
            cosine = add(cosine, term)
        k += 1
        term = _PRECISE.divide(_PRECISE.multiply(term, x), Decimal(k))
    return float(cosine), float(sine)


def series(square: Any, terms: tuple[float, ...]) -> Any:
    """terms[0] + square (terms[1] + square (terms[2] + ...)), of an array."""
    total = square * terms[-1] + terms[-2]
    for term in terms[-3::-1]:
        total = square * total + term
    return total


def _from_a_multiple_of_pi(x: Any, n: Any) -> Any:
    return ((x - n * PI_PARTS[0]) - n * PI_PARTS[1]) - n * PI_PARTS[2]


def _alternating(n: Any) -> Any:
    """1 for even, -1 for odd whole numbers."""
    odd = n - 2.0 * ((n * 0.5 + ROUNDER) - ROUNDER)
    return 1.0 - 2.0 * (odd * odd)


def sine(x: Any) -> Any:
    """Sine of an array of float64, |x| < 10**6, to about two units in the last place."""
    n = (x * INVERSE_PI + ROUNDER) - ROUNDER
    r = _from_a_multiple_of_pi(x, n)
    return (r * series(r * r, SINE_TERMS)) * _alternating(n)


def cosine(x: Any) -> Any:
    """Cosine, likewise: about the odd multiple of pi/2 that is nearest, it is a sine."""
    n = ((x * INVERSE_PI - 0.5) + ROUNDER) - ROUNDER
    r = _from_a_multiple_of_pi(x, n + 0.5)
    return (r * series(r * r, SINE_TERMS)) * -_alternating(n)


def arctan2(ops: Any, y: Any, x: Any) -> Any:
    """The angle of (x, y) in -pi..pi; halved twice, the tangent is small enough for the series."""
    height, width = ops.maximum(y, -y), ops.maximum(x, -x)
    steep = height > width
    longer = ops.maximum(height, width)
    tangent = ops.minimum(height, width) / ops.where(longer > 0, longer, 1.0)
    for _ in range(2):
        tangent = tangent / (1.0 + ops.sqrt(1.0 + tangent * tangent))
    angle = 4.0 * (tangent * series(tangent * tangent, ARCTAN_TERMS))
    angle = ops.where(steep, HALF_PI - angle, angle)
    angle = ops.where(x < 0, PI - angle, angle)
    return ops.where(y < 0, -angle, angle)
