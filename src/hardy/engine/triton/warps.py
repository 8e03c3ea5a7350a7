"""Bilinear sampling on a GPU: zooms and displacement fields, in the arithmetic of `cpu.warps`.

The warps of sequences are in `frames`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
import triton
import triton.language as tl
from torch import Tensor

from hardy.engine.tables import filter_weights as tables
from hardy.engine.triton.launch import launch, parts
from hardy.engine.triton.levels import byte_of, unit32
from hardy.engine.triton.stable_jit import jit


class _Zooms(NamedTuple):
    """First pixels and second weights of one axis under several zooms, (K, side)."""

    first: Tensor
    weight: Tensor


@lru_cache(maxsize=64)
def _zooms(
    side: int, factors: tuple[float, ...], whole: bool, dtype: type, device: torch.device
) -> _Zooms:
    """Counted from the start of the whole side, or of the crop that a zoom reads."""
    zooms = [tables.clipped_zoom(side, factor) for factor in factors]
    first = np.stack([zoom.first + (zoom.top if whole else 0) for zoom in zooms])
    weight = np.stack([zoom.weight for zoom in zooms])
    return _Zooms(
        torch.from_numpy(first.astype(np.int32)).to(device),
        torch.from_numpy(weight.astype(dtype)).to(device),
    )


@jit
def _units(images, out, count, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    level = tl.load(images + place, mask=place < count, other=0)
    tl.store(out + place, unit32(level), mask=place < count)


@jit(general=["width", "height", "zooms", "strips", "blocks"])
def _zoom_mean(
    units, rows, row_weights, columns, column_weights, out,
    height, width, zooms, divisor: tl.float32, strips, blocks,
    CHANNELS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """The image, its zooms in list order, the image again; between rows first, then along them."""
    program = tl.program_id(0)
    values = width * CHANNELS
    x = program % blocks * BLOCK + tl.arange(0, BLOCK)
    y = program // blocks % strips * ROWS + tl.arange(0, ROWS)
    start = (program // (blocks * strips)).to(tl.int64) * height * values
    inside = (y < height)[:, None] & (x < values)[None, :]
    goal = out + start + (y * values)[:, None] + x[None, :]
    # What lies beyond is computed from the last row and column, and not stored.
    y, x = tl.minimum(y, height - 1), tl.max_contiguous(tl.minimum(x, values - 1), BLOCK)
    column, channel = x // CHANNELS, x % CHANNELS
    units += start
    own = tl.load(units + (y * values)[:, None] + x[None, :])
    total = own
    for k in range(1, zooms):
        top = tl.load(rows + k * height + y)
        down = tl.load(row_weights + k * height + y)[:, None]
        left = tl.load(columns + k * width + column)
        # Neighbouring lanes read neighbouring values, which the compiler cannot see.
        place = tl.max_contiguous(left * CHANNELS + channel, BLOCK)
        along = tl.load(column_weights + k * width + column)[None, :]
        first = units + (top * values)[:, None] + place[None, :]
        second = first + values
        a = tl.load(first)
        b = tl.load(first + CHANNELS)
        a = a + down * (tl.load(second) - a)
        b = b + down * (tl.load(second + CHANNELS) - b)
        total = total + (a + along * (b - a))
    mean = byte_of(tl.div_rn(own + total, tl.zeros((ROWS, BLOCK), tl.float32) + divisor))
    tl.store(goal, mean, mask=inside)


def zoom_mean(images: Tensor, factors: Sequence[float]) -> Tensor:
    """Works on units, made once: four float32 loads and ten operations a value and zoom remain."""
    images = images.contiguous()
    n, height, width, channels = images.shape
    device = images.device
    units = torch.empty_like(images, dtype=torch.float32)
    count, block = images.numel(), 1024
    launch(_units, parts(count, block), device, images, units, count, BLOCK=block)
    rows = _zooms(height, tuple(factors), True, np.float32, device)
    columns = _zooms(width, tuple(factors), True, np.float32, device)
    out = torch.empty_like(images)
    tall, block = 4, 128
    strips, blocks = parts(height, tall), parts(width * channels, block)
    launch(
        _zoom_mean, n * strips * blocks, device,
        units, *rows, *columns, out, height, width, len(factors), len(factors) + 1.0,
        strips, blocks, CHANNELS=channels, ROWS=tall, BLOCK=block, num_warps=1, num_stages=1,
    )  # fmt: skip
    return out


@jit(general=["tall", "wide", "width", "height", "strips", "blocks"])
def _zoom(
    fields, rows, row_weights, columns, column_weights, out,
    tall, wide, height, width, strips, blocks, ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Products and sums are taken in SciPy's order."""
    program = tl.program_id(0)
    x = program % blocks * BLOCK + tl.arange(0, BLOCK)
    y = program // blocks % strips * ROWS + tl.arange(0, ROWS)
    field = (program // (blocks * strips)).to(tl.int64)
    in_row, in_column = x < width, y < height
    inside = in_column[:, None] & in_row[None, :]
    below = tl.load(row_weights + y, mask=in_column, other=0.0)[:, None]
    right = tl.load(column_weights + x, mask=in_row, other=0.0)[None, :]
    above, left = 1.0 - below, 1.0 - right
    first = tl.load(rows + y, mask=in_column, other=0) * wide
    place = fields + field * tall * wide + first[:, None]
    # Neighbouring lanes read neighbouring values, which the compiler cannot see.
    place += tl.max_contiguous(tl.load(columns + x, mask=in_row, other=0), BLOCK)[None, :]
    total = (tl.load(place, mask=inside, other=0.0) * above) * left
    total = total + (tl.load(place + 1, mask=inside, other=0.0) * above) * right
    total = total + (tl.load(place + wide, mask=inside, other=0.0) * below) * left
    total = total + (tl.load(place + wide + 1, mask=inside, other=0.0) * below) * right
    goal = out + field * height * width + (y * width)[:, None] + x[None, :]
    tl.store(goal, total, mask=inside)


def zoom(fields: Tensor, factor: float, size: tuple[int, int]) -> Tensor:
    if factor == 1:
        return fields
    fields = fields.contiguous()
    n, tall, wide = fields.shape
    height, width = size
    rows = _zooms(height, (factor,), False, np.float64, fields.device)
    columns = _zooms(width, (factor,), False, np.float64, fields.device)
    out = torch.empty((n, height, width), dtype=torch.float64, device=fields.device)
    count, block = 16, 32
    strips, blocks = parts(height, count), parts(width, block)
    launch(
        _zoom, n * strips * blocks, fields.device,
        fields, *rows, *columns, out, tall, wide, height, width, strips, blocks,
        ROWS=count, BLOCK=block, num_warps=4,
    )  # fmt: skip
    return out


@jit
def _folded(index, first, last, side):
    index = tl.maximum(index, first - index)
    # Clamped once more: a coordinate that is no number must not read outside the image.
    index = tl.minimum(index, last - index).to(tl.int32)
    return tl.minimum(tl.maximum(index, 0), side - 1)


@jit
def _taps(place, inside, side, FIRST: tl.constexpr):
    """Indices of both pixels about the coordinates of a row, and the fraction; see cpu.warps.

    One coordinate too far out shifts the whole row by periods, hence a program for every row.
    """
    last = 2.0 * side.to(tl.float64) - (2.0 + FIRST)
    before = tl.floor(place)
    far = (before < -side.to(tl.float64)) | (before >= last)
    if tl.max((far & inside).to(tl.int32), 0) > 0:
        period = last - FIRST
        place = place - period * tl.floor((before - FIRST) / period)
        before = tl.floor(place)
    fraction = (place - before).to(tl.float32)
    return _folded(before, FIRST, last, side), _folded(before + 1.0, FIRST, last, side), fraction


@jit
def _mixed(a, b, c, d, t, u):
    a = a + t * (b - a)
    c = c + t * (d - c)
    return a + u * (c - a)


@jit
def _turn(images, inverses, out, height, width, BLOCK: tl.constexpr):
    """The affine step: bytes to float32 planes (N, 3, H, W), reflect-101."""
    program = tl.program_id(0)
    image, y = (program // height).to(tl.int64), program % height
    x = tl.arange(0, BLOCK)
    inside = x < width
    m = inverses + 6 * image
    at_x = tl.load(m) * x.to(tl.float64) + tl.load(m + 1) * y.to(tl.float64) + tl.load(m + 2)
    at_y = tl.load(m + 3) * x.to(tl.float64) + tl.load(m + 4) * y.to(tl.float64) + tl.load(m + 5)
    left, right, t = _taps(at_x, inside, width, 0.0)
    top, bottom, u = _taps(at_y, inside, height, 0.0)
    images += image * height * width * 3
    out += image * 3 * height * width + y * width
    for c in tl.static_range(3):
        p = unit32(tl.load(images + (3 * (top * width + left) + c), mask=inside, other=0))
        q = unit32(tl.load(images + (3 * (top * width + right) + c), mask=inside, other=0))
        r = unit32(tl.load(images + (3 * (bottom * width + left) + c), mask=inside, other=0))
        s = unit32(tl.load(images + (3 * (bottom * width + right) + c), mask=inside, other=0))
        tl.store(out + (c * height * width + x), _mixed(p, q, r, s, t, u), mask=inside)


@jit
def _displace(planes, down, along, out, height, width, BLOCK: tl.constexpr):
    """The second step: planes sampled at displaced places, to bytes; the edge pixel is repeated."""
    program = tl.program_id(0)
    image, y = (program // height).to(tl.int64), program % height
    x = tl.arange(0, BLOCK)
    inside = x < width
    place = image * height * width + y * width + x
    at_x = x.to(tl.float64) + tl.load(along + place, mask=inside, other=0.0).to(tl.float64)
    at_y = y.to(tl.float64) + tl.load(down + place, mask=inside, other=0.0).to(tl.float64)
    left, right, t = _taps(at_x, inside, width, -1.0)
    top, bottom, u = _taps(at_y, inside, height, -1.0)
    planes += image * 3 * height * width
    for c in tl.static_range(3):
        plane = planes + c * height * width
        p = tl.load(plane + (top * width + left), mask=inside, other=0.0)
        q = tl.load(plane + (top * width + right), mask=inside, other=0.0)
        r = tl.load(plane + (bottom * width + left), mask=inside, other=0.0)
        s = tl.load(plane + (bottom * width + right), mask=inside, other=0.0)
        tl.store(out + (3 * place + c), byte_of(_mixed(p, q, r, s, t, u)), mask=inside)


def elastic(images: Tensor, inverses: Tensor, down: Tensor, along: Tensor) -> Tensor:
    images, inverses = images.contiguous(), inverses.contiguous()
    n, height, width, _ = images.shape
    planes = torch.empty((n, 3, height, width), dtype=torch.float32, device=images.device)
    out = torch.empty_like(images)
    block = triton.next_power_of_2(width)
    options = {"BLOCK": block, "num_warps": min(max(block // 32, 1), 16)}
    launch(_turn, n * height, images.device, images, inverses, planes, height, width, **options)
    launch(
        _displace, n * height, images.device,
        planes, down.contiguous(), along.contiguous(), out, height, width, **options,
    )  # fmt: skip
    return out
