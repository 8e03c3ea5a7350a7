"""Warps of ImageNet-C-bar on a GPU, in the arithmetic of `cpu.c_bar_warps`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch
import triton.language as tl
from numpy.typing import NDArray
from torch import Tensor

from hardy.engine.torch.constants import constant
from hardy.engine.triton.launch import by_pixel, launch, parts, pixels_of, place_of
from hardy.engine.triton.levels import byte_of, level_of, unit64, whole64
from hardy.engine.triton.maths import TWO_PI, cosine, power, quotient, sine
from hardy.engine.triton.stable_jit import jit

_NEARLY = tl.constexpr(1e-9)
_CAUSTIC_ROUNDS = tl.constexpr(5)
_CAUSTIC_TIMES = tl.constexpr(tuple(1.0 - 3.5 / (k + 1) for k in range(5)))


@jit
def _corner(place, side):
    """The first of two taps; far outside both are."""
    whole = tl.floor(place)
    near = tl.minimum(tl.maximum(whole, -2.0), whole64(side))
    return near.to(tl.int32), place - whole


@jit
def _tap(image, y, x, height, width, channels, inside, UNIT: tl.constexpr):
    """A level, or it over 255; black outside."""
    here = inside & (y >= 0) & (y < height) & (x >= 0) & (x < width)
    level = tl.load(image + (y * width + x) * channels, mask=here, other=0)
    return unit64(level) if UNIT else whole64(level)


@jit
def _mixed(image, y, x, u, t, height, width, channels, inside, UNIT: tl.constexpr):
    a = _tap(image, y, x, height, width, channels, inside, UNIT)
    b = _tap(image, y, x + 1, height, width, channels, inside, UNIT)
    p = _tap(image, y + 1, x, height, width, channels, inside, UNIT)
    q = _tap(image, y + 1, x + 1, height, width, channels, inside, UNIT)
    upper, lower = a + t * (b - a), p + t * (q - p)
    return upper + u * (lower - upper)


@jit
def _displace(
    images, out, pixels, pieces, height, width, rows, columns,
    SINGLE: tl.constexpr, CHANNELS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    field, start = image * pixels + pixel, image * pixels * CHANNELS
    y, u = _corner(tl.load(rows + field, mask=inside, other=0.0), height)
    x, t = _corner(tl.load(columns + field, mask=inside, other=0.0), width)
    for c in tl.static_range(CHANNELS):
        source = images + start + c
        value = _mixed(source, y, x, u, t, height, width, CHANNELS, inside, False)
        value = value.to(tl.float32).to(tl.float64) if SINGLE else value + _NEARLY
        tl.store(out + start + CHANNELS * pixel + c, level_of(value), mask=inside)


def displace(images: Tensor, rows: Tensor, columns: Tensor, single: bool) -> Tensor:
    _, height, width, channels = images.shape
    return by_pixel(
        _displace, images, height, width, rows, columns, SINGLE=single, CHANNELS=channels
    )


@jit
def _fringe(
    images, out, pixels, pieces, height, width, order, down, down_weights, along, along_weights,
    BLOCK: tl.constexpr,
):  # fmt: skip
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    y, x = pixel // width, pixel % width
    for c in tl.static_range(3):
        zoom = tl.load(order + image * 3 + c)
        rows, columns = (zoom * height + y) * 4, (zoom * width + x) * 4
        source = images + image * pixels * 3 + c
        total = tl.zeros((BLOCK,), tl.float64)
        for a in tl.static_range(4):
            line = tl.load(down + rows + a, mask=inside, other=0) * width
            weight = tl.load(down_weights + rows + a, mask=inside, other=0.0)
            for b in tl.static_range(4):
                place = (line + tl.load(along + columns + b, mask=inside, other=0)) * 3
                value = whole64(tl.load(source + place, mask=inside, other=0)) * weight
                total += value * tl.load(along_weights + columns + b, mask=inside, other=0.0)
        goal = out + image * pixels * 3 + 3 * pixel + c
        tl.store(goal, level_of(total + 0.5), mask=inside)


def fringe(
    images: Tensor,
    order: Tensor,
    down: NDArray[np.int64],
    down_weights: NDArray[np.float64],
    along: NDArray[np.int64],
    along_weights: NDArray[np.float64],
) -> Tensor:
    height, width = images.shape[1:3]
    tables = (down, down_weights, along, along_weights)
    moved = (constant(table, images.device) for table in tables)
    return by_pixel(_fringe, images, height, width, order, *moved)


@jit
def _wrapped(place, scale):
    place = place / scale
    return (place - tl.floor(place)) * TWO_PI - 250.0


@jit
def _caustics(time, scale, out, width, pixels, pieces, BLOCK: tl.constexpr):
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    y, x = place_of(pixel, width)
    p, q = _wrapped(y, tl.load(scale + image)), _wrapped(x, tl.load(scale + image))
    first, second = p, q
    bright = tl.full((BLOCK,), 1.0, tl.float64)
    for k in tl.static_range(_CAUSTIC_ROUNDS):
        t = tl.load(time + image) * _CAUSTIC_TIMES[k]
        a = p + (cosine(t - first) + sine(t + second))
        second = q + (sine(t - second) + cosine(t + first))
        first = a
        s, c = sine(first + t), cosine(second + t)
        one, two = p * c, q * s
        bright += tl.abs(s * c) / (0.005 * tl.sqrt(one * one + two * two))
    net = 1.17 - power(bright * 0.2, 1.4)
    net *= net
    net *= net
    tl.store(out + image * pixels + pixel, tl.minimum(net * net, 1.0), mask=inside)


def caustics(images: Tensor, time: Tensor, scale: Tensor) -> Tensor:
    count, height, width, _ = images.shape
    out = torch.empty((count, height, width), dtype=torch.float64, device=images.device)
    pixels, block = height * width, 256
    pieces = parts(pixels, block)
    launch(
        _caustics, count * pieces, images.device,
        time.contiguous(), scale.contiguous(), out, width, pixels, pieces, BLOCK=block,
    )  # fmt: skip
    return out


@jit
def _thousandths(distance):
    return quotient(tl.floor(distance * 1000.0 + 0.5), 1000.0)


@jit
def _refract(
    images, out, pixels, pieces, height, width, net, lens: tl.float64, light: tl.float64,
    BLOCK: tl.constexpr,
):  # fmt: skip
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    y, x = pixel // width, pixel % width
    here = net + image * pixels + pixel
    below = tl.load(here + width, mask=inside & (y + 1 < height), other=0.0)
    above = tl.load(here - width, mask=inside & (y > 0), other=0.0)
    right = tl.load(here + 1, mask=inside & (x + 1 < width), other=0.0)
    left = tl.load(here - 1, mask=inside & (x > 0), other=0.0)
    down, along = below - above, right - left
    square = down * down + along * along
    length = tl.sqrt(square + 1.0)
    cos = 1.0 / length
    sin_square = quotient(square, square + 1.0)
    bend = lens * (tl.sqrt(1.0 - 0.0625 * sin_square) - 0.25 * cos)
    # Exact so near 1; compared with it, Triton would take 0.999 as a float32.
    bend = tl.where(cos - 0.999 < 0.0, bend, 0.0)
    row = whole64(y) + _thousandths(bend * quotient(down, length))
    column = whole64(x) + _thousandths(bend * quotient(along, length))
    top, u = _corner(row, height)
    before, t = _corner(column, width)
    added = light * (down - along)
    start = image * pixels * 3
    for c in tl.static_range(3):
        source = images + start + c
        value = _mixed(source, top, before, u, t, height, width, 3, inside, True) + added
        tl.store(out + start + 3 * pixel + c, byte_of(value), mask=inside)


def refract(images: Tensor, net: Tensor, lens: float, light: float) -> Tensor:
    height, width = images.shape[1:3]
    return by_pixel(_refract, images, height, width, net, lens, light)


@jit
def _knots(values, carries, last, run, stride, lines, pieces, size, BLOCK: tl.constexpr):
    """corrupt.c_bar.distortions.spline in place, one line to a lane.

    Values of a line are `run` apart; the three channels lie together, the next three `stride` on.
    """
    program = tl.program_id(0)
    line = (program % pieces) * BLOCK + tl.arange(0, BLOCK)
    inside = line < lines
    values += (program // pieces).to(tl.int64) * size + (line // 3) * stride + line % 3
    before = tl.load(values, mask=inside, other=0.0) * 1.5
    tl.store(values, before, mask=inside)
    for k in range(1, last):
        value = tl.load(values + k * run, mask=inside, other=0.0)
        before = (value * 6.0 - before) * tl.load(carries + k)
        tl.store(values + k * run, before, mask=inside)
    after = tl.load(values + last * run, mask=inside, other=0.0)
    after = (after * 6.0 - before * 2.0) * tl.load(carries + last)
    tl.store(values + last * run, after, mask=inside)
    for k in range(1, last + 1):
        place = values + (last - k) * run
        after = tl.load(place, mask=inside, other=0.0) - tl.load(carries + last - k) * after
        tl.store(place, after, mask=inside)


@lru_cache(maxsize=16)
def _carries(side: int) -> NDArray[np.float64]:
    """The factor of each step of the spline; the step at the end of a line has another."""
    carry = [0.5]
    for _ in range(2, side):
        carry.append(1.0 / (4.0 - carry[-1]))
    return np.array([*carry, 1.0 / (4.0 - 2.0 * carry[-1])])


@jit
def _weights(t):
    z = 1.0 - t
    near = (t * t * (t - 2.0) * 3.0 + 4.0) * (1.0 / 6.0)
    far = (z * z * (z - 2.0) * 3.0 + 4.0) * (1.0 / 6.0)
    return z * z * z * (1.0 / 6.0), near, far, t * t * t * (1.0 / 6.0)


@jit
def _indices(first, side):
    """Four from the one before the first, mirrored."""
    a, b, c, d = tl.abs(first - 1), first, first + 1, first + 2
    last = 2 * (side - 1)
    return tl.minimum(a, last - a), b, tl.minimum(c, last - c), tl.minimum(d, last - d)


@jit
def _mixed_knots(knots, rows, columns, down, along, width, inside):
    """Sixteen of a channel."""
    total = tl.zeros_like(down[0])
    for j in tl.static_range(4):
        line = tl.zeros_like(total)
        for k in tl.static_range(4):
            place = (rows[j] * width + columns[k]) * 3
            line += tl.load(knots + place, mask=inside, other=0.0) * along[k]
        total += line * down[j]
    return total


@jit
def _spin(images, out, pixels, pieces, height, width, knots, turns, count, BLOCK: tl.constexpr):
    image, pixel, real = pixels_of(pixels, pieces, BLOCK)
    y, x = place_of(pixel, width)
    last_y, last_x = whole64(height - 1), whole64(width - 1)
    centre_y, centre_x = 0.5 * last_y, 0.5 * last_x
    dy, dx = y - centre_y, x - centre_x
    knots += image * pixels * 3
    r = tl.zeros((BLOCK,), tl.float64)
    g, b = r, r
    for k in range(count):
        cos, sin = tl.load(turns + 3 * k), tl.load(turns + 3 * k + 1)
        weight = tl.load(turns + 3 * k + 2)
        row, column = (cos * dy + sin * dx) + centre_y, (cos * dx - sin * dy) + centre_x
        inside = real & (row >= 0.0) & (row <= last_y) & (column >= 0.0) & (column <= last_x)
        # Not negative where it counts, so that truncating is rounding down.
        top, before = row.to(tl.int32), column.to(tl.int32)
        down, along = _weights(row - whole64(top)), _weights(column - whole64(before))
        rows, columns = _indices(top, height), _indices(before, width)
        red = _mixed_knots(knots, rows, columns, down, along, width, inside)
        green = _mixed_knots(knots + 1, rows, columns, down, along, width, inside)
        blue = _mixed_knots(knots + 2, rows, columns, down, along, width, inside)
        r += tl.where(inside, weight * red, 0.0)
        g += tl.where(inside, weight * green, 0.0)
        b += tl.where(inside, weight * blue, 0.0)
    goal = out + image * pixels * 3 + 3 * pixel
    tl.store(goal, level_of(r + _NEARLY), mask=real)
    tl.store(goal + 1, level_of(g + _NEARLY), mask=real)
    tl.store(goal + 2, level_of(b + _NEARLY), mask=real)


def spin(images: Tensor, turns: NDArray[np.float64]) -> Tensor:
    count, height, width, _ = images.shape
    device, block = images.device, 128
    knots = images.to(torch.float64).contiguous()
    for side, other, run, stride in (
        (height, width, 3 * width, 3), (width, height, 3, 3 * width),
    ):  # fmt: skip
        lines = 3 * other
        pieces = parts(lines, block)
        launch(
            _knots, count * pieces, device,
            knots, constant(_carries(side), device), side - 1, run, stride, lines, pieces,
            3 * height * width, BLOCK=block, num_stages=1,
        )  # fmt: skip
    table = constant(turns, device)
    return by_pixel(_spin, images, height, width, knots, table, len(turns), block=512, num_warps=16)


FUSED: dict[str, Callable[..., Tensor]] = {
    formula.__name__: formula for formula in (displace, fringe, caustics, refract, spin)
}
