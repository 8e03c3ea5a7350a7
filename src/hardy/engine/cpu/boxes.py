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
    """Pillow's BOX shrink (along rows, a byte image between the passes) and enlargement back.

    Along a row, vector code adds up 1, 2, ... pixels from every place on; then the sums that are
    wanted are picked.
    """
    n, height, width, _ = images.shape
    values, small_values = 3 * width, 3 * len(first_x)
    half, shift = np.uint32(1 << 21), np.uint32(22)
    sums = np.zeros((count_x.max(), values), np.uint32)
    picks, weights = np.empty(small_values, np.uint32), np.empty(small_values, np.uint32)
    for x in range(small_values):
        picks[x] = (count_x[x // 3] - 1) * values + 3 * first_x[x // 3] + x % 3
        weights[x] = weight_x[x // 3]
    back = np.empty(values, np.uint32)
    for x in range(values):
        back[x] = 3 * back_x[x // 3] + x % 3
    narrow, small = np.empty((height, small_values), np.uint8), np.empty(small_values, np.uint8)
    line, flat = np.empty(small_values, np.uint32), sums.reshape(-1)
    for i in range(n):
        for y in range(height):
            source, row = images[i, y].reshape(-1), narrow[y]
            for x in range(values):
                flat[x] = source[x]
            for k in range(1, len(sums)):
                fewer, more, last = sums[k - 1], sums[k], source[3 * k :]
                for x in range(len(last)):
                    more[x] = np.uint32(fewer[x] + last[x])
            for x in range(small_values):
                line[x] = flat[picks[x]]
            for x in range(small_values):
                row[x] = np.uint8(np.uint32(half + np.uint32(line[x] * weights[x])) >> shift)
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
                for x in range(small_values):
                    line[x] += row[x]
            weight = np.uint32(weight_y[block])
            for x in range(small_values):
                small[x] = np.uint8(np.uint32(half + np.uint32(line[x] * weight)) >> shift)
            for x in range(values):
                goal[x] = small[back[x]]


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
