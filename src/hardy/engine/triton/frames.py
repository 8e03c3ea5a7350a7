"""The primitives of perturbation sequences on a GPU, in the arithmetic of `cpu.frames`.

A canvas holds one word of 32 bits per pixel (red in the lowest byte) with a ring of black, as on
the CPU: a bilinear sample is four loads instead of twelve.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from hardy.engine.ops import Window
from hardy.engine.triton.launch import launch, parts, pixels_of
from hardy.engine.triton.levels import unit32, whole64

_BLOCK = 512


@triton.jit
def _lay_out(images, out, height, width, blocks, BLOCK: tl.constexpr):
    size = (height + 2) * (width + 2)
    image, place, there = pixels_of(size, blocks, BLOCK)
    y, x = place // (width + 2) - 1, place % (width + 2) - 1
    inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
    pixel = images + image * height * width * 3 + 3 * (y * width + x)
    red = tl.load(pixel, mask=inside, other=0).to(tl.int32)
    green = tl.load(pixel + 1, mask=inside, other=0).to(tl.int32)
    blue = tl.load(pixel + 2, mask=inside, other=0).to(tl.int32)
    tl.store(out + image * size + place, red | (green << 8) | (blue << 16), mask=there)


def canvas(images: Tensor) -> Tensor:
    images = images.contiguous()
    n, height, width, _ = images.shape
    out = torch.empty((n, height + 2, width + 2), dtype=torch.int32, device=images.device)
    blocks = parts((height + 2) * (width + 2), _BLOCK)
    launch(
        _lay_out, n * blocks, images.device, images, out, height, width, blocks, BLOCK=_BLOCK
    )  # fmt: skip
    return out


@triton.jit
def _within(number, last):
    return tl.minimum(tl.maximum(number, 0.0), last)


@triton.jit
def _mix(canvas, goal, rows, columns, t, u, stride, rounding: tl.constexpr, inside):
    """Bilinear samples: along the row first, then between rows, in float64."""
    top, bottom = rows[0].to(tl.int32) * stride, rows[1].to(tl.int32) * stride
    left, right = columns[0].to(tl.int32), columns[1].to(tl.int32)
    p = tl.load(canvas + (top + left), mask=inside, other=0)
    q = tl.load(canvas + (top + right), mask=inside, other=0)
    r = tl.load(canvas + (bottom + left), mask=inside, other=0)
    s = tl.load(canvas + (bottom + right), mask=inside, other=0)
    for c in tl.static_range(3):
        a, b = whole64((p >> 8 * c) & 255), whole64((q >> 8 * c) & 255)
        upper = a + (b - a) * t
        a, b = whole64((r >> 8 * c) & 255), whole64((s >> 8 * c) & 255)
        lower = a + (b - a) * t
        level = (upper + (lower - upper) * u) + rounding
        tl.store(goal + c, level.to(tl.int32).to(tl.uint8), mask=inside)


@triton.jit
def _affine(
    canvas, out, tall, wide, top, left, height, width, blocks,
    a: tl.float64, b: tl.float64, c: tl.float64, d: tl.float64, e: tl.float64, f: tl.float64,
    BLOCK: tl.constexpr,
):  # fmt: skip
    image, place, inside = pixels_of(height * width, blocks, BLOCK)
    px = (left + place % width).to(tl.float64) + 0.5
    py = (top + place // width).to(tl.float64) + 0.5
    sx, sy = (a * px + b * py) + c, (d * px + e * py) + f
    across, depth = wide.to(tl.float64), tall.to(tl.float64)
    seen = (sx >= 0.0) & (sx < across) & (sy >= 0.0) & (sy < depth)
    sx, sy = sx - 0.5, sy - 0.5
    fx, fy = tl.floor(sx), tl.floor(sy)
    # Places in the canvas, whose first pixel is the black corner.
    x0 = tl.where(seen, _within(fx, across - 1.0) + 1.0, 0.0)
    x1 = tl.where(seen, _within(fx + 1.0, across - 1.0) + 1.0, 0.0)
    y0 = tl.where(seen, _within(fy, depth - 1.0) + 1.0, 0.0)
    y1 = tl.where(seen, _within(fy + 1.0, depth - 1.0) + 1.0, 0.0)
    goal = out + 3 * (image * height * width + place)
    canvas += image * (tall + 2) * (wide + 2)
    _mix(canvas, goal, (y0, y1), (x0, x1), sx - fx, sy - fy, wide + 2, 0.0, inside)


@triton.jit
def _perspective(
    canvas, out, tall, wide, top, left, height, width, blocks,
    a: tl.float64, b: tl.float64, c: tl.float64, d: tl.float64, e: tl.float64, f: tl.float64,
    g: tl.float64, h: tl.float64, k: tl.float64,
    BLOCK: tl.constexpr,
):  # fmt: skip
    image, place, inside = pixels_of(height * width, blocks, BLOCK)
    px = (left + place % width).to(tl.float64)
    py = (top + place // width).to(tl.float64)
    depth = (g * px + h * py) + k
    sx, sy = ((a * px + b * py) + c) / depth, ((d * px + e * py) + f) / depth
    fx, fy = tl.floor(sx), tl.floor(sy)
    last_x, last_y = wide.to(tl.float64) + 1.0, tall.to(tl.float64) + 1.0
    columns = _within(fx + 1.0, last_x), _within(fx + 2.0, last_x)
    rows = _within(fy + 1.0, last_y), _within(fy + 2.0, last_y)
    goal = out + 3 * (image * height * width + place)
    canvas += image * (tall + 2) * (wide + 2)
    _mix(canvas, goal, rows, columns, sx - fx, sy - fy, wide + 2, 0.5, inside)


def _warped(kernel: Any, canvas: Tensor, inverse: Sequence[float], window: Window) -> Tensor:
    n, tall, wide = canvas.shape
    top, left, height, width = window
    out = torch.empty((n, height, width, 3), dtype=torch.uint8, device=canvas.device)
    blocks = parts(height * width, _BLOCK)
    launch(
        kernel, n * blocks, canvas.device,
        canvas, out, tall - 2, wide - 2, top, left, height, width, blocks, *map(float, inverse),
        BLOCK=_BLOCK,
    )  # fmt: skip
    return out


def affine(canvas: Tensor, inverse: Sequence[float], window: Window) -> Tensor:
    return _warped(_affine, canvas, inverse, window)


def perspective(canvas: Tensor, inverse: Sequence[float], window: Window) -> Tensor:
    return _warped(_perspective, canvas, inverse, window)


@triton.jit(do_not_specialize=["shift"])
def _slide(images, out, tall, wide, top, shift, height, width, blocks, BLOCK: tl.constexpr):
    image, place, inside = pixels_of(3 * height * width, blocks, BLOCK)
    y, x = place // (3 * width), place % (3 * width) + 3 * shift
    read = inside & (x >= 0) & (x < 3 * wide)
    source = images + image * tall * wide * 3 + ((top + y) * (3 * wide) + x)
    level = tl.load(source, mask=read, other=0)
    tl.store(out + image * height * width * 3 + place, level, mask=inside)


def slide(images: Tensor, right: int, window: Window) -> Tensor:
    images = images.contiguous()
    n, tall, wide, _ = images.shape
    top, left, height, width = window
    out = images.new_empty((n, height, width, 3))
    blocks = parts(3 * height * width, _BLOCK)
    launch(
        _slide, n * blocks, images.device,
        images, out, tall, wide, top, left - right, height, width, blocks, BLOCK=_BLOCK,
    )  # fmt: skip
    return out


@triton.jit
def _run_down(fields, taps, out, height, width, first, count, blocks, BLOCK: tl.constexpr):
    image, place, inside = pixels_of(height * width, blocks, BLOCK)
    start = image * height * width
    y = place // width
    total = tl.zeros((BLOCK,), tl.float64)
    for k in range(count):
        row = y + (first - k)
        read = (row >= 0) & (row < height) & inside
        value = tl.load(fields + start + (place + (first - k) * width), mask=read, other=0.0)
        total = tl.where(read, total + value * tl.load(taps + k), total)
    tl.store(out + start + place, total, mask=inside)


def run_down(fields: Tensor, taps: Sequence[float], first: int) -> Tensor:
    fields = fields.contiguous()
    out = torch.empty_like(fields)
    n, height, width = fields.shape
    block = 1024
    blocks = parts(height * width, block)
    launch(
        _run_down, n * blocks, fields.device,
        fields, _row(tuple(taps), fields.device), out, height, width, first, len(taps), blocks,
        BLOCK=block,
    )  # fmt: skip
    return out


@lru_cache(maxsize=64)
def _row(numbers: tuple[float, ...], device: torch.device) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float64).to(device)


@triton.jit
def _running_mean(images, total, out, numbers, divisor: tl.float32, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < numbers
    level = tl.load(images + place, mask=inside, other=0)
    added = tl.load(total + place, mask=inside, other=0.0) + unit32(level)
    tl.store(total + place, added, mask=inside)
    mean = tl.div_rn(added, tl.full((BLOCK,), 0.0, tl.float32) + divisor) * 255.0
    tl.store(out + place, mean.to(tl.int32).to(tl.uint8), mask=inside)


def running_mean(images: Tensor, total: Tensor, count: int) -> tuple[Tensor, Tensor]:
    images, total = images.contiguous(), total.contiguous()
    out = torch.empty_like(images)
    numbers, block = images.numel(), 1024
    launch(
        _running_mean, parts(numbers, block), images.device,
        images, total, out, numbers, float(count), BLOCK=block,
    )  # fmt: skip
    return out, total
