"""Fused passes of corrupt.c_bar.distortions, where the formulas are."""

import numpy as np

from hardy.engine import portable
from hardy.engine.cpu.c_bar_noise import level
from hardy.engine.cpu.compile import kernel
from hardy.engine.cpu.maths import cosine, power, sine

_TWO_PI = 2.0 * portable.PI
_NEARLY = 1e-9


@kernel
def _lay_out(image, divisor, canvas):
    """An image in the middle of a canvas, two black pixels wider on every side."""
    height, width, channels = image.shape
    for y in range(height):
        for x in range(width):
            for c in range(channels):
                canvas[y + 2, x + 2, c] = image[y, x, c] / divisor


@kernel
def _corner(place, side):
    """The place of the first of two taps on the canvas; far outside both are black."""
    return min(max(np.int64(place), -2), side) + 2


@kernel
def _mixed(canvas, y, x, u, t, c):
    a, b, p, q = canvas[y, x, c], canvas[y, x + 1, c], canvas[y + 1, x, c], canvas[y + 1, x + 1, c]
    upper, lower = a + t * (b - a), p + t * (q - p)
    return upper + u * (lower - upper)


@kernel
def displace(images, rows, columns, single, out):
    n, height, width, channels = images.shape
    canvas = np.zeros((height + 4, width + 4, channels))
    for i in range(n):
        _lay_out(images[i], 1.0, canvas)
        for y in range(height):
            for x in range(width):
                top, left = np.floor(rows[i, y, x]), np.floor(columns[i, y, x])
                u, t = rows[i, y, x] - top, columns[i, y, x] - left
                row, column = _corner(top, height), _corner(left, width)
                for c in range(channels):
                    value = _mixed(canvas, row, column, u, t, c)
                    out[i, y, x, c] = level(np.float32(value) if single else value + _NEARLY)


@kernel
def fringe(images, order, down, down_weights, along, along_weights, out):
    n, height, width, _ = images.shape
    for i in range(n):
        for c in range(3):
            zoom = order[i, c]
            for y in range(height):
                for x in range(width):
                    total = 0.0
                    for a in range(4):
                        line, weight = images[i, down[zoom, y, a]], down_weights[zoom, y, a]
                        for b in range(4):
                            value = line[along[zoom, x, b], c] * weight
                            total += value * along_weights[zoom, x, b]
                    out[i, y, x, c] = level(total + 0.5)


@kernel
def caustics(time, scale, out):
    n, height, width = out.shape
    q, first, second = np.empty(width), np.empty(width), np.empty(width)
    for i in range(n):
        for x in range(width):
            place = x / scale[i]
            q[x] = _TWO_PI * (place - np.floor(place)) - 250.0
        for y in range(height):
            place = y / scale[i]
            p = _TWO_PI * (place - np.floor(place)) - 250.0
            bright = out[i, y]
            for x in range(width):
                first[x], second[x], bright[x] = p, q[x], 1.0
            for k in range(5):
                t = time[i] * (1.0 - 3.5 / (k + 1))
                for x in range(width):
                    a, b = first[x], second[x]
                    c = p + (cosine(t - a) + sine(t + b))
                    d = q[x] + (sine(t - b) + cosine(t + a))
                    first[x], second[x] = c, d
                for x in range(width):
                    s, c = sine(first[x] + t), cosine(second[x] + t)
                    one, two = p * c, q[x] * s
                    size = 0.005 * np.sqrt(one * one + two * two)
                    bright[x] += abs(s * c) / size
            for x in range(width):
                net = 1.17 - power(bright[x] * 0.2, 1.4)
                net *= net
                net *= net
                bright[x] = min(net * net, 1.0)


@kernel
def refract(images, net, lens, light, out):
    n, height, width, _ = images.shape
    canvas = np.zeros((height + 4, width + 4, 3))
    for i in range(n):
        _lay_out(images[i], 255.0, canvas)
        for y in range(height):
            for x in range(width):
                below = net[i, y + 1, x] if y + 1 < height else 0.0
                above = net[i, y - 1, x] if y > 0 else 0.0
                right = net[i, y, x + 1] if x + 1 < width else 0.0
                left = net[i, y, x - 1] if x > 0 else 0.0
                down, along = below - above, right - left
                square = down * down + along * along
                length = np.sqrt(square + 1.0)
                cos = 1.0 / length
                sin_square = square / (square + 1.0)
                bend = 0.0
                if cos < 0.999:
                    bend = lens * (np.sqrt(1.0 - 0.0625 * sin_square) - 0.25 * cos)
                dy = np.floor((bend * (down / length)) * 1000.0 + 0.5) / 1000.0
                dx = np.floor((bend * (along / length)) * 1000.0 + 0.5) / 1000.0
                top, before = np.floor(y + dy), np.floor(x + dx)
                u, t = (y + dy) - top, (x + dx) - before
                row, column = _corner(top, height), _corner(before, width)
                added = light * (down - along)
                for c in range(3):
                    value = _mixed(canvas, row, column, u, t, c) + added
                    out[i, y, x, c] = np.uint8(np.int32(min(max(value, 0.0), 1.0) * 255.0))


@kernel
def _knots(lines, last, carry):
    """corrupt.c_bar.distortions.spline, in place along the first axis of (lines, values)."""
    carry[0] = 0.5
    lines[0] *= 1.5
    for k in range(1, last):
        carry[k] = 1.0 / (4.0 - carry[k - 1])
        for j in range(lines.shape[1]):
            lines[k, j] = (lines[k, j] * 6.0 - lines[k - 1, j]) * carry[k]
    end = 1.0 / (4.0 - 2.0 * carry[last - 1])
    for j in range(lines.shape[1]):
        lines[last, j] = (lines[last, j] * 6.0 - lines[last - 1, j] * 2.0) * end
    for k in range(last - 1, -1, -1):
        for j in range(lines.shape[1]):
            lines[k, j] = lines[k, j] - carry[k] * lines[k + 1, j]


@kernel
def _taps(place, side, index, weight):
    """Four mirrored indices about a place and their weights."""
    first = np.floor(place)
    t = place - first
    z = 1.0 - t
    weight[0], weight[3] = z * z * z * (1.0 / 6.0), t * t * t * (1.0 / 6.0)
    weight[1] = (t * t * (t - 2.0) * 3.0 + 4.0) * (1.0 / 6.0)
    weight[2] = (z * z * (z - 2.0) * 3.0 + 4.0) * (1.0 / 6.0)
    for k in range(4):
        mirrored = abs(np.int64(first) + k - 1)
        index[k] = min(mirrored, 2 * (side - 1) - mirrored)


@kernel
def spin(images, turns, out):
    n, height, width, _ = images.shape
    carry = np.empty(max(height, width))
    down, along = np.empty(4, np.int64), np.empty(4, np.int64)
    down_weight, along_weight = np.empty(4), np.empty(4)
    centre_y, centre_x = 0.5 * (height - 1), 0.5 * (width - 1)
    for i in range(n):
        knots = images[i].astype(np.float64)
        _knots(knots.reshape(height, width * 3), height - 1, carry)
        for y in range(height):
            _knots(knots[y], width - 1, carry)
        total = np.zeros((height, width, 3))
        for k in range(len(turns)):
            cos, sin, weight = turns[k, 0], turns[k, 1], turns[k, 2]
            for y in range(height):
                dy = y - centre_y
                for x in range(width):
                    dx = x - centre_x
                    row = (cos * dy + sin * dx) + centre_y
                    column = (cos * dx - sin * dy) + centre_x
                    if 0.0 <= row <= height - 1 and 0.0 <= column <= width - 1:
                        _taps(row, height, down, down_weight)
                        _taps(column, width, along, along_weight)
                        for c in range(3):
                            value = 0.0
                            for a in range(4):
                                line = 0.0
                                for b in range(4):
                                    line += knots[down[a], along[b], c] * along_weight[b]
                                value += line * down_weight[a]
                            total[y, x, c] += weight * value
        for y in range(height):
            for x in range(width):
                for c in range(3):
                    out[i, y, x, c] = level(total[y, x, c] + _NEARLY)
