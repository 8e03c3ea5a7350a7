"""The primitives of perturbation sequences on a GPU, in the arithmetic of `cpu.frames`.

A canvas holds one word of 32 bits per pixel (red in the lowest byte) with a ring of black, as on
the CPU: a bilinear sample is four loads instead of twelve.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import torch
import triton.language as tl
from numpy.typing import NDArray
from torch import Tensor

from hardy.engine.ops import Window
from hardy.engine.torch.constants import moved
from hardy.engine.triton.launch import launch, parts, pixels_of
from hardy.engine.triton.levels import unit32, whole64
from hardy.engine.triton.stable_jit import jit

_BLOCK = 512
_PIXELS_AT_ONCE = 1024 * 224 * 224
# Bases of photographs have many sizes: none shall be compiled for anew.
_SIZES = ("images", "tall", "wide", "top", "left", "height", "width", "blocks")


@jit(general=("height", "width", "blocks"))
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


@jit
def _within(number, last):
    return tl.minimum(tl.maximum(number, 0.0), last)


@jit
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


@jit(general=_SIZES)
def _affine(
    canvas, out, maps, images, tall, wide, top, left, height, width, blocks, BLOCK: tl.constexpr
):
    number, place, inside = pixels_of(height * width, blocks, BLOCK)
    m, image = maps + 6 * (number // images), number % images
    px = (left + place % width).to(tl.float64) + 0.5
    py = (top + place // width).to(tl.float64) + 0.5
    sx = (tl.load(m) * px + tl.load(m + 1) * py) + tl.load(m + 2)
    sy = (tl.load(m + 3) * px + tl.load(m + 4) * py) + tl.load(m + 5)
    across, depth = wide.to(tl.float64), tall.to(tl.float64)
    seen = (sx >= 0.0) & (sx < across) & (sy >= 0.0) & (sy < depth)
    sx, sy = sx - 0.5, sy - 0.5
    fx, fy = tl.floor(sx), tl.floor(sy)
    # Places in the canvas, whose first pixel is the black corner.
    x0 = tl.where(seen, _within(fx, across - 1.0) + 1.0, 0.0)
    x1 = tl.where(seen, _within(fx + 1.0, across - 1.0) + 1.0, 0.0)
    y0 = tl.where(seen, _within(fy, depth - 1.0) + 1.0, 0.0)
    y1 = tl.where(seen, _within(fy + 1.0, depth - 1.0) + 1.0, 0.0)
    goal = out + 3 * (number * height * width + place)
    canvas += image * (tall + 2) * (wide + 2)
    _mix(canvas, goal, (y0, y1), (x0, x1), sx - fx, sy - fy, wide + 2, 0.0, inside)


@jit(general=_SIZES)
def _perspective(
    canvas, out, maps, images, tall, wide, top, left, height, width, blocks, BLOCK: tl.constexpr
):
    number, place, inside = pixels_of(height * width, blocks, BLOCK)
    m, image = maps + 9 * (number // images), number % images
    px = (left + place % width).to(tl.float64)
    py = (top + place // width).to(tl.float64)
    depth = (tl.load(m + 6) * px + tl.load(m + 7) * py) + tl.load(m + 8)
    sx = ((tl.load(m) * px + tl.load(m + 1) * py) + tl.load(m + 2)) / depth
    sy = ((tl.load(m + 3) * px + tl.load(m + 4) * py) + tl.load(m + 5)) / depth
    fx, fy = tl.floor(sx), tl.floor(sy)
    last_x, last_y = wide.to(tl.float64) + 1.0, tall.to(tl.float64) + 1.0
    columns = _within(fx + 1.0, last_x), _within(fx + 2.0, last_x)
    rows = _within(fy + 1.0, last_y), _within(fy + 2.0, last_y)
    goal = out + 3 * (number * height * width + place)
    canvas += image * (tall + 2) * (wide + 2)
    _mix(canvas, goal, rows, columns, sx - fx, sy - fy, wide + 2, 0.5, inside)


@jit(general=_SIZES)
def _slide(
    source, out, maps, images, tall, wide, top, left, height, width, blocks, BLOCK: tl.constexpr
):
    number, place, inside = pixels_of(3 * height * width, blocks, BLOCK)
    shift, image = left - tl.load(maps + number // images), number % images
    y, x = place // (3 * width), place % (3 * width) + 3 * shift
    read = inside & (x >= 0) & (x < 3 * wide)
    pixel = source + image * tall * wide * 3 + ((top + y) * (3 * wide) + x)
    level = tl.load(pixel, mask=read, other=0)
    tl.store(out + number * height * width * 3 + place, level, mask=inside)


def _made(
    kernel: Any,
    source: Tensor,
    size: tuple[int, int],
    maps: NDArray[Any],
    window: Window,
    each: int,
) -> Iterator[Tensor]:
    """Frames of images of that size, (N, H, W, 3) for each map, many in one go: to start a kernel
    for every frame of a few images takes the host longer than the device needs for them. A program
    makes a part of one frame, `each` times its pixels."""
    n, device, (_, _, height, width) = len(source), source.device, window
    blocks = parts(each * height * width, _BLOCK)
    for some in moved(maps, device).split(max(1, _PIXELS_AT_ONCE // (n * height * width))):
        out = torch.empty((len(some), n, height, width, 3), dtype=torch.uint8, device=device)
        launch(
            kernel, len(some) * n * blocks, device,
            source, out, some, n, *size, *window, blocks, BLOCK=_BLOCK,
        )  # fmt: skip
        yield from out


def _warped(kernel: Any, canvas: Tensor, inverses: Any, window: Window) -> Iterator[Tensor]:
    size = (canvas.shape[1] - 2, canvas.shape[2] - 2)
    return _made(kernel, canvas, size, np.array(inverses, np.float64), window, 1)


def affines(canvas: Tensor, inverses: Sequence[Any], window: Window) -> Iterator[Tensor]:
    return _warped(_affine, canvas, inverses, window)


def perspectives(canvas: Tensor, inverses: Sequence[Any], window: Window) -> Iterator[Tensor]:
    return _warped(_perspective, canvas, inverses, window)


def slides(images: Tensor, right: Sequence[int], window: Window) -> Iterator[Tensor]:
    images = images.contiguous()
    size = (images.shape[1], images.shape[2])
    return _made(_slide, images, size, np.array(right, np.int32), window, 3)


def affine(canvas: Tensor, inverse: Sequence[float], window: Window) -> Tensor:
    return next(affines(canvas, [inverse], window))


def perspective(canvas: Tensor, inverse: Sequence[float], window: Window) -> Tensor:
    return next(perspectives(canvas, [inverse], window))


def slide(images: Tensor, right: int, window: Window) -> Tensor:
    return next(slides(images, [right], window))


@jit
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


@jit
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
