"""Gaussian, disk and motion filters: the reference's float64 sums, in its order.

Images are uint8 (N, H, W, 3) and are walked as rows of W*3 values, so the inner loops run over
contiguous memory and vectorise; a step of one pixel is a step of three values.
"""

from __future__ import annotations

import numpy as np

from hardy.arrays.cpu.compile import kernel

NEAREST, REFLECT = 0, 1
_UNIT = np.arange(256) / 255.0


@kernel
def _fold(index, size, border):  # type: ignore[no-untyped-def]
    """Index of the pixel that stands for one outside: the edge, or half-sample reflection."""
    if border == NEAREST:
        return min(max(index, 0), size - 1)
    index %= 2 * size
    return index if index < size else 2 * size - 1 - index


@kernel
def _down(rows, y, weights, border, line):  # type: ignore[no-untyped-def]
    """line = vertical correlation at row y: centre first, then pairs from the outermost inwards."""
    height, width = rows.shape
    centre = rows[y]
    weight = weights[0]
    for x in range(width):
        line[x] = centre[x] * weight
    for j in range(len(weights) - 1, 0, -1):
        above, below = rows[_fold(y - j, height, border)], rows[_fold(y + j, height, border)]
        weight = weights[j]
        for x in range(width):
            line[x] = line[x] + (above[x] + below[x]) * weight


@kernel
def _along(line, padded, weights, step, border, out):  # type: ignore[no-untyped-def]
    """out = horizontal correlation of a line of pixels `step` values wide."""
    reach = len(weights) - 1
    width = len(line)
    pixels = width // step
    for x in range(width):
        padded[reach * step + x] = line[x]
    for p in range(1, reach + 1):
        before, after = _fold(-p, pixels, border), _fold(pixels - 1 + p, pixels, border)
        for c in range(step):
            padded[(reach - p) * step + c] = line[before * step + c]
            padded[(reach + pixels - 1 + p) * step + c] = line[after * step + c]
    weight = weights[0]
    for x in range(width):
        out[x] = line[x] * weight
    for j in range(reach, 0, -1):
        left, right = padded[(reach - j) * step :], padded[(reach + j) * step :]
        weight = weights[j]
        for x in range(width):
            out[x] = out[x] + (left[x] + right[x]) * weight


@kernel
def blur_bytes(images, weights, out):  # type: ignore[no-untyped-def]
    """trunc(255 clip(G(image / 255))), edges replicated."""
    n, height, width, channels = images.shape
    values = width * channels
    rows = np.empty((height, values))
    line, result = np.empty(values), np.empty(values)
    padded = np.empty(values + 2 * (len(weights) - 1) * channels)
    for i in range(n):
        image, target = images[i].reshape(height, values), out[i].reshape(height, values)
        for y in range(height):
            source, row = image[y], rows[y]
            for x in range(values):
                row[x] = source[x] / 255.0
        for y in range(height):
            _down(rows, y, weights, NEAREST, line)
            _along(line, padded, weights, channels, NEAREST, result)
            goal = target[y]
            for x in range(values):
                goal[x] = np.uint8(np.int32(min(max(result[x], 0.0), 1.0) * 255.0))


@kernel
def smooth_fields(fields, weights, border, out):  # type: ignore[no-untyped-def]
    """Gaussian filter of float64 fields (N, H, W)."""
    n, height, width = fields.shape
    line = np.empty(width)
    padded = np.empty(width + 2 * (len(weights) - 1))
    for i in range(n):
        for y in range(height):
            _down(fields[i], y, weights, border, line)
            _along(line, padded, weights, 1, border, out[i, y])


@kernel
def smooth_by_matrices(fields, down, along, out):  # type: ignore[no-untyped-def]
    """out = down @ field @ along.T, four terms at a time in a fixed order."""
    n, height, width = fields.shape
    half = np.empty((height, width))
    turned = np.empty((width, width))
    for y in range(width):
        for x in range(width):
            turned[x, y] = along[y, x]
    for i in range(n):
        _product(down, fields[i], half)
        _product(half, turned, out[i])


@kernel
def _product(left, right, out):  # type: ignore[no-untyped-def]
    inner = left.shape[1]
    whole = inner // 4 * 4
    for y in range(left.shape[0]):
        line = out[y]
        line[:] = 0.0
        for k in range(0, whole, 4):
            a0, a1, a2, a3 = left[y, k], left[y, k + 1], left[y, k + 2], left[y, k + 3]
            r0, r1, r2, r3 = right[k], right[k + 1], right[k + 2], right[k + 3]
            for x in range(len(line)):
                line[x] = (((line[x] + a0 * r0[x]) + a1 * r1[x]) + a2 * r2[x]) + a3 * r3[x]
        for k in range(whole, inner):
            a0, r0 = left[y, k], right[k]
            for x in range(len(line)):
                line[x] = line[x] + a0 * r0[x]


@kernel
def _mirror(index, size):  # type: ignore[no-untyped-def]
    """Reflection without repeating the edge pixel (reflect-101), any distance."""
    period = 2 * size - 2
    index = abs(index) % period
    return index if index < size else period - index


@kernel
def disk_bytes(images, core_weight, runs, weights, starts, offsets, out):  # type: ignore[no-untyped-def]
    """Correlation with a disk plan: running sums for the flat core, groups of pixels for the ring.

    Sums of bytes are integers, and the reference's ties lie further from whole levels than any
    float64 order can err, so the order of the products is free.
    """
    n, height, width, channels = images.shape
    reach = 0
    for k in range(len(offsets)):
        reach = max(reach, abs(offsets[k, 0]), abs(offsets[k, 1]))
    for k in range(len(runs)):
        reach = max(reach, abs(runs[k, 0]), abs(runs[k, 1]), abs(runs[k, 2]))
    values = width * channels
    padded = np.empty((height + 2 * reach + 1, values + 2 * reach * channels), np.uint8)
    core, group, total = np.empty(values, np.int32), np.empty(values, np.int16), np.empty(values)
    for i in range(n):
        _pad_mirrored(images[i], reach, padded)
        core[:] = 0
        for k in range(len(runs)):
            for dy in range(runs[k, 1], runs[k, 2] + 1):
                _add_line(padded[reach + dy, (reach + runs[k, 0]) * channels :], core)
        target = out[i].reshape(height, values)
        for y in range(height):
            for x in range(values):
                total[x] = core[x] * core_weight
            for g in range(len(weights)):
                group[:] = 0
                for k in range(starts[g], starts[g + 1]):
                    _add_line(
                        padded[y + reach + offsets[k, 0], (reach + offsets[k, 1]) * channels :],
                        group,
                    )
                weight = weights[g]
                for x in range(values):
                    total[x] += group[x] * weight
            goal = target[y]
            for x in range(values):
                goal[x] = np.uint8(np.int32(min(total[x], 255.0)))
            for k in range(len(runs)):
                shift = (reach + runs[k, 0]) * channels
                leaving = padded[y + reach + runs[k, 1], shift:]
                entering = padded[y + reach + runs[k, 2] + 1, shift:]
                for x in range(values):
                    core[x] += np.int32(entering[x]) - np.int32(leaving[x])


@kernel
def _pad_mirrored(image, reach, padded):  # type: ignore[no-untyped-def]
    """Copy with a reflect-101 border; one spare row below keeps the running sum in bounds."""
    height, width, channels = image.shape
    for y in range(height + 2 * reach + 1):
        source = image[_mirror(y - reach, height)]
        row = padded[y]
        for x in range(width):
            for c in range(channels):
                row[(reach + x) * channels + c] = source[x, c]
        for x in range(reach):
            left, right = _mirror(x - reach, width), _mirror(width + x, width)
            for c in range(channels):
                row[x * channels + c] = source[left, c]
                row[(reach + width + x) * channels + c] = source[right, c]


@kernel
def _add_line(source, line):  # type: ignore[no-untyped-def]
    for x in range(len(line)):
        line[x] += source[x]


@kernel
def trail_bytes(images, weights, rows, columns, out):  # type: ignore[no-untyped-def]
    """ImageMagick's motion blur: image i sums weights[k] * pixel(y + rows[i,k], x + columns[i,k]).

    Sixteen-bit quanta (257 v), rounded to a quantum, then to the nearest byte; edges clamped.
    """
    n, height, width, channels = images.shape
    taps = len(weights)
    reach = taps - 1
    values = width * channels
    padded = np.empty((height, values + 2 * reach * channels))
    total = np.empty(values)
    for i in range(n):
        for y in range(height):
            source, row = images[i, y], padded[y]
            for x in range(width):
                for c in range(channels):
                    row[(reach + x) * channels + c] = 257.0 * source[x, c]
            for x in range(reach):
                for c in range(channels):
                    row[x * channels + c] = 257.0 * source[0, c]
                    row[(reach + width + x) * channels + c] = 257.0 * source[width - 1, c]
        target = out[i].reshape(height, values)
        for y in range(height):
            total[:] = 0.0
            for k in range(taps):
                line = padded[
                    min(max(y + rows[i, k], 0), height - 1), (reach + columns[i, k]) * channels :
                ]
                weight = weights[k]
                for x in range(values):
                    total[x] = total[x] + line[x] * weight
            goal = target[y]
            for x in range(values):
                quantum = np.int32(total[x] + 0.5) + 128
                goal[x] = np.uint8((quantum - (quantum >> 8)) >> 8)
