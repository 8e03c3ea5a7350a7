"""e**x to the last bit, in integer arithmetic, without any library of ours or others."""

from __future__ import annotations

from fractions import Fraction
from functools import cache


@cache
def exact_exp(x: float) -> float:
    """The double nearest to e**x: a Taylor series in 400-bit integers, e**x = (e**(x/2**k))**2**k.

    Fractions turn into floats by correct rounding.
    """
    bits, halvings = 400, 10
    reduced = (abs(Fraction(x)) / 2**halvings * 2**bits).__floor__()
    term = total = 1 << bits
    k = 1
    while term:
        term = term * reduced // k >> bits
        total, k = total + term, k + 1
    for _ in range(halvings):
        total = total * total >> bits
    value = Fraction(total, 1 << bits)
    return float(value if x >= 0 else 1 / value)
