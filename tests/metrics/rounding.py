"""Interval arithmetic: what a printed number may have been, and what follows from that."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from hardy.suites.published.printed_table import PrintedNumber

# Float arithmetic is not rounded outwards here; this is far below any printed digit and far above
# the error of a few dozen operations.
SLACK = 1e-9


class Range(NamedTuple):
    low: float
    high: float

    def __add__(self, other: Range | float) -> Range:  # type: ignore[override]
        o = exact(other)
        return Range(self.low + o.low, self.high + o.high)

    def __sub__(self, other: Range | float) -> Range:
        o = exact(other)
        return Range(self.low - o.high, self.high - o.low)

    def __mul__(self, other: Range | float) -> Range:  # type: ignore[override]
        o = exact(other)
        ends = [a * b for a in self for b in o]
        return Range(min(ends), max(ends))

    def __truediv__(self, other: Range | float) -> Range:
        o = exact(other)
        assert o.low > 0, "a divisor that may be 0"
        return self * Range(1 / o.high, 1 / o.low)

    def meets(self, other: Range) -> bool:
        """Whether one number may be both."""
        return self.low <= other.high + SLACK and other.low <= self.high + SLACK


def exact(value: Range | float) -> Range:
    return value if isinstance(value, Range) else Range(value, value)


def printed(value: PrintedNumber | None) -> Range:
    """All numbers that round to what was printed."""
    assert value is not None
    return Range(value.value - value.half_step, value.value + value.half_step)


def rounded(value: float, decimals: int) -> Range:
    return Range(value - 0.5 * 10**-decimals, value + 0.5 * 10**-decimals)


def mean(ranges: Iterable[Range]) -> Range:
    ranges = list(ranges)
    return Range(
        sum(r.low for r in ranges) / len(ranges), sum(r.high for r in ranges) / len(ranges)
    )
