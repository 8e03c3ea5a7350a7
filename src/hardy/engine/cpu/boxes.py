"""Box resampling, and windows in textures."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from hardy.engine.cpu.compile import kernel
from hardy.engine.door import UInt8
from hardy.engine.tables import filter_weights as tables
from hardy.errors import InputError


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


def pixelate(images: UInt8, small: tuple[int, int]) -> UInt8:
    out = np.empty_like(images)
    _, height, width, _ = images.shape
    box_bytes(
        images,
        *tables.box_shrink(height, small[0]),
        *tables.box_shrink(width, small[1]),
        tables.box_enlarge(small[0], height),
        tables.box_enlarge(small[1], width),
        out,
    )
    return out


def crops(
    sources: Sequence[UInt8], which: Any, rows: Any, columns: Any, size: tuple[int, int]
) -> UInt8:
    height, width = size
    out = np.empty((len(which), height, width, 3), np.uint8)
    places = zip(which.tolist(), rows.tolist(), columns.tolist(), strict=True)
    for i, (k, y, x) in enumerate(places):
        window = sources[k][y : y + height, x : x + width] if 0 <= k < len(sources) else None
        if window is None or min(y, x) < 0 or window.shape != out.shape[1:]:
            raise InputError(
                f"expected a window of {height} x {width} in one of {len(sources)} textures, "
                f"got texture {k} at row {y}, column {x}, which lies outside"
            )
        out[i] = window
    return out
