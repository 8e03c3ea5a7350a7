"""Gaussian filters: the reference's float64 sums, in its order.

Images are uint8 (N, H, W, 3) and are walked as rows of W*3 values, so the inner loops run over
contiguous memory and vectorise; a step of one pixel is a step of three values.
"""

import numpy as np

from hardy.engine.cpu.compile import kernel
from hardy.engine.cpu.doubts import next_doubt, plus
from hardy.engine.cpu.maths import unit

NEAREST, REFLECT = 0, 1
_NARROW = 8  # taps to each side
_FEW = 6  # values of a row


@kernel
def _fold(index, size, border):
    """Index of the pixel that stands for one outside: the edge, or half-sample reflection."""
    if border == NEAREST:
        return min(max(index, 0), size - 1)
    while not 0 <= index < size:
        index = -1 - index if index < 0 else 2 * size - 1 - index
    return index


@kernel
def _correlate(source, places, weights, line):
    """line = the sum of what begins at the places, centre first, then pairs from the outermost in.

    Up to four pairs go in one pass over the line, added one after the other all the same.
    """
    last = len(places) - 1
    reach = last // 2
    centre, w0 = source[places[reach] :], weights[0]
    if reach % 2:
        a, b, w1 = source[places[0] :], source[places[last] :], weights[reach]
        for x in range(len(line)):
            line[x] = plus(centre[x] * w0, a[x] + b[x], w1)
    else:
        for x in range(len(line)):
            line[x] = centre[x] * w0
    k = reach % 2
    if reach // 2 % 2:
        a, b, w1 = source[places[k] :], source[places[last - k] :], weights[reach - k]
        k += 1
        c, d, w2 = source[places[k] :], source[places[last - k] :], weights[reach - k]
        k += 1
        for x in range(len(line)):
            line[x] = plus(plus(line[x], a[x] + b[x], w1), c[x] + d[x], w2)
    while k < reach:
        a, b, w1 = source[places[k] :], source[places[last - k] :], weights[reach - k]
        c, d, w2 = source[places[k + 1] :], source[places[last - k - 1] :], weights[reach - k - 1]
        e, f, w3 = source[places[k + 2] :], source[places[last - k - 2] :], weights[reach - k - 2]
        g, h, w4 = source[places[k + 3] :], source[places[last - k - 3] :], weights[reach - k - 3]
        for x in range(len(line)):
            half = plus(plus(line[x], a[x] + b[x], w1), c[x] + d[x], w2)
            line[x] = plus(plus(half, e[x] + f[x], w3), g[x] + h[x], w4)
        k += 4


@kernel
def _correlate_both(rows, down, weights, padded, along, border, line):
    """line = the correlation at places down the rows, then at places along the line itself."""
    reach = len(weights) - 1
    step = along[1] if reach else 1
    pixels = len(line) // step
    inner = padded[reach * step : reach * step + len(line)]
    _correlate(rows, down, weights, inner)
    for p in range(1, reach + 1):
        before, after = _fold(-p, pixels, border), _fold(pixels - 1 + p, pixels, border)
        for c in range(step):
            padded[(reach - p) * step + c] = inner[before * step + c]
            padded[(reach + pixels - 1 + p) * step + c] = inner[after * step + c]
    _correlate(padded, along, weights, line)


@kernel
def _value_down(image, y, x, weights):
    total = unit(image[y, x]) * weights[0]
    for j in range(len(weights) - 1, 0, -1):
        above, below = image[max(y - j, 0), x], image[min(y + j, len(image) - 1), x]
        total = total + (unit(above) + unit(below)) * weights[j]
    return total


@kernel
def _value(image, y, x, weights, step):
    """One value of image / 255, blurred: the sums of _correlate_both, one at a time."""
    first, last = x % step, image.shape[1] - step + x % step
    total = _value_down(image, y, x, weights) * weights[0]
    for j in range(len(weights) - 1, 0, -1):
        left = _value_down(image, y, max(x - j * step, first), weights)
        right = _value_down(image, y, min(x + j * step, last), weights)
        total = total + (left + right) * weights[j]
    return total


@kernel
def _truncated(unit):
    return np.uint8(np.int32(min(max(unit, 0.0), 1.0) * 255.0))


@kernel
def blur_bytes(images, weights, out):
    """trunc(255 clip(G(image / 255))), edges replicated.

    Float32 decides all but a few bytes, see doubts.py. Where many are in doubt, as in flat areas,
    or would cost much, as with wide filters, whole rows are float64.
    """
    n, height, width, channels = images.shape
    values, reach = width * channels, len(weights) - 1
    size, wide = 2 * reach + 1, values + 2 * reach * channels
    singles = weights.astype(np.float32)
    levels, units = np.empty((size, values), np.float32), np.empty((size, values))
    padded, fine_padded = np.empty(wide, np.float32), np.empty(wide)
    line, fine_line = np.empty(values, np.float32), np.empty(values)
    most, held = np.empty(values, np.uint8), np.empty(size, np.int64)
    down, along = np.empty(size, np.int64), channels * np.arange(size)
    for i in range(n):
        image, target = images[i].reshape(height, values), out[i].reshape(height, values)
        held[:] = -1
        ready = 0
        for y in range(height):
            goal = target[y]
            for j in range(size):
                down[j] = _fold(y + j - reach, height, NEAREST) % size * values
            done = False
            if reach <= _NARROW:
                while ready <= min(y + reach, height - 1):
                    _as_floats(image[ready], levels[ready % size])
                    ready += 1
                flat = levels.reshape(-1)
                _correlate_both(flat, down, singles, padded, along, NEAREST, line)
                _both_ends(line, reach, goal, most)
                done = _settle(image, y, weights, channels, goal, most)
            if not done:
                for row in range(max(y - reach, 0), min(y + reach, height - 1) + 1):
                    if held[row % size] != row:
                        held[row % size] = row
                        _as_units(image[row], units[row % size])
                flat = units.reshape(-1)
                _correlate_both(flat, down, weights, fine_padded, along, NEAREST, fine_line)
                for x in range(values):
                    goal[x] = _truncated(fine_line[x])


@kernel
def _as_floats(levels, line):
    for x in range(len(line)):
        line[x] = np.float32(levels[x])


@kernel
def _as_units(levels, line):
    for x in range(len(line)):
        line[x] = unit(levels[x])


@kernel
def _both_ends(line, reach, least, most):
    # Each addition errs by 2**-24 of 255 at most; all products and all weights do so together.
    error, zero, full = np.float32((2 * reach + 8) * 2.0**-16), np.float32(0.0), np.float32(255.0)
    for x in range(len(line)):
        least[x] = np.uint8(np.int32(min(max(line[x] - error, zero), full)))
    for x in range(len(line)):
        most[x] = np.uint8(np.int32(min(line[x] + error, full)))


@kernel
def _settle(image, y, weights, step, least, most):
    """Settles what is in doubt in a row; False if that is too much."""
    x = next_doubt(least, most, 0)
    for _ in range(_FEW):
        if x < len(least):
            least[x] = _truncated(_value(image, y, x, weights, step))
            x = next_doubt(least, most, x + 1)
    return x >= len(least)


@kernel
def smooth_fields(fields, weights, border, out):
    """Gaussian filter of float64 fields (N, H, W)."""
    n, height, width = fields.shape
    reach = len(weights) - 1
    down, along = np.empty(2 * reach + 1, np.int64), np.arange(2 * reach + 1)
    padded = np.empty(width + 2 * reach)
    for i in range(n):
        for y in range(height):
            for j in range(2 * reach + 1):
                down[j] = _fold(y + j - reach, height, border) * width
            flat = fields[i].reshape(-1)
            _correlate_both(flat, down, weights, padded, along, border, out[i, y])


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
                _add_scaled(out[row], right[k], left[row, k])
    for row in range(rows // 4 * 4, rows):
        for k in range(inner):
            _add_scaled(out[row], right[k], left[row, k])


@kernel
def _add_scaled(line, source, weight):
    for x in range(len(line)):
        line[x] = line[x] + weight * source[x]
