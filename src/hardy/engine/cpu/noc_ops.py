"""Kernels of ImageNet-NOC: tables, box sums, blocks, resampling, affine maps, stamps, hues."""

import numpy as np

from hardy.engine.cpu.compile import kernel


@kernel
def look_up(images, tables, out):
    n, height, width, _ = images.shape
    for i in range(n):
        source, goal, table = images[i].reshape(-1), out[i].reshape(-1), tables[i]
        for p in range(height * width):
            goal[3 * p] = table[source[3 * p], 0]
            goal[3 * p + 1] = table[source[3 * p + 1], 1]
            goal[3 * p + 2] = table[source[3 * p + 2], 2]


@kernel
def box_sums(images, passes, out):
    """Down and along are independent: all passes down first, row by row, then all along."""
    n, height, width, _ = images.shape
    values = 3 * width
    above, here = np.empty(values), np.empty(values)
    line = np.zeros(values + 6)
    for i in range(n):
        whole = out[i].reshape(height, values)
        source = images[i].reshape(height, values)
        for y in range(height):
            goal, row = whole[y], source[y]
            for x in range(values):
                goal[x] = np.float64(row[x])
        for _ in range(passes):
            above[:] = 0.0
            for y in range(height):
                goal = whole[y]
                here[:] = goal
                if y + 1 < height:
                    below = whole[y + 1]
                    for x in range(values):
                        goal[x] = (above[x] + here[x]) + below[x]
                else:
                    for x in range(values):
                        goal[x] = above[x] + here[x]
                above, here = here, above
        for y in range(height):
            goal = whole[y]
            for _ in range(passes):
                line[3 : values + 3] = goal
                left, middle, right = line[:values], line[3 : values + 3], line[6:]
                for x in range(values):
                    goal[x] = (left[x] + middle[x]) + right[x]


@kernel
def blocks(images, sides, out):
    n, height, width, _ = images.shape
    for i in range(n):
        side = sides[i]
        rows, columns = height // side, width // side
        top, left = (height - rows * side) // 2, (width - columns * side) // 2
        area = np.uint32(side * side)
        line = np.empty((columns, 3), np.uint32)
        for row in range(rows):
            line[:] = 0
            for y in range(row * side, row * side + side):
                source = images[i, y]
                for column in range(columns):
                    for x in range(column * side, column * side + side):
                        line[column, 0] += source[x, 0]
                        line[column, 1] += source[x, 1]
                        line[column, 2] += source[x, 2]
            for column in range(columns):
                for c in range(3):
                    line[column, c] //= area
            first = top + row * side if row else 0
            last = top + row * side + side if row < rows - 1 else height
            goal = out[i, first]
            for x in range(width):
                column = min(max((x - left) // side if x >= left else 0, 0), columns - 1)
                goal[x, 0] = line[column, 0]
                goal[x, 1] = line[column, 1]
                goal[x, 2] = line[column, 2]
            for y in range(first + 1, last):
                out[i, y] = goal


@kernel
def resample(image, top, left, rows, row_weights, columns, column_weights, between, out):
    """One image: along rows, a byte image between, then down; `between` is (H, 3 * target)."""
    half, shift = np.int32(1 << 21), np.int32(22)
    taps, target = column_weights.shape[1], len(columns)
    lowest = rows[0]
    highest = rows[-1] + row_weights.shape[1]
    for y in range(lowest, min(highest, image.shape[0] - top)):
        source, row = image[top + y].reshape(-1), between[y]
        for x in range(target):
            p = 3 * (left + columns[x])
            red, green, blue = half, half, half
            for k in range(taps):
                weight = np.int32(column_weights[x, k])
                if weight:
                    red += weight * np.int32(source[p])
                    green += weight * np.int32(source[p + 1])
                    blue += weight * np.int32(source[p + 2])
                p += 3
            row[3 * x] = np.uint8(red >> shift)
            row[3 * x + 1] = np.uint8(green >> shift)
            row[3 * x + 2] = np.uint8(blue >> shift)
    line = np.empty(3 * target, np.int32)
    for y in range(len(rows)):
        goal = out[y].reshape(-1)
        line[:] = half
        for k in range(row_weights.shape[1]):
            weight = np.int32(row_weights[y, k])
            if weight:
                row = between[rows[y] + k]
                for x in range(3 * target):
                    line[x] += weight * np.int32(row[x])
        for x in range(3 * target):
            goal[x] = np.uint8(line[x] >> shift)


@kernel
def nearest(images, maps, out):
    n, height, width, _ = images.shape
    for i in range(n):
        a, b, c, d, e, f = maps[i]
        source = images[i]
        for y in range(height):
            goal = out[i, y]
            across, down = c + b * y, f + e * y
            for x in range(width):
                column, row = (across + a * x) >> 16, (down + d * x) >> 16
                if 0 <= column < width and 0 <= row < height:
                    goal[x, 0] = source[row, column, 0]
                    goal[x, 1] = source[row, column, 1]
                    goal[x, 2] = source[row, column, 2]
                else:
                    goal[x, 0] = goal[x, 1] = goal[x, 2] = 0


@kernel
def stamps(rows, columns, used, stamp, counted, out):
    """out (N, H, W), zeros: counts what lies on a pixel, or keeps the last one's number."""
    n, height, width = out.shape
    for i in range(n):
        for k in range(rows.shape[1]):
            if not used[i, k]:
                continue
            for p in range(len(stamp)):
                y, x = np.int64(rows[i, k]) + stamp[p, 0], np.int64(columns[i, k]) + stamp[p, 1]
                if 0 <= y < height and 0 <= x < width:
                    out[i, y, x] = out[i, y, x] + 1 if counted else k + 1


@kernel
def brighten(images, normal, sigmas, out):
    """See corrupt.noc.grain.brighten."""
    for i in range(len(images)):
        source, goal, draws = images[i].reshape(-1), out[i].reshape(-1), normal[i].reshape(-1)
        sigma = sigmas[i]
        for p in range(source.size):
            value = np.float64(source[p]) / 255.0 + abs(draws[p]) * sigma
            goal[p] = np.uint8(np.int32(min(value, 1.0) * 255.0))


@kernel
def mix(images, sums, divisor, weights, out):
    """See corrupt.noc.resampling.mix."""
    for i in range(len(images)):
        source, goal, total = images[i].reshape(-1), out[i].reshape(-1), sums[i].reshape(-1)
        weight = weights[i]
        for p in range(source.size):
            x = np.float64(source[p])
            value = x + weight * (total[p] / divisor - x)
            goal[p] = np.uint8(np.int32(min(max(value, 0.0), 255.0)))


@kernel
def fade(images, weights, out):
    """See corrupt.noc.colour.fade."""
    for i in range(len(images)):
        source, goal, weight = images[i].reshape(-1), out[i].reshape(-1), weights[i]
        for p in range(0, source.size, 3):
            r, g, b = np.int32(source[p]), np.int32(source[p + 1]), np.int32(source[p + 2])
            luma = np.float64((r * 19595 + g * 38470 + b * 7471 + 32768) >> 16)
            for c in range(3):
                x = np.float64(source[p + c])
                value = x + weight * (luma - x)
                goal[p + c] = np.uint8(np.int32(min(max(value, 0.0), 255.0)))


@kernel
def turn_hue(images, shifts, out):
    """See corrupt.noc.colour.turn_hue: Pillow's 8-bit HSV there and back."""
    sixths, parts = np.empty(256, np.int64), np.empty(256, np.float32)
    for hue in range(256):
        place = hue * 6.0 / 255.0
        sixths[hue] = np.int64(np.floor(place))
        parts[hue] = np.float32(place - np.floor(place))
    n = len(images)
    for i in range(n):
        shift = shifts[i]
        source, goal = images[i].reshape(-1), out[i].reshape(-1)
        for p in range(0, source.size, 3):
            r, g, b = np.int32(source[p]), np.int32(source[p + 1]), np.int32(source[p + 2])
            high, low = max(max(r, g), b), min(min(r, g), b)
            if high == low:
                goal[p], goal[p + 1], goal[p + 2] = high, high, high
                continue
            spread = np.float32(high - low)
            saturation = np.float64(spread / np.float32(high)) * 255.0
            red, green, blue = (
                np.float32(high - r) / spread,
                np.float32(high - g) / spread,
                np.float32(high - b) / spread,
            )
            if r == high:
                hue = blue - green
            elif g == high:
                hue = np.float32(2.0 + np.float64(red) - np.float64(blue))
            else:
                hue = np.float32(4.0 + np.float64(green) - np.float64(red))
            turn = np.float64(hue) / 6.0 + 1.0
            turn = np.float32(turn - np.floor(turn))
            level = (np.int64(np.float64(turn) * 255.0) + shift) & 255
            # Whole numbers times whole numbers of 255ths.
            s = np.float64(np.float32(np.floor(saturation) / 255.0))
            if s == 0.0:
                goal[p], goal[p + 1], goal[p + 2] = high, high, high
                continue
            f, v = np.float64(parts[level]), np.float64(high)
            dark = np.uint8(np.floor(v * (1.0 - s) + 0.5))
            falling = np.uint8(np.floor(v * (1.0 - s * f) + 0.5))
            rising = np.uint8(np.floor(v * (1.0 - s * (1.0 - f)) + 0.5))
            bright, sector = np.uint8(high), sixths[level] % 6
            if sector == 0:
                goal[p], goal[p + 1], goal[p + 2] = bright, rising, dark
            elif sector == 1:
                goal[p], goal[p + 1], goal[p + 2] = falling, bright, dark
            elif sector == 2:
                goal[p], goal[p + 1], goal[p + 2] = dark, bright, rising
            elif sector == 3:
                goal[p], goal[p + 1], goal[p + 2] = dark, falling, bright
            elif sector == 4:
                goal[p], goal[p + 1], goal[p + 2] = rising, dark, bright
            else:
                goal[p], goal[p + 1], goal[p + 2] = bright, dark, falling
