"""Bilinear sampling: zooms, the affine warp, displacement fields.

Where places are far apart, pixels are packed as four float32 (red, green, blue, nothing): one pixel
is then one short vector, which the straight-line code below lets the compiler see. Mixing as
a + t (b - a) keeps flat areas exact in float32, where a last bit would decide a byte.
Indices are unsigned: a signed one may be negative, and checking for that stops vectorisation.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardy.engine.cpu.compile import kernel
from hardy.engine.cpu.lanes import LANES, add_mixed
from hardy.engine.cpu.maths import single_unit
from hardy.engine.tables import filter_weights as tables

_1, _2, _3, _4 = np.uint32(1), np.uint32(2), np.uint32(3), np.uint32(4)
_5, _6, _7 = np.uint32(5), np.uint32(6), np.uint32(7)


@kernel
def _pack(image, packed):
    """Bytes (H, W, 3) to flat float32 in 0..1, four to a pixel."""
    source = image.reshape(-1)
    for p in range(source.size // 3):
        packed[4 * p] = single_unit(source[3 * p])
        packed[4 * p + 1] = single_unit(source[3 * p + 1])
        packed[4 * p + 2] = single_unit(source[3 * p + 2])
        packed[4 * p + 3] = np.float32(0.0)


@kernel
def _unpack(packed, image):
    """Flat float32, four to a pixel, to bytes: clip, times 255, truncate.

    All four values of a block become bytes first, which vectorises; every fourth is then left out.
    """
    goal = image.reshape(-1)
    zero, one, full = np.float32(0.0), np.float32(1.0), np.float32(255.0)
    block = 256
    levels = np.empty(4 * block, np.uint8)
    for start in range(0, goal.size // 3, block):
        source, target = packed[4 * start : 4 * (start + block)], goal[3 * start :]
        for k in range(len(source)):
            levels[k] = np.uint8(np.int32(min(max(source[k], zero), one) * full))
        for p in range(len(source) // 4):
            target[3 * p] = levels[4 * p]
            target[3 * p + 1] = levels[4 * p + 1]
            target[3 * p + 2] = levels[4 * p + 2]


@kernel
def _zoom_mean_bytes(images, rows, row_weights, weights, counts, targets, sources, out):
    """Mean of the image and its K zooms, summed in float32 in list order.

    rows (K, H) are first taps; the second is the next row. Along a row, zoom k is made of counts[k]
    pieces of neighbours: see _pieces. The first zoom is the image itself, which counts twice.
    """
    n, height, width, _ = images.shape
    values, step = 3 * width, np.uint64(3)
    unit = np.empty((height, values), np.float32)
    line = np.zeros(values + 3 + LANES, np.float32)
    total, more = np.empty(values + LANES, np.float32), np.empty(values + LANES, np.float32)
    divisor, one, full = np.float32(len(rows) + 1), np.float32(1.0), np.float32(255.0)
    for i in range(n):
        levels, units = images[i].reshape(-1), unit.reshape(-1)
        for k in range(len(units)):
            units[k] = single_unit(levels[k])
        # Row by row, so that the sum stays in the nearest cache for all zooms.
        for y in range(height):
            here, goal = unit[y], out[i, y].reshape(-1)
            total[:values] = here
            for k in range(1, len(rows)):
                top, bottom, t = unit[rows[k, y]], unit[rows[k, y] + 1], row_weights[k, y]
                for x in range(values):
                    line[x] = top[x] + t * (bottom[x] - top[x])
                weight = weights[k]
                # From one sum to another: what a piece leaves behind its end, the next one mends.
                for piece in range(counts[k]):
                    source, target = sources[k, piece], targets[k, piece]
                    add_mixed(total, line, source, step, weight, target, more)
                total, more = more, total
            for x in range(values):
                value = (here[x] + total[x]) / divisor
                goal[x] = np.uint8(np.int32(min(value, one) * full))


@kernel
def zoom_fields(fields, first_y, weight_y, first_x, weight_x, out):
    """Order-1 zoom of float64 fields (N, h, w), in SciPy's order of products and sums.

    A row is gathered once for all rows that it becomes; two of them are at hand.
    """
    n, height, width = out.shape
    first, second, held = np.empty((2, width)), np.empty((2, width)), np.empty(2, np.int64)
    for i in range(n):
        held[:] = -1
        for y in range(height):
            for row in range(first_y[y], first_y[y] + 2):
                if held[row % 2] != row:
                    held[row % 2] = row
                    _gather_pairs(fields[i, row], first_x, first[row % 2], second[row % 2])
            top, bottom = first_y[y] % 2, (first_y[y] + 1) % 2
            a, b, c, d = first[top], second[top], first[bottom], second[bottom]
            down1 = weight_y[y]
            down0 = 1.0 - down1
            goal = out[i, y]
            for x in range(width):
                along1 = weight_x[x]
                along0 = 1.0 - along1
                goal[x] = (
                    (a[x] * down0) * along0
                    + (b[x] * down0) * along1
                    + (c[x] * down1) * along0
                    + (d[x] * down1) * along1
                )


@kernel
def _gather_pairs(line, places, first, second):
    for x in range(len(places)):
        first[x], second[x] = line[places[x]], line[places[x] + 1]


@kernel
def _fold(line, side, first, step, low, high, fraction):
    """See _taps; True if a coordinate was too far out for folding once at each end."""
    last = 2.0 * side - 2.0 - first
    edge, end, inner = np.int32(first), np.int32(last), np.int32(side - 1)
    stride, zero, one = np.int32(step), np.int32(0), np.int32(1)
    far = False
    for x in range(len(line)):
        floor = np.floor(line[x])
        fraction[x] = np.float32(line[x] - floor)
        far |= (floor < -side) | (floor >= last)
        # Cast at every step: 32-bit lanes are twice as many as numba's 64-bit ones.
        before = np.int32(floor)
        after = np.int32(before + one)
        before, after = max(before, np.int32(edge - before)), max(after, np.int32(edge - after))
        before, after = min(before, np.int32(end - before)), min(after, np.int32(end - after))
        # Clamped once more: a coordinate that is no number must not read outside the image.
        low[x] = np.int32(stride * min(max(before, zero), inner))
        high[x] = np.int32(stride * min(max(after, zero), inner))
    return far


@kernel
def _taps(line, side, first, step, low, high, fraction):
    """Offsets (index times step) of both pixels about coordinates along one axis, and the fraction.

    Outside, an index is reflected: with first = 0 about the edge pixel's centre (reflect-101),
    with first = -1 about its outer edge, without branches; the rare line that reaches beyond one
    reflection is shifted by whole periods, which is exact.
    """
    if _fold(line, side, first, step, low, high, fraction):
        period = 2.0 * (side - 1 - first)
        for x in range(len(line)):
            line[x] -= period * np.floor((np.floor(line[x]) - first) / period)
        _fold(line, side, first, step, low, high, fraction)


@kernel
def _mix(source, top, bottom, down, left, right, along, goal):
    """goal = bilinear mixtures of four pixels each of a packed image."""
    for x in range(len(along)):
        a, b, c, d = top[x] + left[x], top[x] + right[x], bottom[x] + left[x], bottom[x] + right[x]
        t, u, q = along[x], down[x], np.uint32(4 * x)
        a0, a1, a2, a3 = source[a], source[a + _1], source[a + _2], source[a + _3]
        b0, b1, b2, b3 = source[b], source[b + _1], source[b + _2], source[b + _3]
        c0, c1, c2, c3 = source[c], source[c + _1], source[c + _2], source[c + _3]
        d0, d1, d2, d3 = source[d], source[d + _1], source[d + _2], source[d + _3]
        a0, a1, a2, a3 = (
            a0 + t * (b0 - a0),
            a1 + t * (b1 - a1),
            a2 + t * (b2 - a2),
            a3 + t * (b3 - a3),
        )
        c0, c1, c2, c3 = (
            c0 + t * (d0 - c0),
            c1 + t * (d1 - c1),
            c2 + t * (d2 - c2),
            c3 + t * (d3 - c3),
        )
        goal[q] = a0 + u * (c0 - a0)
        goal[q + _1] = a1 + u * (c1 - a1)
        goal[q + _2] = a2 + u * (c2 - a2)
        goal[q + _3] = a3 + u * (c3 - a3)


@kernel
def elastic_bytes(images, inverses, down, along, out):
    """Affine warp (inverse maps (N, 2, 3), reflect-101), then sample at the displaced places.

    Displacements are float32 (N, H, W), added to the pixel's place in float64; the border of the
    second step repeats the edge pixel. Both steps are exact bilinear and stored as float32.
    """
    n, height, width, _ = images.shape
    values = 4 * width
    unit, warped = np.empty(height * values, np.float32), np.empty(height * values, np.float32)
    at_x, at_y = np.empty(width), np.empty(width)
    left, right = np.empty(width, np.uint32), np.empty(width, np.uint32)
    top, bottom = np.empty(width, np.uint32), np.empty(width, np.uint32)
    across, below = np.empty(width, np.float32), np.empty(width, np.float32)
    for i in range(n):
        _pack(images[i], unit)
        m = inverses[i]
        for y in range(height):
            for x in range(width):
                at_x[x] = m[0, 0] * x + m[0, 1] * y + m[0, 2]
                at_y[x] = m[1, 0] * x + m[1, 1] * y + m[1, 2]
            _taps(at_x, width, 0.0, 4, left, right, across)
            _taps(at_y, height, 0.0, values, top, bottom, below)
            goal = warped[y * values : (y + 1) * values]
            _mix(unit, top, bottom, below, left, right, across, goal)
        for y in range(height):
            for x in range(width):
                at_x[x], at_y[x] = x + np.float64(along[i, y, x]), y + np.float64(down[i, y, x])
            _taps(at_x, width, -1.0, 4, left, right, across)
            _taps(at_y, height, -1.0, values, top, bottom, below)
            goal = unit[y * values : (y + 1) * values]
            _mix(warped, top, bottom, below, left, right, across, goal)
        _unpack(unit, out[i])


def zoom_mean(images: NDArray[np.uint8], factors: Sequence[float]) -> NDArray[np.uint8]:
    out = np.empty_like(images)
    _zoom_mean_bytes(images, *_zoom_tables(*images.shape[1:3], tuple(factors)), out)
    return out


@lru_cache(maxsize=64)
def _zoom_tables(height: int, width: int, factors: tuple[float, ...]) -> tuple[Any, ...]:
    """First rows and second weights of each zoom, (K, H); second weights of each value; pieces."""
    down = [tables.clipped_zoom(height, factor) for factor in factors]
    along = [tables.clipped_zoom(width, factor) for factor in factors]
    rows = np.stack([zoom.top + zoom.first for zoom in down])
    row_weights = np.stack([zoom.weight for zoom in down]).astype(np.float32)
    weights = np.zeros((len(factors), 3 * width + LANES), np.float32)
    weights[:, : 3 * width] = np.repeat([zoom.weight for zoom in along], 3, axis=1)
    return rows, row_weights, weights, *_pieces([zoom.top + zoom.first for zoom in along])


def _pieces(firsts: Sequence[NDArray[np.int64]]) -> tuple[Any, Any, Any]:
    """How many pieces each zoom has, and of each its first value and where that is taken from.

    A zoom enlarges, so pixels next to each other are mostly taken from pixels next to each other;
    where one is taken twice, a new piece begins. A piece is LANES values long, or cut off.
    """
    targets, sources = [], []
    for first in firsts:
        starts = np.flatnonzero(np.diff(first, prepend=first[0] - 2) != 1)
        lengths = np.diff(starts, append=len(first))
        pairs = [
            (3 * start + k, 3 * first[start] + k)
            for start, length in zip(starts, lengths, strict=True)
            for k in range(0, 3 * length, LANES)
        ]
        targets.append([target for target, _ in pairs])
        sources.append([source for _, source in pairs])
    counts = np.array([len(some) for some in targets])
    laid = np.zeros((2, len(firsts), counts.max()), np.uint64)
    for k, count in enumerate(counts):
        laid[:, k, :count] = targets[k], sources[k]
    return counts, laid[0], laid[1]
