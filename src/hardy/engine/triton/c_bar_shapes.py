"""Drawn shapes of ImageNet-C-bar on a GPU, in the arithmetic of `cpu.c_bar_shapes`."""

from __future__ import annotations

from collections.abc import Callable

import triton.language as tl
from torch import Tensor

from hardy.engine import portable
from hardy.engine.triton.launch import by_pixel, colours_of, pixels_of, place_of, put_colours
from hardy.engine.triton.levels import level_of, whole64
from hardy.engine.triton.maths import PI, arctan2, cosine, power, quotient, sine
from hardy.engine.triton.stable_jit import jit

_RAYS_PER_RADIAN = tl.constexpr(0.5 / portable.PI)
_LEAST = tl.constexpr(2.0**-100)  # above 0 by a power of 2, which a float32 holds


@jit
def _wrapped(place, side, LAST: tl.constexpr):
    """A replayed cell may be anything; none may read outside the table."""
    whole = tl.where(place < 0.0, tl.ceil(place), tl.floor(place))
    index = (whole - side * tl.floor(quotient(whole, side))).to(tl.int32)
    return tl.minimum(tl.maximum(index, 0), LAST)


@jit
def _chequer(
    images, out, pixels, pieces, width, angle, cell, chances, reach: tl.float64,
    share: tl.float64, CELLS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    turn, s = tl.load(angle + image), tl.load(cell + image)
    cos, sin = cosine(turn), sine(turn)
    side = tl.minimum(tl.floor(reach / s), 1.0 * CELLS)
    y, x = place_of(pixel, width)
    p, q = (y * cos + x * sin) / s, (x * cos - y * sin) / s
    halves = (tl.floor(p) - tl.floor(q)) * 0.5
    dark = inside & (tl.floor(halves) == halves)
    place = _wrapped(p, side, CELLS - 1) * CELLS + _wrapped(q, side, CELLS - 1)
    chance = tl.load(chances + image * CELLS * CELLS + place, mask=dark, other=0.0)
    hit = dark & (chance < share)
    place = image * pixels * 3 + 3 * pixel
    for c in tl.static_range(3):
        level = tl.load(images + place + c, mask=inside, other=0)
        tl.store(out + place + c, tl.where(hit, 128, level).to(tl.uint8), mask=inside)


def chequer(images: Tensor, angle: Tensor, cell: Tensor, chances: Tensor, share: float) -> Tensor:
    height, width = images.shape[1:3]
    return by_pixel(
        _chequer, images, width, angle, cell, chances, 4.0 * min(height, width), share,
        CELLS=chances.shape[1],
    )  # fmt: skip


@jit
def _add_grey(images, out, start, inside, grey):
    """One number onto the three levels of a pixel."""
    for c in tl.static_range(3):
        level = whole64(tl.load(images + start + c, mask=inside, other=0))
        tl.store(out + start + c, level_of(level + grey), mask=inside)


@jit
def _ring(
    images, out, pixels, pieces, width, row, column, frequency, wobble, thickness,
    strength: tl.float64, BLOCK: tl.constexpr,
):  # fmt: skip
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    y, x = place_of(pixel, width)
    dy, dx = y - tl.load(row + image), x - tl.load(column + image)
    radius = tl.sqrt(dy * dy + dx * dx)
    wave = tl.load(wobble + image) * sine(tl.load(frequency + image) * arctan2(dx, dy))
    s = (radius + wave) / tl.load(thickness + image)
    tooth = (s - tl.floor(s)) - 0.5
    _add_grey(images, out, image * pixels * 3 + 3 * pixel, inside, strength * tooth)


def ring(
    images: Tensor,
    row: Tensor,
    column: Tensor,
    frequency: Tensor,
    wobble: Tensor,
    width: Tensor,
    strength: float,
) -> Tensor:
    fields = (row, column, frequency, wobble, width)
    return by_pixel(_ring, images, images.shape[2], *fields, strength)


@jit
def _stripe(
    images, out, pixels, pieces, width, across, down, phase, strength: tl.float64,
    BLOCK: tl.constexpr,
):  # fmt: skip
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    y, x = place_of(pixel, width)
    angle = tl.load(across + image) * x + tl.load(down + image) * y
    wave = strength * sine(angle + tl.load(phase + image))
    _add_grey(images, out, image * pixels * 3 + 3 * pixel, inside, wave)


def stripe(images: Tensor, across: Tensor, down: Tensor, phase: Tensor, strength: float) -> Tensor:
    return by_pixel(_stripe, images, images.shape[2], across, down, phase, strength)


@jit
def _shine(dy, dx, rays, lengths):
    """corrupt.c_bar.shapes.shine: 1 - (f - 1/2)^2 and g, of which no power is taken."""
    u = (arctan2(dx, dy) + PI) * (rays.to(tl.float64) * _RAYS_PER_RADIAN)
    whole = tl.floor(u)
    f = u - whole
    k = whole.to(tl.int32)
    k = tl.where((k >= rays) | (k < 0), 0, k)
    after = tl.where(k + 1 >= rays, 0, k + 1)
    here = tl.load(lengths + k)
    length = here + f * (tl.load(lengths + after) - here)
    return 1.0 - (f - 0.5) * (f - 0.5), (length * length) / ((dy * dy + dx * dx) + 1e-4)


@jit
def _sparkle(
    images, out, pixels, pieces, width, row, column, rays, lengths, stars, limit,
    BLOCK: tl.constexpr,
):  # fmt: skip
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    y, x = place_of(pixel, width)
    start = image * pixels * 3 + 3 * pixel
    r, g, b = colours_of(images + start, inside)
    for k in range(stars):
        star = image * stars + k
        dy, dx = y - tl.load(row + star), x - tl.load(column + star)
        count = tl.load(rays + star).to(tl.int32)
        profile, weight = _shine(dy, dx, count, lengths + star * limit)
        weight = tl.minimum(profile * weight, 1.0)
        r += weight * (255.0 - r)
        g += weight * (255.0 - g)
        b += weight * (255.0 - b)
    put_colours(out + start, r, g, b, inside)


def sparkle(images: Tensor, row: Tensor, column: Tensor, rays: Tensor, lengths: Tensor) -> Tensor:
    stars, limit = lengths.shape[1:]
    return by_pixel(_sparkle, images, images.shape[2], row, column, rays, lengths, stars, limit)


@jit
def _window(
    images, out, pixels, pieces, width, row, column, rays, lengths, limit,
    exponent: tl.float64, BLOCK: tl.constexpr,
):  # fmt: skip
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    y, x = place_of(pixel, width)
    dy, dx = y - tl.load(row + image), x - tl.load(column + image)
    count = tl.load(rays + image).to(tl.int32)
    profile, weight = _shine(dy, dx, count, lengths + image * limit)
    weight = tl.minimum(profile * power(tl.maximum(weight, _LEAST), exponent), 1.0)
    place = image * pixels * 3 + 3 * pixel
    for c in tl.static_range(3):
        level = whole64(tl.load(images + place + c, mask=inside, other=0))
        tl.store(out + place + c, level_of(255.0 + weight * (level - 255.0)), mask=inside)


def window(
    images: Tensor, row: Tensor, column: Tensor, rays: Tensor, lengths: Tensor, exponent: float
) -> Tensor:
    limit = lengths.shape[1]
    return by_pixel(_window, images, images.shape[2], row, column, rays, lengths, limit, exponent)


@jit
def _on_grey(level, weight):
    return tl.floor((1.0 - weight) * level + weight * 128.0)


@jit
def _rule(images, out, pixels, pieces, width, ends, lines, BLOCK: tl.constexpr):
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    row, column = place_of(pixel, width)
    start = image * pixels * 3 + 3 * pixel
    r, g, b = colours_of(images + start, inside)
    for number in range(lines):
        line = ends + (image * lines + number) * 4
        top, left = tl.load(line), tl.load(line + 1)
        down, along = tl.load(line + 2) - top, tl.load(line + 3) - left
        y = tl.where(down < 0.0, top - row, row - top)
        x = tl.where(along < 0.0, left - column, column - left)
        down, along = tl.abs(down), tl.abs(along)
        upright = down >= along
        k, q = tl.where(upright, y, x), tl.where(upright, x, y)
        long, short = tl.maximum(down, along), tl.minimum(down, along)
        step = 2.0 * tl.maximum(long, 1.0)
        here = tl.floor(quotient((2.0 * k + 1.0) * short, step))
        before = tl.floor(quotient((2.0 * k - 1.0) * short, step))
        drawn = (q == here) | ((q == here + 1.0) & (k < long))
        drawn = drawn | ((q == here - 1.0) & (q == before) & (k > 0.0))
        length = tl.maximum(tl.sqrt(long * long + short * short), 1.0)
        cover = tl.maximum(1.0 - quotient(tl.abs(q * long - k * short), length), 0.0)
        weight = tl.where(drawn & (k >= 0.0) & (k <= long), cover, 0.0)
        r, g, b = _on_grey(r, weight), _on_grey(g, weight), _on_grey(b, weight)
    put_colours(out + start, r, g, b, inside)


def rule(images: Tensor, ends: Tensor) -> Tensor:
    return by_pixel(_rule, images, images.shape[2], ends, ends.shape[1])


FUSED: dict[str, Callable[..., Tensor]] = {
    formula.__name__: formula for formula in (chequer, ring, stripe, sparkle, window, rule)
}
