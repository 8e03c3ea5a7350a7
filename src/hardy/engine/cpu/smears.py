"""Defocus and motion: sums over a disk, and along a trail of whole pixels.

Rows of pixels are walked as rows of values, as in filters.py.
"""

import numpy as np

from hardy.engine.cpu.compile import kernel
from hardy.engine.cpu.doubts import next_doubt, plus

_FEW = 16  # values of a row


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
    float64 order can err, so the order of the products is free. Float32 decides all but a few
    bytes, see doubts.py; rows where many are in doubt are weighed again in float64.
    """
    n, height, width, channels = images.shape
    reach = 0
    for k in range(len(offsets)):
        reach = max(reach, abs(offsets[k, 0]), abs(offsets[k, 1]))
    for k in range(len(runs)):
        reach = max(reach, abs(runs[k, 0]), abs(runs[k, 1]), abs(runs[k, 2]))
    values, stride = width * channels, (width + 2 * reach) * channels
    padded = np.empty((height + 2 * reach + 1, stride), np.uint8)
    # Pixels of the ring above and below weigh the same: folded[d] = row y - d plus row y + d. A row
    # of zeros comes last.
    folded = np.zeros((reach + 2, stride), np.int16)
    core, step = np.empty(values, np.int32), np.empty(values, np.int16)
    rough, total, most = np.empty(values, np.float32), np.empty(values), np.empty(values, np.uint8)
    # Filled up to fours with groups that weigh nothing. The core's sum is a group without bounds.
    fours = -(-len(weights) // 4) * 4
    groups, doubles = np.zeros((fours, values), np.int16), np.zeros(fours)
    doubles[: len(weights)] = weights
    singles, core_single = doubles.astype(np.float32), np.float32(core_weight)
    # An addition to the total errs by 2**-17 at most; all else in float32 by eight times that.
    error = np.float32((fours // 4 + 8) * 2.0**-17)
    # Where the pixels of a group lie in the folded rows, an even number of them: else with a zero.
    places = np.full(len(offsets) + len(weights), np.uint32((reach + 1) * stride))
    ends = np.zeros(len(starts), np.int64)
    for g in range(len(weights)):
        end = ends[g]
        for k in range(starts[g], starts[g + 1]):
            dy, dx = offsets[k]
            if dy >= 0:
                places[end] = dy * stride + (reach + dx) * channels
                end += 1
        ends[g + 1] = end + end % 2
    for i in range(n):
        _pad_mirrored(images[i], reach, padded)
        core[:] = 0
        for k in range(len(runs)):
            for dy in range(runs[k, 1], runs[k, 2] + 1):
                _add_line(padded[reach + dy, (reach + runs[k, 0]) * channels :], core)
        target = out[i].reshape(height, values)
        for y in range(height):
            goal = target[y]
            if fours:
                _fold_rows(padded[y : y + 2 * reach + 1], folded)
            for g in range(len(weights)):
                _sum_lines(folded.reshape(-1), places[ends[g] : ends[g + 1]], groups[g])
            sure = False
            if fours:
                _weigh(core, core_single, groups, singles, rough)
                for x in range(values):
                    goal[x] = _truncated(max(rough[x] - error, np.float32(0.0)))
                for x in range(values):
                    most[x] = _truncated(rough[x] + error)
                sure = _settle(core, core_weight, groups, doubles, goal, most)
            if not sure:
                _weigh(core, core_weight, groups, doubles, total)
                for x in range(values):
                    goal[x] = _truncated(total[x])
            step[:] = 0
            for k in range(len(runs)):
                shift = (reach + runs[k, 0]) * channels
                leaving = padded[y + reach + runs[k, 1], shift:]
                entering = padded[y + reach + runs[k, 2] + 1, shift:]
                for x in range(values):
                    step[x] += np.int16(np.int16(entering[x]) - np.int16(leaving[x]))
            _add_line(step, core)


@kernel
def _weigh(core, core_weight, groups, weights, total):
    """total = the weighted sum of the core and the groups, in the type of the weights."""
    kind = type(core_weight)
    for x in range(len(total)):
        total[x] = kind(core[x]) * core_weight
    for g in range(0, len(groups), 4):
        a, b, c, d = groups[g], groups[g + 1], groups[g + 2], groups[g + 3]
        w0, w1, w2, w3 = weights[g], weights[g + 1], weights[g + 2], weights[g + 3]
        for x in range(len(total)):
            two = plus(kind(a[x]) * w0, kind(b[x]), w1)
            total[x] = total[x] + (two + plus(kind(c[x]) * w2, kind(d[x]), w3))


@kernel
def _settle(core, core_weight, groups, weights, least, most):
    """Settles what is in doubt in a row; False if that is too much."""
    x = next_doubt(least, most, 0)
    for _ in range(_FEW):
        if x < len(least):
            total = core[x] * core_weight
            for g in range(len(groups)):
                total += groups[g, x] * weights[g]
            least[x] = _truncated(total)
            x = next_doubt(least, most, x + 1)
    return x >= len(least)


@kernel
def _truncated(level):
    return np.uint8(np.int32(min(level, type(level)(255.0))))


@kernel
def _pad_mirrored(image, reach, padded):
    """Copy with a reflect-101 border; one spare row below keeps the running sum in bounds."""
    height, width, channels = image.shape
    left, right = np.empty(reach, np.int64), np.empty(reach, np.int64)
    for x in range(reach):
        left[x], right[x] = _mirror(x - reach, width), _mirror(width + x, width)
    for y in range(height + 2 * reach + 1):
        source, row = image[_mirror(y - reach, height)], padded[y]
        row[reach * channels : (reach + width) * channels] = source.reshape(-1)
        for x in range(reach):
            for c in range(channels):
                row[x * channels + c] = source[left[x], c]
                row[(reach + width + x) * channels + c] = source[right[x], c]


@kernel
def _fold_rows(rows, folded):
    reach = len(rows) // 2
    folded[0] = rows[reach]
    for d in range(1, reach + 1):
        _add_rows(rows[reach - d], rows[reach + d], folded[d])


@kernel
def _add_rows(above, below, both):
    for x in range(len(both)):
        both[x] = np.int16(np.int16(above[x]) + np.int16(below[x]))


@kernel
def _add_line(source, line):
    for x in range(len(line)):
        line[x] += source[x]


@kernel
def _sum_lines(source, places, line):
    """line = the sum of what begins at the places, four or two of them in one pass over the line.

    Places are unsigned, as in warps.py.
    """
    whole = len(places) // 4 * 4
    for k in range(0, whole, 4):
        a, b, c, d = places[k], places[k + 1], places[k + 2], places[k + 3]
        for x in range(np.uint32(len(line))):
            four = (source[a + x] + source[b + x]) + (source[c + x] + source[d + x])
            line[x] = line[x] + four if k else four
    for k in range(whole, len(places), 2):
        a, b = places[k], places[k + 1]
        for x in range(np.uint32(len(line))):
            two = source[a + x] + source[b + x]
            line[x] = line[x] + two if k else two


@kernel
def trail_bytes(images, weights, rows, columns, out):
    """ImageMagick's motion blur: image i sums weights[k] * pixel(y + rows[i,k], x + columns[i,k]).

    Sixteen-bit quanta (257 v), summed in float64 in this order, rounded to a quantum, then to the
    nearest byte; edges clamped. Float32 decides all but a few bytes, see doubts.py.
    """
    n, height, width, channels = images.shape
    taps = len(weights)
    reach = taps - 1
    values, stride = width * channels, (width + 2 * reach) * channels
    # Each addition errs by 2**-24 of 65535 at most; all products and all weights do so together.
    error = np.float32((taps + 4) * 2.0**-8)
    below, above = np.float32(0.5) - error, np.float32(0.5) + error
    fours = -(-taps // 4) * 4
    singles, places = np.zeros(fours, np.float32), np.zeros(fours, np.uint32)
    singles[:taps] = weights
    padded = np.empty(height * stride, np.float32)
    total, most = np.empty(values, np.float32), np.empty(values, np.uint8)
    for i in range(n):
        for y in range(height):
            source, row = images[i, y].reshape(-1), padded[y * stride :]
            inner = row[reach * channels :]
            for x in range(values):
                inner[x] = np.float32(257.0) * np.float32(source[x])
            for x in range(reach):
                for c in range(channels):
                    row[x * channels + c] = inner[c]
                    inner[values + x * channels + c] = inner[values - channels + c]
        target = out[i].reshape(height, values)
        for y in range(height):
            for k in range(taps):
                down = min(max(y + rows[i, k], 0), height - 1)
                along = reach + min(max(columns[i, k], -reach), reach)
                places[k] = down * stride + along * channels
            _sum_taps(padded, places, singles, total)
            least = target[y]
            for x in range(values):
                least[x] = _nearest_byte(max(total[x] + below, np.float32(0.0)))
            for x in range(values):
                most[x] = _nearest_byte(total[x] + above)
            x = next_doubt(least, most, 0)
            while x < values:
                exact = 0.0
                for k in range(taps):
                    exact += padded[places[k] + np.uint32(x)] * weights[k]
                least[x] = _nearest_byte(exact + 0.5)
                x = next_doubt(least, most, x + 1)


@kernel
def _sum_taps(source, places, weights, total):
    """total = the weighted sum of what begins at the places, four of them in one pass."""
    for k in range(0, len(places), 4):
        a, b = source[places[k] :], source[places[k + 1] :]
        c, d = source[places[k + 2] :], source[places[k + 3] :]
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        if k:
            for x in range(len(total)):
                two = plus(plus(total[x], a[x], w0), b[x], w1)
                total[x] = plus(plus(two, c[x], w2), d[x], w3)
        else:
            for x in range(len(total)):
                two = plus(a[x] * w0, b[x], w1)
                total[x] = plus(plus(two, c[x], w2), d[x], w3)


@kernel
def _nearest_byte(quanta):
    """Cast at every step: 32-bit lanes are twice as many as numba's 64-bit ones."""
    quantum = np.int32(np.int32(quanta) + np.int32(128))
    return np.uint8(np.int32(quantum - np.int32(quantum >> np.int32(8))) >> np.int32(8))
