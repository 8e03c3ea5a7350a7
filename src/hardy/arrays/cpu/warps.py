"""Bilinear sampling: zooms, the affine warp, displacement fields.

Pixels are packed as four float32 (red, green, blue, unused), so that one pixel is one vector
register; mixing as a + t (b - a) keeps flat areas exact, where a last bit would decide a byte.
"""

from __future__ import annotations

import numpy as np

from hardy.arrays.cpu.compile import kernel


@kernel
def pack(image, packed):  # type: ignore[no-untyped-def]
    """uint8 (H, W, 3) -> float32 (H, W, 4) in 0..1."""
    height, width, _ = image.shape
    full = np.float32(255.0)
    for y in range(height):
        for x in range(width):
            for c in range(3):
                packed[y, x, c] = np.float32(image[y, x, c]) / full
            packed[y, x, 3] = np.float32(0.0)


@kernel
def unpack(packed, image):  # type: ignore[no-untyped-def]
    """float32 (H, W, 4) -> uint8 (H, W, 3): clip, times 255, truncate."""
    height, width, _ = image.shape
    zero, one, full = np.float32(0.0), np.float32(1.0), np.float32(255.0)
    for y in range(height):
        for x in range(width):
            for c in range(3):
                value = min(max(packed[y, x, c], zero), one)
                image[y, x, c] = np.uint8(np.int32(value * full))


@kernel
def zoom_mean_bytes(images, rows, row_weights, places, place_weights, out):  # type: ignore[no-untyped-def]
    """Mean of the image and its K zooms, summed in float32 in list order.

    rows (K, H) and places (K, W*3) are first taps, in rows and in values of a row; the second tap
    is the next pixel. The first zoom is the image itself, which therefore counts twice.
    """
    n, height, width, channels = images.shape
    values = width * channels
    step = np.uint32(channels)
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
            start, stop = place[0], place[values - 1] + step + np.uint32(1)
            for y in range(height):
                first = rows[k, y]
                top, bottom = unit[first, start:stop], unit[first + np.uint32(1), start:stop]
                part, t = line[start:stop], row_weights[k, y]
                for x in range(len(part)):
                    part[x] = top[x] + t * (bottom[x] - top[x])
                goal = total[y]
                for x in range(values):
                    left = line[place[x]]
                    goal[x] = goal[x] + (left + weight[x] * (line[place[x] + step] - left))
        for y in range(height):
            row, goal, target = unit[y], total[y], out[i, y].reshape(-1)
            for x in range(values):
                mean = (row[x] + goal[x]) / divisor
                target[x] = np.uint8(np.int32(min(mean, one) * full))


@kernel
def zoom_fields(fields, first_y, weight_y, first_x, weight_x, out):  # type: ignore[no-untyped-def]
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
def _mirror(index, size):  # type: ignore[no-untyped-def]
    """Reflection without repeating the edge pixel (reflect-101)."""
    period = 2 * size - 2
    index = abs(index) % period
    return index if index < size else period - index


@kernel
def _reflect(index, size):  # type: ignore[no-untyped-def]
    """Reflection that repeats the edge pixel."""
    index %= 2 * size
    return index if index < size else 2 * size - 1 - index


@kernel
def _mix(source, y0, y1, x0, x1, ty, tx, goal):  # type: ignore[no-untyped-def]
    """goal = the bilinear mixture of four packed pixels."""
    a0, a1, a2, a3 = source[y0, x0, 0], source[y0, x0, 1], source[y0, x0, 2], source[y0, x0, 3]
    b0, b1, b2, b3 = source[y0, x1, 0], source[y0, x1, 1], source[y0, x1, 2], source[y0, x1, 3]
    c0, c1, c2, c3 = source[y1, x0, 0], source[y1, x0, 1], source[y1, x0, 2], source[y1, x0, 3]
    d0, d1, d2, d3 = source[y1, x1, 0], source[y1, x1, 1], source[y1, x1, 2], source[y1, x1, 3]
    a0, a1, a2, a3 = (
        a0 + tx * (b0 - a0), a1 + tx * (b1 - a1), a2 + tx * (b2 - a2), a3 + tx * (b3 - a3),
    )
    c0, c1, c2, c3 = (
        c0 + tx * (d0 - c0), c1 + tx * (d1 - c1), c2 + tx * (d2 - c2), c3 + tx * (d3 - c3),
    )
    goal[0], goal[1], goal[2], goal[3] = (
        a0 + ty * (c0 - a0), a1 + ty * (c1 - a1), a2 + ty * (c2 - a2), a3 + ty * (c3 - a3),
    )


@kernel
def elastic_bytes(images, inverses, down, along, out):  # type: ignore[no-untyped-def]
    """Affine warp (inverse maps (N, 2, 3), reflect-101), then sample at the displaced places.

    Displacements are float32 (N, H, W), added to the pixel's place in float64; the border of the
    second step repeats the edge pixel. Both steps are exact bilinear and stored as float32.
    """
    n, height, width, _ = images.shape
    packed = np.empty((height, width, 4), np.float32)
    warped = np.empty((height, width, 4), np.float32)
    for i in range(n):
        pack(images[i], packed)
        m = inverses[i]
        for y in range(height):
            for x in range(width):
                sx = m[0, 0] * x + m[0, 1] * y + m[0, 2]
                sy = m[1, 0] * x + m[1, 1] * y + m[1, 2]
                fx, fy = np.floor(sx), np.floor(sy)
                px, py = np.int64(fx), np.int64(fy)
                tx, ty = np.float32(sx - fx), np.float32(sy - fy)
                if 0 <= px < width - 1 and 0 <= py < height - 1:
                    _mix(packed, py, py + 1, px, px + 1, ty, tx, warped[y, x])
                else:
                    _mix(
                        packed,
                        _mirror(py, height), _mirror(py + 1, height),
                        _mirror(px, width), _mirror(px + 1, width),
                        ty, tx, warped[y, x],
                    )
        for y in range(height):
            for x in range(width):
                sx, sy = x + np.float64(along[i, y, x]), y + np.float64(down[i, y, x])
                fx, fy = np.floor(sx), np.floor(sy)
                px, py = np.int64(fx), np.int64(fy)
                tx, ty = np.float32(sx - fx), np.float32(sy - fy)
                if 0 <= px < width - 1 and 0 <= py < height - 1:
                    _mix(warped, py, py + 1, px, px + 1, ty, tx, packed[y, x])
                else:
                    _mix(
                        warped,
                        _reflect(py, height), _reflect(py + 1, height),
                        _reflect(px, width), _reflect(px + 1, width),
                        ty, tx, packed[y, x],
                    )
        unpack(packed, out[i])
