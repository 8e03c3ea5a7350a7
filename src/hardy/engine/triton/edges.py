"""Canny's edge detector on a GPU: whole numbers throughout, as OpenCV has it."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor

from hardy.engine.triton.launch import launch, parts

_WEAK, _STRONG = tl.constexpr(50), tl.constexpr(150)
_TAN_22 = tl.constexpr(13573)  # tan 22.5 degrees in 15-bit fixed point


@triton.jit
def _level(layer, y, x, height, width, mask):
    y = tl.minimum(tl.maximum(y, 0), height - 1)
    x = tl.minimum(tl.maximum(x, 0), width - 1)
    return tl.load(layer + (y * width + x), mask=mask, other=0).to(tl.int32)


@triton.jit
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


@triton.jit
def _strength(layer, y, x, height, width, mask):
    """|dx| + |dy|; none outside."""
    mask = mask & (y >= 0) & (y < height) & (x >= 0) & (x < width)
    dx, dy = _gradient(layer, y, x, height, width, mask)
    return tl.abs(dx) + tl.abs(dy)


@triton.jit
def _ridges(layers, labels, height, width, blocks, BLOCK: tl.constexpr):
    """Labels (N, 1 + H W) of pixels that top both neighbours across the edge; -1 for all others.

    A pixel's label is its own place, counted from 1, or 0 if it is strong: 0 is one part for all
    that hang together with a strong pixel.
    """
    program = tl.program_id(0)
    pixel = program % blocks * BLOCK + tl.arange(0, BLOCK)
    image = (program // blocks).to(tl.int64)
    layer = layers + image * height * width
    inside = pixel < height * width
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


@triton.jit
def _root(labels, node, active):
    """The part that a node belongs to so far; past the cache of the processor, which may be old."""
    parent = tl.load(labels + node, mask=active, other=0, cache_modifier=".cg")
    parent = tl.where(active, parent, node)
    while tl.max((parent != node).to(tl.int32), 0) > 0:
        node = parent
        parent = tl.load(labels + node, mask=active, other=0, cache_modifier=".cg")
        parent = tl.where(active, parent, node)
    return node


@triton.jit
def _join(labels, a, b, active):
    """Both parts under the lesser root. Whoever finds the greater one taken goes on from there."""
    while tl.max(active.to(tl.int32), 0) > 0:
        a, b = _root(labels, a, active), _root(labels, b, active)
        lesser, greater = tl.minimum(a, b), tl.maximum(a, b)
        active = active & (a != b)
        found = tl.atomic_min(labels + greater, lesser, mask=active, sem="relaxed")
        active = active & (found != greater)
        a, b = tl.where(active, found, lesser), lesser


@triton.jit
def _link(labels, height, width, blocks, BLOCK: tl.constexpr):
    """Joins every kept pixel with its kept neighbours to the left and above."""
    program = tl.program_id(0)
    pixel = program % blocks * BLOCK + tl.arange(0, BLOCK)
    inside = pixel < height * width
    labels += (program // blocks).to(tl.int64) * (height * width + 1)
    y, x = pixel // width, pixel % width
    kept = inside & (tl.load(labels + 1 + pixel, mask=inside, other=-1) >= 0)
    if tl.max(kept.to(tl.int32), 0) > 0:
        for k in tl.static_range(4):
            down, right = (0, -1) if k == 3 else (-1, k - 1)
            beside = pixel + down * width + right
            touches = kept & (y + down >= 0) & (x + right >= 0) & (x + right < width)
            touches = touches & (tl.load(labels + 1 + beside, mask=touches, other=-1) >= 0)
            _join(labels, pixel + 1, beside + 1, touches)


@triton.jit
def _reached(labels, out, height, width, blocks, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    pixel = program % blocks * BLOCK + tl.arange(0, BLOCK)
    image = (program // blocks).to(tl.int64)
    inside = pixel < height * width
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
