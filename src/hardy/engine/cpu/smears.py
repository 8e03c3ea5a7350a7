"""Defocus and motion: sums over a disk, and along a trail of whole pixels.

Rows of pixels are walked as rows of values, as in filters.py.
"""

import numpy as np

from hardy.engine.cpu.compile import kernel
from hardy.engine.cpu.filters import add_scaled


@kernel
def _mirror(index, size):
    """Reflection without repeating the edge pixel (reflect-101), any distance."""
    period = 2 * size - 2
    index = abs(index) % period
    return index if index < size else period - index


@kernel
def disk_bytes(images, core_weight, runs, weights, starts, offsets, out):
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
    # Where a pixel of the ring lies, counted from the first row in reach.
    places = np.empty(len(offsets), np.uint32)
    for k in range(len(offsets)):
        dy, dx = offsets[k]
        places[k] = (reach + dy) * padded.shape[1] + (reach + dx) * channels
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
            source = padded[y:].reshape(-1)
            for g in range(len(weights)):
                _sum_lines(source, places[starts[g] : starts[g + 1]], group)
                add_scaled(total, group, weights[g])
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
def _pad_mirrored(image, reach, padded):
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
def _add_line(source, line):
    for x in range(len(line)):
        line[x] += source[x]


@kernel
def _sum_lines(source, places, line):
    """line = the sum of what begins at the places, four of them in one pass over the line.

    Places are unsigned, as in warps.py.
    """
    whole = len(places) // 4 * 4
    if not whole:
        line[:] = 0
    for k in range(0, whole, 4):
        a, b, c, d = places[k], places[k + 1], places[k + 2], places[k + 3]
        for x in range(np.uint32(len(line))):
            four = (
                np.int16(source[a + x])
                + np.int16(source[b + x])
                + np.int16(source[c + x])
                + np.int16(source[d + x])
            )
            line[x] = line[x] + four if k else four
    for k in range(whole, len(places)):
        _add_line(source[places[k] :], line)


@kernel
def trail_bytes(images, weights, rows, columns, out):
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
            source, row = images[i, y].reshape(-1), padded[y]
            inner = row[reach * channels :]
            for x in range(values):
                inner[x] = 257.0 * source[x]
            for x in range(reach):
                for c in range(channels):
                    row[x * channels + c] = inner[c]
                    inner[values + x * channels + c] = inner[values - channels + c]
        target = out[i].reshape(height, values)
        for y in range(height):
            total[:] = 0.0
            # Four taps in one pass over the line, added one after the other all the same.
            for k in range(0, taps // 4 * 4, 4):
                line0 = _tap(padded, y, rows[i], columns[i], k, channels)
                line1 = _tap(padded, y, rows[i], columns[i], k + 1, channels)
                line2 = _tap(padded, y, rows[i], columns[i], k + 2, channels)
                line3 = _tap(padded, y, rows[i], columns[i], k + 3, channels)
                w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
                for x in range(values):
                    total[x] = (
                        ((total[x] + line0[x] * w0) + line1[x] * w1) + line2[x] * w2
                    ) + line3[x] * w3
            for k in range(taps // 4 * 4, taps):
                add_scaled(total, _tap(padded, y, rows[i], columns[i], k, channels), weights[k])
            goal = target[y]
            for x in range(values):
                quantum = np.int32(total[x] + 0.5) + 128
                goal[x] = np.uint8((quantum - (quantum >> 8)) >> 8)


@kernel
def _tap(padded, y, rows, columns, k, channels):
    """The padded row that tap k reads for output row y, starting at the first output value."""
    reach = len(columns) - 1
    row = min(max(y + rows[k], 0), len(padded) - 1)
    return padded[row, (reach + min(max(columns[k], -reach), reach)) * channels :]
