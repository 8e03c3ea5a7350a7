"""Plasma clouds, the glass shuffle, and the pixel mixtures of fog, snow, frost and spatter."""

from __future__ import annotations

import numpy as np

from hardy.engine.cpu.compile import kernel


@kernel
def plasma_fields(steps, decay, out):
    """Diamond-square on a torus, (N, side, side); steps (N, side**2 - 1) uniform in (0, 1).

    The amplitude at wibble w is w**2, since w multiplies a uniform draw from (-w, w).
    """
    n, side, _ = out.shape
    mask = side - 1
    for i in range(n):
        cloud, draws = out[i], steps[i]
        cloud[0, 0] = 0.0
        step, wibble, used = side, 100.0, 0
        while step >= 2:
            half = step // 2
            cells = side // step
            for a in range(cells):
                y = a * step
                below = (y + step) & mask
                for b in range(cells):
                    x = b * step
                    right = (x + step) & mask
                    mean = (cloud[y, x] + cloud[below, x]) + (cloud[y, right] + cloud[below, right])
                    draw = draws[used + a * cells + b]
                    cloud[y + half, x + half] = mean / 4 + wibble * (-wibble + 2 * wibble * draw)
            used += cells * cells
            for a in range(cells):
                y = a * step
                above = (y - half) & mask
                for b in range(cells):
                    x = b * step
                    right = (x + step) & mask
                    mean = (cloud[y + half, x + half] + cloud[above, x + half]) + (
                        cloud[y, x] + cloud[y, right]
                    )
                    draw = draws[used + a * cells + b]
                    cloud[y, x + half] = mean / 4 + wibble * (-wibble + 2 * wibble * draw)
            used += cells * cells
            for a in range(cells):
                y = a * step
                below = (y + step) & mask
                for b in range(cells):
                    x = b * step
                    left = (x - half) & mask
                    mean = (cloud[y + half, x + half] + cloud[y + half, left]) + (
                        cloud[y, x] + cloud[below, x]
                    )
                    draw = draws[used + a * cells + b]
                    cloud[y + half, x] = mean / 4 + wibble * (-wibble + 2 * wibble * draw)
            used += cells * cells
            step, wibble = half, wibble / decay
        lowest, highest = cloud[0, 0], cloud[0, 0]
        for y in range(side):
            for x in range(side):
                lowest, highest = min(lowest, cloud[y, x]), max(highest, cloud[y, x])
        highest -= lowest
        for y in range(side):
            for x in range(side):
                cloud[y, x] = (cloud[y, x] - lowest) / highest


@kernel
def haze(images, cloud, amount, out):
    """See corrupt.weather.haze."""
    n, height, width, _ = images.shape
    for i in range(n):
        peak = np.uint8(0)
        for value in images[i].reshape(-1):
            peak = max(peak, value)
        m = peak / 255.0
        for y in range(height):
            source, goal = images[i, y].reshape(-1), out[i, y].reshape(-1)
            for x in range(width):
                veil = amount * cloud[i, y, x]
                for c in range(3):
                    value = ((source[3 * x + c] / 255.0 + veil) * m) / (m + amount)
                    goal[3 * x + c] = np.uint8(np.int32(min(max(value, 0.0), 1.0) * 255.0))


@kernel
def whiten(images, layer, keep, out):
    """See corrupt.weather.whiten: a float32 image, a byte layer added twice in float64."""
    n, height, width, _ = images.shape
    kept, rest = np.float32(keep), np.float32(1.0 - keep)
    red, green, blue = np.float32(0.299), np.float32(0.587), np.float32(0.114)
    gain, base, full = np.float32(1.5), np.float32(0.5), np.float32(255.0)
    for i in range(n):
        for y in range(height):
            source, goal = images[i, y].reshape(-1), out[i, y].reshape(-1)
            flakes, turned = layer[i, y], layer[i, height - 1 - y]
            for x in range(width):
                r = np.float32(source[3 * x]) / full
                g = np.float32(source[3 * x + 1]) / full
                b = np.float32(source[3 * x + 2]) / full
                grey = (g * green + r * red) + b * blue
                floor = gain * grey + base
                here, there = flakes[x] / 255.0, turned[width - 1 - x] / 255.0
                r = kept * r + rest * max(r, floor)
                g = kept * g + rest * max(g, floor)
                b = kept * b + rest * max(b, floor)
                goal[3 * x] = np.uint8(np.int32(min((r + here) + there, 1.0) * 255.0))
                goal[3 * x + 1] = np.uint8(np.int32(min((g + here) + there, 1.0) * 255.0))
                goal[3 * x + 2] = np.uint8(np.int32(min((b + here) + there, 1.0) * 255.0))


@kernel
def frosted(images, texture, image_weight, frost_weight, out):
    """See corrupt.weather.frosted."""
    source, frost, goal = images.reshape(-1), texture.reshape(-1), out.reshape(-1)
    for k in range(source.size):
        value = image_weight * source[k] + frost_weight * frost[k]
        goal[k] = np.uint8(np.int32(min(value, 255.0)))


@kernel
def splash(images, amount, colour, out):
    """See corrupt.weather.splash: float32 throughout."""
    n, height, width, _ = images.shape
    one, full = np.float32(1.0), np.float32(255.0)
    for i in range(n):
        for y in range(height):
            for x in range(width):
                for c in range(3):
                    value = np.float32(images[i, y, x, c]) / full + amount[i, y, x] * colour[c]
                    out[i, y, x, c] = np.uint8(np.int32(min(value, one) * full))


@kernel
def cover(images, amount, colour, out):
    """See corrupt.weather.cover: float32 throughout."""
    n, height, width, _ = images.shape
    one, full = np.float32(1.0), np.float32(255.0)
    for i in range(n):
        for y in range(height):
            for x in range(width):
                mud = amount[i, y, x]
                for c in range(3):
                    value = np.float32(images[i, y, x, c]) / full * (one - mud) + mud * colour[c]
                    out[i, y, x, c] = np.uint8(np.int32(min(value, one) * full))


@kernel
def shuffle_passes(images, moves, reach):
    """The glass shuffle, in place: a descending scan in which each pixel copies its source.

    moves (N, passes, targets) holds (dy + reach) * 2 reach + (dx + reach), in scan order.
    """
    n, height, width, _ = images.shape
    span = np.uint32(2 * reach)
    for i in range(n):
        image = images[i]
        for p in range(moves.shape[1]):
            k = 0
            for y in range(height - reach, reach, -1):
                for x in range(width - reach, reach, -1):
                    # Replayed moves may be anything; none may read outside the image.
                    move = min(np.uint32(moves[i, p, k]), span * span - np.uint32(1))
                    k += 1
                    sy = np.uint64(y + np.int64(move // span) - reach)
                    sx = np.uint64(x + np.int64(move % span) - reach)
                    ty, tx = np.uint64(y), np.uint64(x)
                    image[ty, tx, 0] = image[sy, sx, 0]
                    image[ty, tx, 1] = image[sy, sx, 1]
                    image[ty, tx, 2] = image[sy, sx, 2]
