"""Bilinear sampling: zooms, the affine warp, displacement fields.

Mixing as a + t (b - a) keeps flat areas exact in float32, where a last bit would decide a byte.
Indices are unsigned: a signed one may be negative, and checking for that stops vectorisation.
"""

from __future__ import annotations

import numpy as np

from hardy.arrays.cpu.compile import kernel


@kernel
def zoom_mean_bytes(images, rows, row_weights, places, place_weights, out):
    """Mean of the image and its K zooms, summed in float32 in list order.

    rows (K, H) and places (K, W) are first taps, in rows and in values of a row; the second tap is
    the next pixel. The first zoom is the image itself, which therefore counts twice.
    """
    n, height, width, _ = images.shape
    values = 3 * width
    step = np.uint32(3)
    unit = np.empty((height, values), np.float32)
    total = np.empty((height, values), np.float32)
    line = np.empty(values, np.float32)
    one, full = np.float32(1.0), np.float32(255.0)
    divisor = np.float32(len(rows) + 1)
    for i in range(n):
        for y in range(height):
            source, row, goal = images[i, y].reshape(-1), unit[y], total[y]
            for x in range(values):
                row[x] = np.float32(source[x]) / full
                goal[x] = row[x]
        for k in range(1, len(rows)):
            place, weight = places[k], place_weights[k]
            start, stop = place[0], place[width - 1] + np.uint32(6)
            for y in range(height):
                first = rows[k, y]
                top, bottom = unit[first, start:stop], unit[first + np.uint32(1), start:stop]
                part, t = line[start:stop], row_weights[k, y]
                for x in range(len(part)):
                    part[x] = top[x] + t * (bottom[x] - top[x])
                goal = total[y]
                for x in range(width):
                    p, t = place[x], weight[x]
                    for c in range(3):
                        channel = np.uint32(c)
                        left = line[p + channel]
                        mixed = left + t * (line[p + channel + step] - left)
                        goal[3 * x + c] = goal[3 * x + c] + mixed
        for y in range(height):
            row, goal, target = unit[y], total[y], out[i, y].reshape(-1)
            for x in range(values):
                mean = (row[x] + goal[x]) / divisor
                target[x] = np.uint8(np.int32(min(mean, one) * full))


@kernel
def zoom_fields(fields, first_y, weight_y, first_x, weight_x, out):
    """Order-1 zoom of float64 fields (N, h, w), in SciPy's order of products and sums."""
    n, height, width = out.shape
    for i in range(n):
        field = fields[i]
        for y in range(height):
            top, bottom = field[first_y[y]], field[first_y[y] + 1]
            down1 = weight_y[y]
            down0 = 1.0 - down1
            for x in range(width):
                p, along1 = first_x[x], weight_x[x]
                along0 = 1.0 - along1
                out[i, y, x] = (
                    (top[p] * down0) * along0
                    + (top[p + 1] * down0) * along1
                    + (bottom[p] * down1) * along0
                    + (bottom[p + 1] * down1) * along1
                )


@kernel
def _fold(line, side, first, step, low, high, fraction):
    """See _taps; True if a coordinate was too far out for folding once at each end."""
    last = 2.0 * side - 2.0 - first
    far = False
    for x in range(len(line)):
        before = np.floor(line[x])
        fraction[x] = np.float32(line[x] - before)
        far |= (before < -side) | (before >= last)
        after = before + 1.0
        before, after = max(before, first - before), max(after, first - after)
        # Clamped once more: a coordinate that is no number must not read outside the image.
        low[x] = step * min(max(np.int32(min(before, last - before)), 0), side - 1)
        high[x] = step * min(max(np.int32(min(after, last - after)), 0), side - 1)
    return far


@kernel
def _taps(line, side, first, step, low, high, fraction):
    """For coordinates along one axis: offsets (index times step) of both pixels, and the fraction.

    Outside, an index is reflected: with first = 0 about the edge pixel's centre (reflect-101),
    with first = -1 about its outer edge. In float64 that is exact and has no branches; the rare
    line that reaches beyond one reflection is shifted by whole periods, which is exact too.
    """
    if _fold(line, side, first, step, low, high, fraction):
        period = 2.0 * (side - 1 - first)
        for x in range(len(line)):
            line[x] -= period * np.floor((np.floor(line[x]) - first) / period)
        _fold(line, side, first, step, low, high, fraction)


@kernel
def _mix(source, top, bottom, down, left, right, along, goal):
    """goal = bilinear mixtures of four pixels each of a flat float32 image."""
    for x in range(len(along)):
        a, b, c, d = top[x] + left[x], top[x] + right[x], bottom[x] + left[x], bottom[x] + right[x]
        t, u = along[x], down[x]
        for k in range(3):
            channel = np.uint32(k)
            upper, lower = source[a + channel], source[c + channel]
            upper = upper + t * (source[b + channel] - upper)
            lower = lower + t * (source[d + channel] - lower)
            goal[3 * x + k] = upper + u * (lower - upper)


@kernel
def elastic_bytes(images, inverses, down, along, out):
    """Affine warp (inverse maps (N, 2, 3), reflect-101), then sample at the displaced places.

    Displacements are float32 (N, H, W), added to the pixel's place in float64; the border of the
    second step repeats the edge pixel. Both steps are exact bilinear and stored as float32.
    """
    n, height, width, _ = images.shape
    values = 3 * width
    unit, warped = np.empty(height * values, np.float32), np.empty(height * values, np.float32)
    line = np.empty(values, np.float32)
    at_x, at_y = np.empty(width), np.empty(width)
    left, right, across = (
        np.empty(width, np.uint32),
        np.empty(width, np.uint32),
        np.empty(width, np.float32),
    )
    top, bottom, below = (
        np.empty(width, np.uint32),
        np.empty(width, np.uint32),
        np.empty(width, np.float32),
    )
    zero, one, full = np.float32(0.0), np.float32(1.0), np.float32(255.0)
    for i in range(n):
        source = images[i].reshape(-1)
        for k in range(len(unit)):
            unit[k] = np.float32(source[k]) / full
        m = inverses[i]
        for y in range(height):
            for x in range(width):
                at_x[x] = m[0, 0] * x + m[0, 1] * y + m[0, 2]
                at_y[x] = m[1, 0] * x + m[1, 1] * y + m[1, 2]
            _taps(at_x, width, 0.0, 3, left, right, across)
            _taps(at_y, height, 0.0, 3 * width, top, bottom, below)
            goal = warped[y * values : (y + 1) * values]
            _mix(unit, top, bottom, below, left, right, across, goal)
        for y in range(height):
            for x in range(width):
                at_x[x], at_y[x] = x + np.float64(along[i, y, x]), y + np.float64(down[i, y, x])
            _taps(at_x, width, -1.0, 3, left, right, across)
            _taps(at_y, height, -1.0, 3 * width, top, bottom, below)
            _mix(warped, top, bottom, below, left, right, across, line)
            target = out[i, y].reshape(-1)
            for x in range(values):
                target[x] = np.uint8(np.int32(min(max(line[x], zero), one) * full))
