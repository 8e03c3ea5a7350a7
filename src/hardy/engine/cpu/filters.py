"""Gaussian filters: the reference's float64 sums, in its order.

Images are uint8 (N, H, W, 3) and are walked as rows of W*3 values, so the inner loops run over
contiguous memory and vectorise; a step of one pixel is a step of three values.
"""

import numpy as np

from hardy.engine.cpu.compile import kernel
from hardy.engine.cpu.maths import unit

NEAREST, REFLECT = 0, 1


@kernel
def _fold(index, size, border):
    """Index of the pixel that stands for one outside: the edge, or half-sample reflection."""
    if border == NEAREST:
        return min(max(index, 0), size - 1)
    index %= 2 * size
    return index if index < size else 2 * size - 1 - index


@kernel
def _add_pair(line, before, after, weight):
    for x in range(len(line)):
        line[x] = line[x] + (before[x] + after[x]) * weight


@kernel
def _add_pairs(line, before, after, weight, before_next, after_next, weight_next):
    """Two pairs in one pass over the line, added one after the other all the same."""
    for x in range(len(line)):
        first = line[x] + (before[x] + after[x]) * weight
        line[x] = first + (before_next[x] + after_next[x]) * weight_next


@kernel
def _down(rows, height, y, weights, border, line):
    """line = vertical correlation at row y: centre first, then pairs from the outermost inwards.

    rows may be a ring that holds just the rows in reach: row k of the image at k % len(rows).
    """
    ring = len(rows)
    centre = rows[y % ring]
    for x in range(len(line)):
        line[x] = centre[x] * weights[0]
    j = len(weights) - 1
    if j % 2:
        above, below = _fold(y - j, height, border) % ring, _fold(y + j, height, border) % ring
        _add_pair(line, rows[above], rows[below], weights[j])
        j -= 1
    while j > 0:
        _add_pairs(
            line,
            rows[_fold(y - j, height, border) % ring],
            rows[_fold(y + j, height, border) % ring],
            weights[j],
            rows[_fold(y - j + 1, height, border) % ring],
            rows[_fold(y + j - 1, height, border) % ring],
            weights[j - 1],
        )
        j -= 2


@kernel
def _along(line, padded, weights, step, border, out):
    """out = horizontal correlation of a line of pixels `step` values wide."""
    reach = len(weights) - 1
    width = len(line)
    pixels = width // step
    inner = padded[reach * step :]
    for x in range(width):
        inner[x] = line[x]
    for p in range(1, reach + 1):
        before, after = _fold(-p, pixels, border), _fold(pixels - 1 + p, pixels, border)
        for c in range(step):
            padded[(reach - p) * step + c] = line[before * step + c]
            padded[(reach + pixels - 1 + p) * step + c] = line[after * step + c]
    for x in range(width):
        out[x] = line[x] * weights[0]
    j = reach
    if j % 2:
        _add_pair(out, padded, padded[2 * j * step :], weights[j])
        j -= 1
    while j > 0:
        left, right = (reach - j) * step, (reach + j) * step
        _add_pairs(
            out,
            padded[left:],
            padded[right:],
            weights[j],
            padded[left + step :],
            padded[right - step :],
            weights[j - 1],
        )
        j -= 2


@kernel
def blur_bytes(images, weights, out):
    """trunc(255 clip(G(image / 255))), edges replicated."""
    n, height, width, channels = images.shape
    values, reach = width * channels, len(weights) - 1
    ring = np.empty((2 * reach + 1, values))
    line, result = np.empty(values), np.empty(values)
    padded = np.empty(values + 2 * reach * channels)
    for i in range(n):
        ready = 0
        for y in range(height):
            while ready <= min(y + reach, height - 1):
                source, row = images[i, ready].reshape(-1), ring[ready % len(ring)]
                for x in range(values):
                    row[x] = unit(source[x])
                ready += 1
            _down(ring, height, y, weights, NEAREST, line)
            _along(line, padded, weights, channels, NEAREST, result)
            goal = out[i, y].reshape(-1)
            for x in range(values):
                goal[x] = np.uint8(np.int32(min(max(result[x], 0.0), 1.0) * 255.0))


@kernel
def smooth_fields(fields, weights, border, out):
    """Gaussian filter of float64 fields (N, H, W)."""
    n, height, width = fields.shape
    line = np.empty(width)
    padded = np.empty(width + 2 * (len(weights) - 1))
    for i in range(n):
        for y in range(height):
            _down(fields[i], height, y, weights, border, line)
            _along(line, padded, weights, 1, border, out[i, y])


@kernel
def smooth_by_halves(fields, down, along, out):
    """A @ field @ B.T for symmetric filters about as wide as the field.

    Such a filter commutes with mirroring, so the field's even and odd parts along each axis go
    through matrices of half the side: down and along are (2, half, half), even part first.
    """
    n, height, width = fields.shape
    half_h, half_w = down.shape[1], along.shape[1]
    parts = np.empty((4, half_h, half_w))
    turned = np.empty((2, half_w, half_w))
    turned[0], turned[1] = along[0].T, along[1].T
    between = np.empty((half_h, half_w))
    for i in range(n):
        field, result = fields[i], out[i]
        for y in range(half_h):
            top, bottom = field[y], field[height - 1 - y]
            for x in range(half_w):
                a, b = top[x], bottom[x]
                c, d = top[width - 1 - x], bottom[width - 1 - x]
                parts[0, y, x], parts[1, y, x] = (a + b) + (c + d), (a + b) - (c + d)
                parts[2, y, x], parts[3, y, x] = (a - b) + (c - d), (a - b) - (c - d)
        for k in range(4):
            _product(down[k // 2], parts[k], between)
            _product(between, turned[k % 2], parts[k])
        for y in range(half_h):
            top, bottom = result[y], result[height - 1 - y]
            for x in range(half_w):
                a, b = parts[0, y, x] + parts[1, y, x], parts[0, y, x] - parts[1, y, x]
                c, d = parts[2, y, x] + parts[3, y, x], parts[2, y, x] - parts[3, y, x]
                top[x], bottom[x] = (a + c) / 4.0, (a - c) / 4.0
                top[width - 1 - x], bottom[width - 1 - x] = (b + d) / 4.0, (b - d) / 4.0


@kernel
def _product(left, right, out):
    """Matrix product; tiles of 4 x 4 keep the arithmetic in registers, the order stays fixed."""
    rows, inner = left.shape
    out[:] = 0.0
    for y in range(0, rows // 4 * 4, 4):
        o0, o1, o2, o3 = out[y], out[y + 1], out[y + 2], out[y + 3]
        for k in range(0, inner // 4 * 4, 4):
            r0, r1, r2, r3 = right[k], right[k + 1], right[k + 2], right[k + 3]
            a0, a1, a2, a3 = left[y, k], left[y, k + 1], left[y, k + 2], left[y, k + 3]
            b0, b1, b2, b3 = (
                left[y + 1, k],
                left[y + 1, k + 1],
                left[y + 1, k + 2],
                left[y + 1, k + 3],
            )
            c0, c1, c2, c3 = (
                left[y + 2, k],
                left[y + 2, k + 1],
                left[y + 2, k + 2],
                left[y + 2, k + 3],
            )
            d0, d1, d2, d3 = (
                left[y + 3, k],
                left[y + 3, k + 1],
                left[y + 3, k + 2],
                left[y + 3, k + 3],
            )
            for x in range(len(o0)):
                u0, u1, u2, u3 = r0[x], r1[x], r2[x], r3[x]
                o0[x] = (((o0[x] + a0 * u0) + a1 * u1) + a2 * u2) + a3 * u3
                o1[x] = (((o1[x] + b0 * u0) + b1 * u1) + b2 * u2) + b3 * u3
                o2[x] = (((o2[x] + c0 * u0) + c1 * u1) + c2 * u2) + c3 * u3
                o3[x] = (((o3[x] + d0 * u0) + d1 * u1) + d2 * u2) + d3 * u3
        for k in range(inner // 4 * 4, inner):
            for row in range(y, y + 4):
                add_scaled(out[row], right[k], left[row, k])
    for row in range(rows // 4 * 4, rows):
        for k in range(inner):
            add_scaled(out[row], right[k], left[row, k])


@kernel
def add_scaled(line, source, weight):
    for x in range(len(line)):
        line[x] = line[x] + weight * source[x]
