"""Stamps and lengths of ImageNet-NOC as host tables: chosen at 224 pixels, scaled to others.

A length is multiplied by side / 224, rounded (halves up), and at least one pixel; side is the
shorter one. A stamp is a table (pixels, 2) of offsets (row, column) from its place.
"""

from collections.abc import Iterable
from functools import lru_cache
from math import radians

import numpy as np

from hardy.engine import portable
from hardy.engine.portable import Int64
from hardy.engine.tables import frozen

NATIVE = 224
DISC = (6, 6, 5, 5, 4, 3, 1)  # half-widths of its rows, from the middle one outwards
_RHOMBUS = 7
MARGIN = 7  # of the places of discs and rhombi from the edge
_ONE = 1 << 16  # 1 in the fixed point of Pillow's affine maps


def _rounded(length: int, side: int) -> int:
    return (2 * length * side + NATIVE) // (2 * NATIVE)


def scaled(length: int, side: int, least: int = 1) -> int:
    """A length at 224 pixels, for another side."""
    return max(_rounded(length, side), least)


@lru_cache(maxsize=256)
def lengths(low: int, high: int, side: int, least: int = 1) -> Int64:
    """`scaled` of low .. high."""
    return frozen(np.array([scaled(length, side, least) for length in range(low, high + 1)]))


def _table(cells: set[tuple[int, int]]) -> Int64:
    return frozen(np.array(sorted(cells), np.int64))


def _runs(runs: Iterable[tuple[int, int, int]]) -> Int64:
    """Offsets (pixels, 2) from rows: offset, first and last column."""
    return _table({(row, x) for row, first, last in runs for x in range(first, last + 1)})


@lru_cache(maxsize=64)
def disc(side: int) -> Int64:
    """Each row has the scaled half-width of the row at its place in the disc of 224."""
    last = len(DISC) - 1
    radius = scaled(last, side)
    rows = range(-radius, radius + 1)
    native = [DISC[(2 * abs(row) * last + radius) // (2 * radius)] for row in rows]
    halves = [_rounded(half, side) for half in native]
    return _runs((row, -half, half) for row, half in zip(rows, halves, strict=True))


@lru_cache(maxsize=64)
def rhombus(side: int) -> Int64:
    """Lop-sided as the reference has it: it reaches one pixel less far to the right."""
    radius = scaled(_RHOMBUS, side)
    runs = [(row, abs(row) - radius, radius - abs(row) - 1) for row in range(-radius, radius)]
    return _runs([*runs, (0, 0, 0)])


@lru_cache(maxsize=64)
def dash(side: int, upright: bool = False) -> Int64:
    """Five columns, three rows; upright they are exchanged."""
    half = _rounded(2, side)
    return _thick(range(-half, half + 1), side, upright)


@lru_cache(maxsize=64)
def dots(first: int, side: int, upright: bool = False) -> Int64:
    """Five dots, two columns apart from `first` on; three rows; upright they are exchanged."""
    wide = scaled(1, side)
    starts = [_rounded(offset, side) for offset in range(first, first + 10, 2)]
    return _thick([start + k for start in starts for k in range(wide)], side, upright)


def _thick(places: Iterable[int], side: int, upright: bool) -> Int64:
    half = _rounded(1, side)
    cells = {(across, place) for across in range(-half, half + 1) for place in places}
    return _table({(place, across) for across, place in cells} if upright else cells)


@lru_cache(maxsize=64)
def turns(low: int, high: int, height: int, width: int) -> Int64:
    """Maps (angles, 6) that rotate by low .. high degrees, then by the negative angles."""
    pairs = _cosines_and_sines(low, high)
    return _about_the_centre([(c, s, -s, c) for c, s in pairs], height, width)


@lru_cache(maxsize=64)
def shears(low: int, high: int, height: int, width: int) -> Int64:
    """Maps (angles, 6) that shear along rows by low .. high degrees, then by the negative ones."""
    pairs = _cosines_and_sines(low, high)
    return _about_the_centre([(1.0, s / c, 0.0, 1.0) for c, s in pairs], height, width)


def _cosines_and_sines(low: int, high: int) -> list[tuple[float, float]]:
    angles = [*range(low, high + 1), *range(-low, -high - 1, -1)]
    return [portable.cos_sin(radians(degrees)) for degrees in angles]


def _about_the_centre(
    matrices: list[tuple[float, float, float, float]], height: int, width: int
) -> Int64:
    """Maps from an output pixel to its source in Pillow's 16-bit fixed point, at pixel centres.

    The centre is half a pixel past the middle of the image, where torchvision 0.6 had it.
    """
    x, y = width / 2 + 0.5, height / 2 + 0.5
    maps = []
    for a, b, d, e in matrices:
        c, f = x - a * x - b * y, y - d * x - e * y
        maps.append((a, b, c + a * 0.5 + b * 0.5, d, e, f + d * 0.5 + e * 0.5))
    return frozen(np.floor(np.array(maps) * _ONE + 0.5).astype(np.int64))
