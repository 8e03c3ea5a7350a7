"""Spatter's relief on a GPU: Canny's edges in whole numbers, as OpenCV has them, and the distance
to them. `hardy.engine.torch.fields` says why the distance has a closed form.
"""

from __future__ import annotations

import torch
import triton.language as tl
from torch import Tensor

from hardy.engine.triton.launch import launch, parts, pixels_of
from hardy.engine.triton.levels import whole64
from hardy.engine.triton.stable_jit import jit

_WEAK, _STRONG = tl.constexpr(50), tl.constexpr(150)
_TAN_22 = tl.constexpr(13573)  # tan 22.5 degrees in 15-bit fixed point
# OpenCV's distances in 16-bit fixed point; the relief looks no further than DEPTH pixels.
_DEPTH = tl.constexpr(20)
_ONE, _DIAGONAL, _KNIGHT = tl.constexpr(65536), tl.constexpr(91750), tl.constexpr(143976)
_NINTH = tl.constexpr(1 / 9)
_BINS = tl.constexpr(32)
_BLOCK = 512


@jit
def _level(layer, y, x, height, width, mask):
    y = tl.minimum(tl.maximum(y, 0), height - 1)
    x = tl.minimum(tl.maximum(x, 0), width - 1)
    return tl.load(layer + (y * width + x), mask=mask, other=0).to(tl.int32)


@jit
def _gradient(layer, y, x, height, width, mask):
    """3 x 3 Sobel, edges replicated."""
    a = _level(layer, y - 1, x - 1, height, width, mask)
    b = _level(layer, y - 1, x + 1, height, width, mask)
    c = _level(layer, y + 1, x - 1, height, width, mask)
    d = _level(layer, y + 1, x + 1, height, width, mask)
    left = _level(layer, y, x - 1, height, width, mask)
    right = _level(layer, y, x + 1, height, width, mask)
    above = _level(layer, y - 1, x, height, width, mask)
    below = _level(layer, y + 1, x, height, width, mask)
    return (b + 2 * right + d) - (a + 2 * left + c), (c + 2 * below + d) - (a + 2 * above + b)


@jit
def _strength(layer, y, x, height, width, mask):
    """|dx| + |dy|; none outside."""
    mask = mask & (y >= 0) & (y < height) & (x >= 0) & (x < width)
    dx, dy = _gradient(layer, y, x, height, width, mask)
    return tl.abs(dx) + tl.abs(dy)


@jit
def _ridges(layers, labels, height, width, blocks, BLOCK: tl.constexpr):
    """Labels (N, 1 + H W) of pixels that top both neighbours across the edge; -1 for all others.

    A pixel's label is its own place, counted from 1, or 0 if it is strong: 0 is one part for all
    that hang together with a strong pixel.
    """
    image, pixel, inside = pixels_of(height * width, blocks, BLOCK)
    layer = layers + image * height * width
    y, x = pixel // width, pixel % width
    dx, dy = _gradient(layer, y, x, height, width, inside)
    strength = tl.abs(dx) + tl.abs(dy)
    across, along = tl.abs(dx) * _TAN_22, tl.abs(dy) << 15
    level, upright = along < across, along > across + (tl.abs(dx) << 16)
    slanted = (level | upright) == 0
    down = tl.where(level, 0, 1)
    right = tl.where(upright, 0, tl.where(slanted & ((dx ^ dy) < 0), -1, 1))
    weak = inside & (strength > _WEAK)
    before = _strength(layer, y - down, x - right, height, width, weak)
    after = _strength(layer, y + down, x + right, height, width, weak)
    kept = weak & (strength > before) & (strength >= after + tl.where(slanted, 1, 0))
    label = tl.where(kept, tl.where(strength > _STRONG, 0, pixel + 1), -1)
    labels += image * (height * width + 1)
    tl.store(labels + 1 + pixel, label, mask=inside)
    tl.store(labels + pixel, tl.zeros_like(pixel), mask=pixel == 0)


@jit
def _root(labels, node, active):
    """The part that a node belongs to so far; past the cache of the processor, which may be old."""
    parent = tl.load(labels + node, mask=active, other=0, cache_modifier=".cg")
    parent = tl.where(active, parent, node)
    while tl.max((parent != node).to(tl.int32), 0) > 0:
        node = parent
        parent = tl.load(labels + node, mask=active, other=0, cache_modifier=".cg")
        parent = tl.where(active, parent, node)
    return node


@jit
def _join(labels, a, b, active):
    """Both parts under the lesser root. Whoever finds the greater one taken goes on from there."""
    while tl.max(active.to(tl.int32), 0) > 0:
        a, b = _root(labels, a, active), _root(labels, b, active)
        lesser, greater = tl.minimum(a, b), tl.maximum(a, b)
        active = active & (a != b)
        found = tl.atomic_min(labels + greater, lesser, mask=active, sem="relaxed")
        active = active & (found != greater)
        a, b = tl.where(active, found, lesser), lesser


@jit
def _link(labels, height, width, blocks, BLOCK: tl.constexpr):
    """Joins every kept pixel with its kept neighbours to the left and above."""
    image, pixel, inside = pixels_of(height * width, blocks, BLOCK)
    labels += image * (height * width + 1)
    y, x = pixel // width, pixel % width
    kept = inside & (tl.load(labels + 1 + pixel, mask=inside, other=-1) >= 0)
    if tl.max(kept.to(tl.int32), 0) > 0:
        for k in tl.static_range(4):
            down, right = (0, -1) if k == 3 else (-1, k - 1)
            beside = pixel + down * width + right
            touches = kept & (y + down >= 0) & (x + right >= 0) & (x + right < width)
            touches = touches & (tl.load(labels + 1 + beside, mask=touches, other=-1) >= 0)
            _join(labels, pixel + 1, beside + 1, touches)


@jit
def _reached(labels, out, height, width, blocks, BLOCK: tl.constexpr):
    image, pixel, inside = pixels_of(height * width, blocks, BLOCK)
    labels += image * (height * width + 1)
    kept = inside & (tl.load(labels + 1 + pixel, mask=inside, other=-1) >= 0)
    part = _root(labels, pixel + 1, kept)
    edge = (kept & (part == 0)).to(tl.uint8)
    tl.store(out + image * height * width + pixel, edge, mask=inside)


def edges(layers: Tensor) -> Tensor:
    """Canny(50, 150) of bytes (N, H, W), 3 x 3 Sobel, |dx| + |dy|; bytes 0 and 1.

    Hysteresis is union-find: parts are joined by atomic minima, all pixels at once.
    """
    n, height, width = layers.shape
    labels = torch.empty((n, height * width + 1), dtype=torch.int32, device=layers.device)
    out = torch.empty_like(layers)
    block = 128
    blocks = parts(height * width, block)
    size = (height, width, blocks)
    launch(_ridges, n * blocks, layers.device, layers, labels, *size, BLOCK=block, num_warps=4)
    launch(_link, n * blocks, layers.device, labels, *size, BLOCK=block, num_warps=1)
    launch(_reached, n * blocks, layers.device, labels, out, *size, BLOCK=block, num_warps=1)
    return out


@jit
def _along(edge, out, height, width, blocks, BLOCK: tl.constexpr):
    """Pixels along the row to the nearest edge, 20 at most."""
    image, pixel, inside = pixels_of(height * width, blocks, BLOCK)
    start = image * height * width
    x = pixel % width
    nearest = tl.full((BLOCK,), _DEPTH, tl.int32)
    for k in tl.static_range(_DEPTH):
        d = _DEPTH - 1 - k
        before = tl.load(edge + start + (pixel - d), mask=inside & (x >= d), other=0)
        after = tl.load(edge + start + (pixel + d), mask=inside & (x + d < width), other=0)
        nearest = tl.where((before | after) != 0, d, nearest)
    tl.store(out + start + pixel, nearest.to(tl.uint8), mask=inside)


@jit
def _path(dy, dx):
    """Straight steps and knight's moves, or those and diagonals: the longer is right."""
    longer, shorter = tl.maximum(dx, dy), tl.minimum(dx, dy)
    flat = longer * _ONE + shorter * (_KNIGHT - 2 * _ONE)
    return tl.maximum(flat, longer * (_KNIGHT - _DIAGONAL) + shorter * (2 * _DIAGONAL - _KNIGHT))


@jit
def _distance(along, out, height, width, blocks, BLOCK: tl.constexpr):
    """Fixed-point chamfer distance to the nearest edge, 20 pixels at most."""
    image, pixel, inside = pixels_of(height * width, blocks, BLOCK)
    start = image * height * width
    y = pixel // width
    nearest = tl.full((BLOCK,), _DEPTH * _ONE, tl.int32)
    for dy in range(_DEPTH):
        place = along + start + pixel
        above = tl.load(place - dy * width, mask=inside & (y >= dy), other=_DEPTH)
        below = tl.load(place + dy * width, mask=inside & (y + dy < height), other=_DEPTH)
        nearest = tl.minimum(nearest, _path(dy, tl.minimum(above, below).to(tl.int32)))
    tl.store(out + start + pixel, nearest, mask=inside)


@jit
def _mirror(index, side):
    index = tl.abs(index)
    return tl.minimum(index, 2 * side - 2 - index)


@jit
def _box_sum(layer, pixel, inside, height, width):
    """The sum of the 3 x 3 whole numbers about each pixel, reflect-101."""
    y, x = pixel // width, pixel % width
    total = tl.zeros_like(pixel)
    for dy in tl.static_range(-1, 2):
        row = _mirror(y + dy, height) * width
        for dx in tl.static_range(-1, 2):
            total += tl.load(layer + (row + _mirror(x + dx, width)), mask=inside, other=0).to(
                tl.int32
            )
    return total


@jit
def _depths(distance, out, counts, height, width, blocks, BLOCK: tl.constexpr):
    """Box means of distances, truncated, and how often each of 0 .. 20 occurs.

    Nine distances add up exactly in fixed point; OpenCV rounds their mean to float32.
    """
    image, pixel, inside = pixels_of(height * width, blocks, BLOCK)
    start = image * height * width
    total = whole64(_box_sum(distance + start, pixel, inside, height, width))
    depth = (total * 0.0000152587890625 * _NINTH).to(tl.float32).to(tl.int32)
    tl.store(out + start + pixel, depth.to(tl.uint8), mask=inside)
    bins = tl.arange(0, _BINS)
    found = tl.histogram(tl.where(inside, depth, _BINS - 1), _BINS)
    tl.atomic_add(counts + image * _BINS + bins, found, mask=bins <= _DEPTH, sem="relaxed")


@jit
def _equalise(counts, levels, pixels):
    """OpenCV's histogram equalisation as a table; a flat layer stays as it is."""
    bins = tl.arange(0, _BINS)
    image = tl.program_id(0).to(tl.int64) * _BINS
    upto = tl.cumsum(tl.load(counts + image + bins), 0)
    lowest = tl.min(tl.where(upto > 0, upto, pixels), 0)
    rest = tl.zeros((_BINS,), tl.float32) + tl.maximum(pixels - lowest, 1).to(tl.float32)
    scale = tl.div_rn(tl.full((_BINS,), 255.0, tl.float32), rest)
    level = tl.maximum(upto - lowest, 0).to(tl.float32) * scale
    # Adding 1.5 * 2**23 rounds to the nearest whole number, ties to even.
    level = tl.minimum((level + 12582912.0) - 12582912.0, 255.0).to(tl.int32)
    tl.store(levels + image + bins, tl.where(pixels - lowest + bins * 0 == 0, bins, level))


@jit
def _emboss(depths, levels, out, height, width, blocks, BLOCK: tl.constexpr):
    """The equalised layer under -2 -1 0 / -1 1 1 / 0 1 2, clipped."""
    image, pixel, inside = pixels_of(height * width, blocks, BLOCK)
    start = image * height * width
    y, x = pixel // width, pixel % width
    total = tl.zeros((BLOCK,), tl.int32)
    for dy in tl.static_range(-1, 2):
        row = _mirror(y + dy, height) * width
        for dx in tl.static_range(-1, 2):
            place = depths + start + (row + _mirror(x + dx, width))
            depth = tl.load(place, mask=inside, other=0).to(tl.int32)
            level = tl.load(levels + image * _BINS + depth)
            total += level * (dy + dx if (dy != 0) | (dx != 0) else 1)
    total = tl.minimum(tl.maximum(total, 0), 255)
    tl.store(out + start + pixel, total.to(tl.uint8), mask=inside)


@jit
def _box_mean(layer, out, height, width, blocks, BLOCK: tl.constexpr):
    image, pixel, inside = pixels_of(height * width, blocks, BLOCK)
    start = image * height * width
    mean = (_box_sum(layer + start, pixel, inside, height, width) + 4) // 9
    tl.store(out + start + pixel, mean.to(tl.uint8), mask=inside)


def relief(liquid: Tensor) -> Tensor:
    """Canny's edges, distance to them cut at 20, box mean, equalised, embossed, box mean."""
    n, height, width = liquid.shape
    device = liquid.device
    blocks = parts(height * width, _BLOCK)
    size = (height, width, blocks)
    edge = edges(liquid.contiguous())
    along, depths, out = (torch.empty_like(edge) for _ in range(3))
    distance = torch.empty_like(edge, dtype=torch.int32)
    counts = torch.zeros((n, 32), dtype=torch.int32, device=device)
    levels = torch.empty_like(counts)
    launch(_along, n * blocks, device, edge, along, *size, BLOCK=_BLOCK)
    launch(_distance, n * blocks, device, along, distance, *size, BLOCK=_BLOCK)
    launch(_depths, n * blocks, device, distance, depths, counts, *size, BLOCK=_BLOCK)
    launch(_equalise, n, device, counts, levels, height * width, num_warps=1)
    launch(_emboss, n * blocks, device, depths, levels, along, *size, BLOCK=_BLOCK)
    launch(_box_mean, n * blocks, device, along, out, *size, BLOCK=_BLOCK)
    return out
