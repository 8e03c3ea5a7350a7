"""Stamps and lengths of ImageNet-NOC as host tables: chosen at 224 pixels, scaled to others.

A length is multiplied by side / 224, rounded (halves up), and at least one pixel; side is the
shorter one. A stamp is a table (pixels, 2) of offsets (row, column) from its place.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from math import radians
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardy.engine import portable
from hardy.engine.portable import Int64

NATIVE = 224
DISC = (6, 6, 5, 5, 4, 3, 1)  # half-widths of its rows, from the middle one outwards
RHOMBUS = 7
MARGIN = 7  # of the places of discs and rhombi from the edge
_ONE = 1 << 16  # 1 in the fixed point of Pillow's affine maps


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _rounded(length: int, side: int) -> int:
    return (2 * length * side + NATIVE) // (2 * NATIVE)


def scaled(length: int, side: int, least: int = 1) -> int:
    """A length at 224 pixels, for another side."""
    return max(_rounded(length, side), least)


@lru_cache(maxsize=256)
def lengths(low: int, high: int, side: int, least: int = 1) -> Int64:
    """`scaled` of low .. high."""
    return _frozen(np.array([scaled(length, side, least) for length in range(low, high + 1)]))


def _table(cells: set[tuple[int, int]]) -> Int64:
    return _frozen(np.array(sorted(cells), np.int64))


def _runs(runs: Iterable[tuple[int, int, int]]) -> Int64:
    """Offsets (pixels, 2) from rows: offset, first and last column."""
    return _table({(row, x) for row, first, last in runs for x in range(first, last + 1)})


@lru_cache(maxsize=64)
def disc(side: int) -> Int64:
    """Each row has the scaled half-width of the row at its place in the disc of 224."""
    last = len(DISC) - 1
    radius = scaled(last, side)
    runs = []
    for row in range(-radius, radius + 1):
        half = _rounded(DISC[(2 * abs(row) * last + radius) // (2 * radius)], side)
        runs.append((row, -half, half))
    return _runs(runs)


@lru_cache(maxsize=64)
def rhombus(side: int) -> Int64:
    """Lop-sided as the reference has it: it reaches one pixel less far to the right."""
    radius = scaled(RHOMBUS, side)
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
    maps = []
    for degrees in [*range(low, high + 1), *range(-low, -high - 1, -1)]:
        cosine, sine = portable.cos_sin(radians(degrees))
        maps.append(_about_the_middle((cosine, sine, -sine, cosine), height, width))
    return _frozen(np.array(maps))


@lru_cache(maxsize=64)
def shears(low: int, high: int, height: int, width: int) -> Int64:
    """Maps (angles, 6) that shear along rows by low .. high degrees, then by the negative ones."""
    maps = []
    for degrees in [*range(low, high + 1), *range(-low, -high - 1, -1)]:
        cosine, sine = portable.cos_sin(radians(degrees))
        maps.append(_about_the_middle((1.0, sine / cosine, 0.0, 1.0), height, width))
    return _frozen(np.array(maps))


def _about_the_middle(
    matrix: tuple[float, float, float, float], height: int, width: int
) -> list[int]:
    """Maps from an output pixel to its source in Pillow's 16-bit fixed point, at pixel centres."""
    a, b, d, e = matrix
    x, y = width / 2, height / 2
    c, f = x - a * x - b * y, y - d * x - e * y
    full = (a, b, c + a * 0.5 + b * 0.5, d, e, f + d * 0.5 + e * 0.5)
    return [int(np.floor(value * _ONE + 0.5)) for value in full]


@lru_cache(maxsize=1024)
def bilinear(n_in: int, n_out: int) -> tuple[Int64, Int64]:
    """Pillow's BILINEAR along one axis: first taps (out,), 22-bit weights (out, taps).

    A triangle as wide as the shrinking, cut at the ends and normalised there; see
    `torch.noc_ops.resample`, which does the same on the device.
    """
    scale = n_in / n_out
    reach = max(scale, 1.0)
    centre = (np.arange(n_out) + 0.5) * scale
    first = np.maximum(np.trunc(centre - reach + 0.5), 0.0)
    last = np.minimum(np.trunc(centre + reach + 0.5), n_in)
    tap = first[:, None] + np.arange(int((last - first).max()))
    weight = np.maximum(1.0 - np.abs((tap - centre[:, None] + 0.5) * (1.0 / reach)), 0.0)
    weight[tap >= last[:, None]] = 0.0
    total = np.zeros(n_out)
    for column in weight.T:
        total = total + column
    weight = np.trunc(weight / total[:, None] * (1 << 22) + 0.5)
    return _frozen(first.astype(np.int64)), _frozen(weight.astype(np.int64))
