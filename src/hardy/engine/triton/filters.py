"""Gaussian filters on a GPU, in the order of `cpu.filters`.

A separable filter is two kernels with float64 lines between them, which cost more memory traffic
than all else: at 224 a blur moves 2.7 MB an image and has 2 + 6 L sums and products a value,
L being the reach, 3 to 6 for glass.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
import triton.language as tl
from torch import Tensor

from hardy.engine.tables import filter_weights as tables
from hardy.engine.torch import filters as torch_filters
from hardy.engine.torch.constants import constant
from hardy.engine.triton.launch import launch, parts
from hardy.engine.triton.levels import byte_of, unit64
from hardy.engine.triton.stable_jit import jit

_NEAREST, _REFLECT, _REFLECT_AGAIN = tl.constexpr(0), tl.constexpr(1), tl.constexpr(2)
# From this many taps a side a filter is cheaper as matrix products; the CPU engine's switch too.
_MANY_TAPS = 40
# Up to this reach the rows of a window, 2 L + 1, stay in registers.
_SHORT_REACH = 12


@jit
def _unit_row(image, y, height, values, x, inside):
    place = tl.minimum(tl.maximum(y, 0), height - 1) * values
    return unit64(tl.load(image + (place + x), mask=inside, other=0))


@jit
def _down_window(
    images, weights, out, height, values, strips, blocks,
    REACH: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Vertical pass over bytes, edges replicated: a window of rows slides down a strip of ROWS.

    So a byte is loaded and divided by 255 but (ROWS + 2 REACH) / ROWS times instead of 2 REACH + 1.
    """
    program = tl.program_id(0)
    x = program % blocks * BLOCK + tl.arange(0, BLOCK)
    top = program // blocks % strips * ROWS
    start = (program // (blocks * strips)).to(tl.int64) * height * values
    inside = x < values
    taps = ()
    for j in tl.static_range(REACH + 1):
        taps += (tl.load(weights + j),)
    rows = ()
    for j in tl.static_range(2 * REACH):
        rows += (_unit_row(images + start, top - REACH + j, height, values, x, inside),)
    for r in tl.static_range(ROWS):
        y = top + r
        rows += (_unit_row(images + start, y + REACH, height, values, x, inside),)
        total = rows[r + REACH] * taps[0]
        for k in tl.static_range(REACH):
            total = total + (rows[r + k] + rows[r + 2 * REACH - k]) * taps[REACH - k]
        limit = tl.where(y < height, values, 0)
        tl.store(out + start + (y * values + x), total, mask=x < limit)


@jit
def _bounds(index, side, BORDER: tl.constexpr):
    """Two numbers, of which the lesser is the index of what stands for a place outside.

    That is the edge, or half-sample reflection.
    """
    if BORDER == _NEAREST:
        return tl.maximum(index, 0), tl.zeros_like(index) + (side - 1)
    if BORDER == _REFLECT_AGAIN:
        index = (index % (2 * side) + 2 * side) % (2 * side)
    index = tl.maximum(index, -1 - index)
    return index, 2 * side - 1 - index


@jit
def _tap(source, y, x, values, FROM_BYTES: tl.constexpr):
    value = tl.load(source + (y * values)[:, None] + x[None, :])
    if FROM_BYTES:
        value = unit64(value)
    return value


@jit(general=["width", "height", "reach", "strips", "blocks"])
def _correlate(
    source, weights, out, height, width, channels, reach, strips, blocks,
    DOWN: tl.constexpr, BORDER: tl.constexpr, FROM_BYTES: tl.constexpr, TO_BYTES: tl.constexpr,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """One axis of (N, height, width, channels): centre first, then pairs, outermost first."""
    program = tl.program_id(0)
    values = width * channels
    x = program % blocks * BLOCK + tl.arange(0, BLOCK)
    y = program // blocks % strips * ROWS + tl.arange(0, ROWS)
    start = (program // (blocks * strips)).to(tl.int64) * height * values
    source += start
    inside = (y < height)[:, None] & (x < values)[None, :]
    goal = out + start + (y * values)[:, None] + x[None, :]
    # What lies beyond is computed from the last row and column, and not stored.
    y, x = tl.minimum(y, height - 1), tl.max_contiguous(tl.minimum(x, values - 1), BLOCK)
    column, channel = x // channels, x % channels
    total = _tap(source, y, x, values, FROM_BYTES) * tl.load(weights)
    for k in tl.range(0, reach, loop_unroll_factor=4):
        j = reach - k
        if DOWN:
            above, most = _bounds(y - j, height, BORDER)
            before = _tap(source, tl.minimum(above, most), x, values, FROM_BYTES)
            below, most = _bounds(y + j, height, BORDER)
            after = _tap(source, tl.minimum(below, most), x, values, FROM_BYTES)
        else:
            # Neighbouring lanes read neighbouring values: said twice, since one channel is not
            # multiplied, and here, since what is said in a function gets lost.
            left, most = _bounds(column - j, width, BORDER)
            left = tl.max_contiguous(tl.minimum(left, most), BLOCK) * channels + channel
            left = tl.max_contiguous(left, BLOCK)
            before = _tap(source, y, left, values, FROM_BYTES)
            right, most = _bounds(column + j, width, BORDER)
            right = tl.max_contiguous(tl.minimum(right, most), BLOCK) * channels + channel
            right = tl.max_contiguous(right, BLOCK)
            after = _tap(source, y, right, values, FROM_BYTES)
        total = total + (before + after) * tl.load(weights + j)
    if TO_BYTES:
        total = byte_of(total)
    tl.store(goal, total, mask=inside)


def _correlated(source: Tensor, weights: Tensor, down: bool, border: str, to_bytes: bool) -> Tensor:
    """Along rows or columns of (N, H, W, C); bytes are read as level / 255."""
    n, height, width, channels = source.shape
    out = torch.empty_like(source, dtype=torch.uint8 if to_bytes else torch.float64)
    rows, block = 16, 32
    strips, blocks = parts(height, rows), parts(width * channels, block)
    reach = len(weights) - 1
    fold = _REFLECT if reach <= (height if down else width) else _REFLECT_AGAIN
    launch(
        _correlate, n * strips * blocks, source.device,
        source, weights, out, height, width, channels, reach, strips, blocks,
        DOWN=down, BORDER=_NEAREST if border == "nearest" else fold,
        FROM_BYTES=source.dtype == torch.uint8, TO_BYTES=to_bytes,
        ROWS=rows, BLOCK=block, num_warps=4, num_stages=1,
    )  # fmt: skip
    return out


def blur(images: Tensor, sigma: float, truncate: float = 4.0) -> Tensor:
    images = images.contiguous()
    weights = constant(tables.gaussian_weights(sigma, truncate), images.device)
    reach = len(weights) - 1
    if reach <= _SHORT_REACH:
        n, height, width, channels = images.shape
        lines = torch.empty_like(images, dtype=torch.float64)
        rows, block = 16, 64 if reach <= 6 else 32
        strips, blocks = parts(height, rows), parts(width * channels, block)
        launch(
            _down_window, n * strips * blocks, images.device,
            images, weights, lines, height, width * channels, strips, blocks,
            REACH=reach, ROWS=rows, BLOCK=block, num_warps=1,
        )  # fmt: skip
    else:
        lines = _correlated(images, weights, True, "nearest", False)
    return _correlated(lines, weights, False, "nearest", True)


def smooth(fields: Tensor, sigma: float, truncate: float, border: str) -> Tensor:
    fields = fields.contiguous()
    table = tables.gaussian_weights(sigma, truncate)
    if len(table) > _MANY_TAPS:
        if border == "nearest":  # spatter's, which feeds a threshold: in the CPU's order
            return torch_filters.smooth(fields, sigma, truncate, border)
        down, along = (
            _matrix(side, sigma, truncate, border, fields.device) for side in fields.shape[1:]
        )
        return _product(_product(down, fields), along.T)
    weights = constant(table, fields.device)
    down = _correlated(fields[..., None], weights, True, border, False)
    return _correlated(down, weights, False, border, False)[..., 0]


@lru_cache(maxsize=32)
def _matrix(side: int, sigma: float, truncate: float, border: str, device: torch.device) -> Tensor:
    """The filter of one axis, put together again from its even and its odd part."""
    even, odd = tables.smoothing_halves(side, sigma, truncate, border)
    half = len(even)
    matrix = np.empty((side, side))
    # A middle column is its own mirror image: it has no odd part, and its even part is not doubled.
    matrix[:half, side - half :] = ((even - odd) / 2)[:, ::-1]
    matrix[:half, :half] = (even + odd) / 2
    if side % 2:
        matrix[:half, half - 1] = even[:, -1]
    matrix[side - half :] = matrix[:half][::-1, ::-1]
    return torch.from_numpy(matrix).to(device)


@jit
def _matmul(
    left, right, out, rows, inner, columns, left_step, right_step, strips, blocks,
    left_row, left_column, right_row, right_column,
    ROWS: tl.constexpr, BLOCK: tl.constexpr, DEPTH: tl.constexpr,
):  # fmt: skip
    """Products in float64 on the tensor cores. One order of sums for any batch, unlike cuBLAS."""
    program = tl.program_id(0)
    x = program % blocks * BLOCK + tl.arange(0, BLOCK)
    y = program // blocks % strips * ROWS + tl.arange(0, ROWS)
    k = tl.arange(0, DEPTH)
    item = (program // (blocks * strips)).to(tl.int64)
    left += item * left_step + (y * left_row)[:, None] + (k * left_column)[None, :]
    right += item * right_step + (k * right_row)[:, None] + (x * right_column)[None, :]
    total = tl.zeros((ROWS, BLOCK), tl.float64)
    for start in range(0, inner, DEPTH):
        known = start + k < inner
        a = tl.load(left, mask=(y < rows)[:, None] & known[None, :], other=0.0)
        b = tl.load(right, mask=known[:, None] & (x < columns)[None, :], other=0.0)
        total = tl.dot(a, b, total, out_dtype=tl.float64)
        left += DEPTH * left_column
        right += DEPTH * right_row
    goal = out + item * rows * columns + (y * columns)[:, None] + x[None, :]
    tl.store(goal, total, mask=(y < rows)[:, None] & (x < columns)[None, :])


def _product(left: Tensor, right: Tensor) -> Tensor:
    """left @ right, one of them a batch: 2 x 22 million operations a field of 224 x 224.

    Nothing is decided by the last bit of what elastic_transform, which alone smooths so widely,
    makes of it; so the order of sums need not be the CPU's.
    """
    n = len(right if left.ndim == 2 else left)
    rows, inner, columns = left.shape[-2], left.shape[-1], right.shape[-1]
    out = torch.empty((n, rows, columns), dtype=torch.float64, device=left.device)
    tall, wide = 32, 64
    strips, blocks = parts(rows, tall), parts(columns, wide)
    launch(
        _matmul, n * strips * blocks, left.device,
        left, right, out, rows, inner, columns,
        left.stride(0) if left.ndim == 3 else 0, right.stride(0) if right.ndim == 3 else 0,
        strips, blocks, *left.stride()[-2:], *right.stride()[-2:],
        ROWS=tall, BLOCK=wide, DEPTH=16, num_warps=4, num_stages=3,
    )  # fmt: skip
    return out
