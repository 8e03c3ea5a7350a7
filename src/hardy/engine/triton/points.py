"""Pixel formulas as one pass each, and what they need to know of an image.

The arithmetic is that of `cpu.points`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
import triton.language as tl
from torch import Tensor

from hardy.engine.torch.constants import constant
from hardy.engine.triton.launch import by_pixel, launch, parts, pixels_of
from hardy.engine.triton.levels import byte_of, unit32, unit64, whole64
from hardy.engine.triton.stable_jit import jit

_BLOCK = 512
# Pixels that one step of the running sums reads ahead.
_AHEAD = 64
_UNITS = np.arange(256) / 255.0


@jit
def _unit(images, place, inside):
    """level / 255 in float64."""
    return unit64(tl.load(images + place, mask=inside, other=0))


@jit
def _single(images, place, inside):
    """level / 255 in float32."""
    return unit32(tl.load(images + place, mask=inside, other=0))


@jit
def _haze(
    images, out, pixels, pieces, peaks, cloud, width, rows, columns, amount: tl.float64,
    BLOCK: tl.constexpr,
):  # fmt: skip
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    field = cloud + image * rows * columns
    veil = amount * tl.load(field + (pixel // width) * columns + pixel % width, mask=inside)
    m = unit64(tl.load(peaks + image))
    start = image * pixels * 3
    for c in tl.static_range(3):
        value = ((_unit(images + start, 3 * pixel + c, inside) + veil) * m) / (m + amount)
        tl.store(out + start + 3 * pixel + c, byte_of(value), mask=inside)


def haze(images: Tensor, cloud: Tensor, amount: float) -> Tensor:
    peaks = images.flatten(1).amax(1)
    return by_pixel(_haze, images, peaks, cloud, images.shape[2], *cloud.shape[1:], float(amount))


@jit
def _flakes(layer, image, pixel, pixels, inside):
    """The layer, and the layer turned by 180 degrees."""
    field = layer + image * pixels
    return _unit(field, pixel, inside), _unit(field, pixels - 1 - pixel, inside)


@jit
def _bright(r, g, b):
    """1.5 grey + 0.5 in float32."""
    return 1.5 * ((g * 0.587 + r * 0.299) + b * 0.114) + 0.5


@jit
def _whiten(
    images, out, pixels, pieces, layer, kept: tl.float32, rest: tl.float32, BLOCK: tl.constexpr
):
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    here, there = _flakes(layer, image, pixel, pixels, inside)
    start, goal = images + image * pixels * 3, out + image * pixels * 3
    r = _single(start, 3 * pixel, inside)
    g = _single(start, 3 * pixel + 1, inside)
    b = _single(start, 3 * pixel + 2, inside)
    floor = _bright(r, g, b)
    r = kept * r + rest * tl.maximum(r, floor)
    g = kept * g + rest * tl.maximum(g, floor)
    b = kept * b + rest * tl.maximum(b, floor)
    tl.store(goal + 3 * pixel, byte_of((r.to(tl.float64) + here) + there), mask=inside)
    tl.store(goal + 3 * pixel + 1, byte_of((g.to(tl.float64) + here) + there), mask=inside)
    tl.store(goal + 3 * pixel + 2, byte_of((b.to(tl.float64) + here) + there), mask=inside)


def whiten(images: Tensor, layer: Tensor, keep: float) -> Tensor:
    return by_pixel(_whiten, images, layer, float(keep), 1.0 - keep)


@jit
def _blanket(
    images, out, pixels, pieces, layer, keep: tl.float64, rest: tl.float64, BLOCK: tl.constexpr
):
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    here, there = _flakes(layer, image, pixel, pixels, inside)
    start, goal = images + image * pixels * 3, out + image * pixels * 3
    floor = _bright(
        _single(start, 3 * pixel, inside),
        _single(start, 3 * pixel + 1, inside),
        _single(start, 3 * pixel + 2, inside),
    ).to(tl.float64)
    for c in tl.static_range(3):
        x = _unit(start, 3 * pixel + c, inside)
        x = keep * x + rest * tl.maximum(x, floor)
        tl.store(goal + 3 * pixel + c, byte_of((x + here) + there), mask=inside)


def blanket(images: Tensor, layer: Tensor, keep: float) -> Tensor:
    return by_pixel(_blanket, images, layer, float(keep), 1.0 - keep)


@jit
def _splash(images, out, pixels, pieces, amount, colour, BLOCK: tl.constexpr):
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    shine = tl.load(amount + image * pixels + pixel, mask=inside)
    start = image * pixels * 3
    for c in tl.static_range(3):
        value = _single(images + start, 3 * pixel + c, inside) + shine * tl.load(colour + c)
        tl.store(out + start + 3 * pixel + c, byte_of(value), mask=inside)


def splash(images: Tensor, amount: Tensor, colour: Tensor) -> Tensor:
    return by_pixel(_splash, images, amount, colour)


@jit
def _cover(images, out, pixels, pieces, amount, colour, BLOCK: tl.constexpr):
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    mud = tl.load(amount + image * pixels + pixel, mask=inside)
    start = image * pixels * 3
    for c in tl.static_range(3):
        x = _single(images + start, 3 * pixel + c, inside)
        value = x * (1.0 - mud) + mud * tl.load(colour + c)
        tl.store(out + start + 3 * pixel + c, byte_of(value), mask=inside)


def cover(images: Tensor, amount: Tensor, colour: Tensor) -> Tensor:
    return by_pixel(_cover, images, amount, colour)


@jit
def _frosted(
    images, out, pixels, pieces, texture, image_weight: tl.float64, frost_weight: tl.float64,
    BLOCK: tl.constexpr,
):  # fmt: skip
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    start = image * pixels * 3
    for c in tl.static_range(3):
        place = start + 3 * pixel + c
        level = whole64(tl.load(images + place, mask=inside, other=0))
        frost = whole64(tl.load(texture + place, mask=inside, other=0))
        value = tl.minimum(image_weight * level + frost_weight * frost, 255.0)
        tl.store(out + place, value.to(tl.int32).to(tl.uint8), mask=inside)


def frosted(images: Tensor, texture: Tensor, image_weight: float, frost_weight: float) -> Tensor:
    return by_pixel(_frosted, images, texture, float(image_weight), float(frost_weight))


@jit
def _stretch(images, out, pixels, pieces, means, gain: tl.float64, BLOCK: tl.constexpr):
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    start = image * pixels * 3
    for c in tl.static_range(3):
        mean = tl.load(means + 3 * image + c)
        value = (_unit(images + start, 3 * pixel + c, inside) - mean) * gain + mean
        tl.store(out + start + 3 * pixel + c, byte_of(value), mask=inside)


def stretch(images: Tensor, means: Tensor, gain: float) -> Tensor:
    return by_pixel(_stretch, images, means, float(gain))


@jit
def _recolour(
    images, out, pixels, pieces, shift: tl.float64, gain: tl.float64, offset: tl.float64,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Whatever can be told from levels is told from levels: float64 is dear, and ties are equal."""
    image, pixel, inside = pixels_of(pixels, pieces, BLOCK)
    start, goal = images + image * pixels * 3, out + image * pixels * 3
    r = tl.load(start + 3 * pixel, mask=inside, other=0).to(tl.int32)
    g = tl.load(start + 3 * pixel + 1, mask=inside, other=0).to(tl.int32)
    b = tl.load(start + 3 * pixel + 2, mask=inside, other=0).to(tl.int32)
    most, least = tl.maximum(tl.maximum(r, g), b), tl.minimum(tl.minimum(r, g), b)
    high = unit64(most)
    spread = high - unit64(least)
    grey, from_blue, from_green = most == least, b == most, g == most
    base = tl.where(from_blue, 4, tl.where(from_green, 2, 0))
    left = tl.where(from_blue, r, tl.where(from_green, b, g))
    right = tl.where(from_blue, g, tl.where(from_green, r, b))
    near, middle = unit64(left) - unit64(right), left == right
    # Zero divided is zero, but slow: so slow that one grey pixel would hold up 31 others.
    safe = tl.where(grey, 1.0, spread)
    saturation = tl.where(grey, 0.0, safe / tl.where(grey, 1.0, high))
    hue = whole64(base) + tl.where(middle, 0.0, tl.where(middle, 1.0, near) / safe)
    red = middle & (base == 0)
    hue = tl.where(red, 1.0, hue) / 6.0
    hue = tl.where(hue < 0.0, hue + 1.0, hue)
    sixth = tl.where(red | grey, 0.0, hue) * 6.0
    value = tl.minimum(tl.maximum(high + shift, 0.0), 1.0)
    saturation = tl.minimum(tl.maximum(saturation * gain + offset, 0.0), 1.0)
    # The hue is not negative, so that truncating it is rounding down.
    sector = sixth.to(tl.int32)
    f = sixth - whole64(sector)
    peak = (value * 255.0).to(tl.int32)
    low = (value * (1.0 - saturation) * 255.0).to(tl.int32)
    falling = (value * (1.0 - f * saturation) * 255.0).to(tl.int32)
    rising = (value * (1.0 - (1.0 - f) * saturation) * 255.0).to(tl.int32)
    r = tl.where(sector == 1, falling, tl.where(sector == 4, rising, low))
    r = tl.where((sector == 0) | (sector == 5), peak, r)
    g = tl.where(sector == 0, rising, tl.where(sector == 3, falling, low))
    g = tl.where((sector == 1) | (sector == 2), peak, g)
    b = tl.where(sector == 2, rising, tl.where(sector == 5, falling, low))
    b = tl.where((sector == 3) | (sector == 4), peak, b)
    tl.store(goal + 3 * pixel, r.to(tl.uint8), mask=inside)
    tl.store(goal + 3 * pixel + 1, g.to(tl.uint8), mask=inside)
    tl.store(goal + 3 * pixel + 2, b.to(tl.uint8), mask=inside)


def recolour(images: Tensor, shift: float, gain: float, offset: float) -> Tensor:
    return by_pixel(_recolour, images, float(shift), float(gain), float(offset))


@jit
def _channel_means(images, units, out, pixels, AHEAD: tl.constexpr):
    """One lane per channel adds pixel by pixel; loads do not wait for the sums before them."""
    image = tl.program_id(0).to(tl.int64)
    channel = tl.arange(0, 4)
    real = channel < 3
    source = images + image * pixels * 3 + channel
    total = tl.zeros((4,), tl.float64)
    whole = pixels // AHEAD * AHEAD
    for start in range(0, whole, AHEAD):
        for k in tl.static_range(AHEAD):
            level = tl.load(source + 3 * (start + k), mask=real, other=0)
            total += tl.load(units + level)
    for pixel in range(whole, pixels):
        total += tl.load(units + tl.load(source + 3 * pixel, mask=real, other=0))
    tl.store(out + 3 * image + channel, total / pixels.to(tl.float64), mask=real)


def channel_means(images: Tensor) -> Tensor:
    images = images.contiguous()
    n, height, width, _ = images.shape
    out = torch.empty((n, 3), dtype=torch.float64, device=images.device)
    launch(
        _channel_means, n, images.device,
        images, constant(_UNITS, images.device), out, height * width, AHEAD=_AHEAD, num_warps=1,
    )  # fmt: skip
    return out


@jit
def _to_bytes(unit, out, count, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(unit + place, mask=place < count)
    tl.store(out + place, byte_of(value), mask=place < count)


def to_bytes(unit: Tensor) -> Tensor:
    unit = unit.contiguous()
    out = torch.empty(unit.shape, dtype=torch.uint8, device=unit.device)
    launch(
        _to_bytes, parts(unit.numel(), _BLOCK), unit.device,
        unit, out, unit.numel(), BLOCK=_BLOCK,
    )  # fmt: skip
    return out


FUSED: dict[str, Callable[..., Tensor]] = {
    formula.__name__: formula
    for formula in (haze, whiten, frosted, splash, cover, stretch, recolour, blanket)
}


@jit
def _look_up(images, table, out, count, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    level = tl.load(images + place, mask=inside, other=0).to(tl.int32)
    value = tl.load(table + (place % 3).to(tl.int32) * 256 + level, mask=inside, other=0.0)
    tl.store(out + place, value, mask=inside)


def looked_up(images: Tensor, table: Tensor) -> Tensor:
    """table[channel, level] of every value of (N, H, W, 3); table is (3, 256) float32."""
    images = images.contiguous()
    out = torch.empty(images.shape, dtype=torch.float32, device=images.device)
    count, block = images.numel(), 1024
    launch(
        _look_up, parts(count, block), images.device, images, table, out, count,
        BLOCK=block, num_warps=4,
    )  # fmt: skip
    return out
