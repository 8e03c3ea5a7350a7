"""Point operations by colour, box resampling, and the small fixed-point steps of spatter."""

from __future__ import annotations

import numpy as np

from hardy.engine.cpu.compile import kernel


@kernel
def channel_means(images, out):
    """One running float64 sum of level / 255 per channel, pixel by pixel, as NumPy adds them."""
    unit = np.arange(256) / 255.0
    n, height, width, _ = images.shape
    for i in range(n):
        red, green, blue = 0.0, 0.0, 0.0
        for y in range(height):
            row = images[i, y].reshape(-1)
            for x in range(width):
                red += unit[row[3 * x]]
                green += unit[row[3 * x + 1]]
                blue += unit[row[3 * x + 2]]
        pixels = height * width
        out[i, 0], out[i, 1], out[i, 2] = red / pixels, green / pixels, blue / pixels


@kernel
def stretch(images, means, gain, out):
    """See corrupt.digital.stretch: one 256-entry table per image and channel."""
    n, height, width, _ = images.shape
    table = np.empty((3, 256), np.uint8)
    for i in range(n):
        for c in range(3):
            mean = means[i, c]
            for level in range(256):
                value = (level / 255.0 - mean) * gain + mean
                table[c, level] = np.uint8(np.int32(min(max(value, 0.0), 1.0) * 255.0))
        source, goal = images[i].reshape(-1), out[i].reshape(-1)
        for p in range(height * width):
            goal[3 * p] = table[0, source[3 * p]]
            goal[3 * p + 1] = table[1, source[3 * p + 1]]
            goal[3 * p + 2] = table[2, source[3 * p + 2]]


@kernel
def recolour(images, value_shift, gain, offset, out):
    """See corrupt.digital.recolour: the float64 HSV round trip, as selections without branches.

    Blocks of pixels are split into planes first, so that the arithmetic vectorises.
    """
    block = 256
    reds, greens, blues = np.empty(block), np.empty(block), np.empty(block)
    source, goal = images.reshape(-1), out.reshape(-1)
    pixels = source.size // 3
    for start in range(0, pixels, block):
        count = min(block, pixels - start)
        piece, target = source[3 * start :], goal[3 * start :]
        for p in range(count):
            reds[p] = piece[3 * p] / 255.0
            greens[p] = piece[3 * p + 1] / 255.0
            blues[p] = piece[3 * p + 2] / 255.0
        for p in range(count):
            r, g, b = reds[p], greens[p], blues[p]
            high = max(max(r, g), b)
            spread = high - min(min(r, g), b)
            grey = spread == 0.0
            safe = 1.0 if grey else spread
            saturation = spread / (1.0 if grey else high)
            from_blue = b == high
            from_green = g == high
            base = 4.0 if from_blue else (2.0 if from_green else 0.0)
            near = r - g if from_blue else (b - r if from_green else g - b)
            hue = (base + near / safe) / 6.0
            hue = hue + 1.0 if hue < 0.0 else hue
            hue = 0.0 if grey else hue
            high = min(max(high + value_shift, 0.0), 1.0)
            saturation = min(max(saturation * gain + offset, 0.0), 1.0)
            sixth = hue * 6.0
            sector = np.floor(sixth)
            f = sixth - sector
            low = high * (1.0 - saturation)
            falling = high * (1.0 - f * saturation)
            rising = high * (1.0 - (1.0 - f) * saturation)
            reds[p] = (
                high
                if sector == 0.0 or sector == 5.0
                else (falling if sector == 1.0 else (rising if sector == 4.0 else low))
            )
            greens[p] = (
                high
                if sector == 1.0 or sector == 2.0
                else (rising if sector == 0.0 else (falling if sector == 3.0 else low))
            )
            blues[p] = (
                high
                if sector == 3.0 or sector == 4.0
                else (rising if sector == 2.0 else (falling if sector == 5.0 else low))
            )
        for p in range(count):
            target[3 * p] = np.uint8(np.int32(reds[p] * 255.0))
            target[3 * p + 1] = np.uint8(np.int32(greens[p] * 255.0))
            target[3 * p + 2] = np.uint8(np.int32(blues[p] * 255.0))


@kernel
def box_bytes(images, first_y, count_y, weight_y, first_x, count_x, weight_x, back_y, back_x, out):
    """Pillow's BOX shrink (along rows, a byte image between the passes) and enlargement back."""
    n, height, width, _ = images.shape
    small_w = len(first_x)
    half, shift, step = np.uint32(1 << 21), np.uint32(22), np.uint64(3)
    narrow = np.empty((height, 3 * small_w), np.uint8)
    small = np.empty(3 * small_w, np.uint8)
    line = np.empty(3 * small_w, np.uint32)
    for i in range(n):
        for y in range(height):
            source, row = images[i, y].reshape(-1), narrow[y]
            for x in range(small_w):
                p, weight = np.uint64(first_x[x]) * step, np.uint32(weight_x[x])
                red, green, blue = np.uint32(0), np.uint32(0), np.uint32(0)
                for _ in range(count_x[x]):
                    red += np.uint32(source[p])
                    green += np.uint32(source[p + np.uint64(1)])
                    blue += np.uint32(source[p + np.uint64(2)])
                    p += step
                row[3 * x] = np.uint8((half + red * weight) >> shift)
                row[3 * x + 1] = np.uint8((half + green * weight) >> shift)
                row[3 * x + 2] = np.uint8((half + blue * weight) >> shift)
        block = -1
        for y in range(height):
            goal = out[i, y].reshape(-1)
            if back_y[y] == block:
                goal[:] = out[i, y - 1].reshape(-1)
                continue
            block = back_y[y]
            line[:] = 0
            for k in range(count_y[block]):
                row = narrow[first_y[block] + k]
                for x in range(len(line)):
                    line[x] += row[x]
            weight = np.uint32(weight_y[block])
            for x in range(len(line)):
                small[x] = np.uint8((half + line[x] * weight) >> shift)
            for x in range(width):
                p = np.uint64(back_x[x]) * step
                goal[3 * x] = small[p]
                goal[3 * x + 1] = small[p + np.uint64(1)]
                goal[3 * x + 2] = small[p + np.uint64(2)]


@kernel
def _scan(near, far, row, zeros):
    """One row of the distance, but for the step along the row: near and far are the last two."""
    one, diagonal, knight = np.int32(65536), np.int32(91750), np.int32(143976)
    near1, near2, near3, near4 = near[1:], near[2:], near[3:], near[4:]
    far1, far3, inner = far[1:], far[3:], row[2:]
    for x in range(len(zeros)):
        jump = min(min(far1[x], far3[x]), min(near[x], near4[x])) + knight
        best = min(min(jump, min(near1[x], near3[x]) + diagonal), near2[x] + one)
        inner[x] = np.int32(0) if zeros[x] else min(inner[x], best)


@kernel
def chamfer(zeros, out):
    """Distance to the nearest True of (N, H, W), 5x5 mask, in OpenCV's 16-bit fixed point.

    OpenCV may hand this step to another library with float steps, hence a different last digit;
    written out, the layer does not depend on how OpenCV was built. Steps between rows vectorise,
    which leaves the step along the row to be done one by one.
    """
    n, height, width = zeros.shape
    one = np.int32(65536)
    grid = np.empty((height + 4, width + 4), np.int32)
    for i in range(n):
        grid[:] = (2**31 - 1) >> 2
        for y in range(2, height + 2):
            row = grid[y]
            row[2:-2] = 2**31 - 1
            _scan(grid[y - 1], grid[y - 2], row, zeros[i, y - 2])
            best = row[1]
            for x in range(2, width + 2):
                best = min(row[x], best + one)
                row[x] = best
        for y in range(height + 1, 1, -1):
            row, goal = grid[y], out[i, y - 2]
            _scan(grid[y + 1], grid[y + 2], row, zeros[i, y - 2])
            best = row[width + 2]
            for x in range(width + 1, 1, -1):
                best = min(row[x], best + one)
                row[x] = best
            for x in range(width):
                goal[x] = np.float32(row[x + 2]) * np.float32(2.0**-16)
