"""The glass shuffle and plasma clouds on a GPU."""

from __future__ import annotations

from functools import lru_cache

import torch
import triton.language as tl
from torch import Tensor

from hardy.engine.torch import fields as torch_fields
from hardy.engine.triton.launch import launch, parts, pixels_of
from hardy.engine.triton.stable_jit import jit

# Larger clouds are drawn level by level, by all processors together.
_LARGEST_CLOUD = 1024


@jit(general=["passes", "blocks"])
def _shuffle(
    images, moves, out, height, width, passes, blocks, REACH: tl.constexpr, BLOCK: tl.constexpr
):
    """A source already visited by the scan stands for its own source, and so on; else, for itself.

    Every pixel follows its copies back through all passes, the last one first, so nothing but
    moves is read on the way. A step leads on with a chance below one half.
    """
    image, pixel, inside = pixels_of(height * width, blocks, BLOCK)
    tall, wide = height - 2 * REACH, width - 2 * REACH
    moves += image * passes * tall * wide
    y, x = pixel // width, pixel % width
    for k in range(passes):
        chain = moves + (passes - 1 - k) * tall * wide
        follow = inside & (y > REACH) & (y <= height - REACH) & (x > REACH) & (x <= width - REACH)
        while tl.max(follow.to(tl.int32), 0) > 0:
            place = (height - REACH - y) * wide + (width - REACH - x)
            move = tl.load(chain + place, mask=follow, other=0).to(tl.uint32)
            # Replayed moves may be anything; none may read outside the image.
            move = tl.minimum(move, 4 * REACH * REACH - 1)
            to_y = tl.where(follow, y + (move // (2 * REACH)).to(tl.int32) - REACH, y)
            to_x = tl.where(follow, x + (move % (2 * REACH)).to(tl.int32) - REACH, x)
            follow = follow & ((to_y > y) | ((to_y == y) & (to_x > x)))
            y, x = to_y, to_x
            follow = follow & (y <= height - REACH) & (x > REACH) & (x <= width - REACH)
    start = image * height * width
    source, goal = images + 3 * (start + y * width + x), out + 3 * (start + pixel)
    for c in tl.static_range(3):
        tl.store(goal + c, tl.load(source + c, mask=inside, other=0), mask=inside)


def shuffle(images: Tensor, moves: Tensor, reach: int) -> Tensor:
    images, moves = images.contiguous(), moves.contiguous()
    n, height, width, _ = images.shape
    if height <= 2 * reach or width <= 2 * reach:
        return images.clone()
    out = torch.empty_like(images)
    # One warp to a program: all that wait for the longest chain are few.
    block = 64
    blocks = parts(height * width, block)
    launch(
        _shuffle, n * blocks, images.device,
        images, moves, out, height, width, moves.shape[1], blocks,
        REACH=reach, BLOCK=block, num_warps=1, num_stages=1,
    )  # fmt: skip
    return out


@jit
def _jolt(draws, place, wibble, mask):
    draw = tl.load(draws + place, mask=mask, other=0.0)
    return wibble * (-wibble + (2.0 * wibble) * draw)


@jit
def _plasma(steps, wibbles, clouds, side, levels, BLOCK: tl.constexpr):
    """One cloud to a program, which waits for itself after each half level.

    At 256 a cloud reads and writes 2.6 MB; that is its cost.
    """
    cloud = clouds + tl.program_id(0).to(tl.int64) * side * side
    draws = steps + tl.program_id(0).to(tl.int64) * (side * side - 1)
    lane = tl.arange(0, BLOCK)
    low, high = tl.zeros((BLOCK,), tl.float64), tl.zeros((BLOCK,), tl.float64)
    tl.store(cloud + lane, low, mask=lane < 1)
    tl.debug_barrier()
    for level in range(levels):
        cells = 1 << level
        step = side >> level
        half = step >> 1
        wibble = tl.load(wibbles + level)
        for start in range(0, cells * cells, BLOCK):
            cell = start + lane
            here = cell < cells * cells
            y, x = (cell >> level) * step, (cell & (cells - 1)) * step
            below, right = (y + step) & (side - 1), (x + step) & (side - 1)
            mean = tl.load(cloud + (y * side + x), mask=here, other=0.0)
            mean += tl.load(cloud + (below * side + x), mask=here, other=0.0)
            other = tl.load(cloud + (y * side + right), mask=here, other=0.0)
            mean += other + tl.load(cloud + (below * side + right), mask=here, other=0.0)
            value = mean * 0.25 + _jolt(draws, cell, wibble, here)
            tl.store(cloud + ((y + half) * side + x + half), value, mask=here)
            low, high = _widened(low, high, value, here)
        tl.debug_barrier()
        draws += cells * cells
        for start in range(0, cells * cells, BLOCK):
            cell = start + lane
            here = cell < cells * cells
            y, x = (cell >> level) * step, (cell & (cells - 1)) * step
            corner = tl.load(cloud + (y * side + x), mask=here, other=0.0)
            centre = tl.load(cloud + ((y + half) * side + x + half), mask=here, other=0.0)
            above, right = (y - half) & (side - 1), (x + step) & (side - 1)
            mean = centre + tl.load(cloud + (above * side + x + half), mask=here, other=0.0)
            mean += corner + tl.load(cloud + (y * side + right), mask=here, other=0.0)
            value = mean * 0.25 + _jolt(draws, cell, wibble, here)
            tl.store(cloud + (y * side + x + half), value, mask=here)
            low, high = _widened(low, high, value, here)
            left, below = (x - half) & (side - 1), (y + step) & (side - 1)
            mean = centre + tl.load(cloud + ((y + half) * side + left), mask=here, other=0.0)
            mean += corner + tl.load(cloud + (below * side + x), mask=here, other=0.0)
            value = mean * 0.25 + _jolt(draws, cells * cells + cell, wibble, here)
            tl.store(cloud + ((y + half) * side + x), value, mask=here)
            low, high = _widened(low, high, value, here)
        tl.debug_barrier()
        draws += 2 * cells * cells
    lowest = tl.min(low, 0)
    span = tl.max(high, 0) - lowest
    for start in range(0, side * side, BLOCK):
        place = start + lane
        value = tl.load(cloud + place, mask=place < side * side, other=0.0)
        tl.store(cloud + place, (value - lowest) / span, mask=place < side * side)


@jit
def _widened(low, high, value, here):
    """0, where the cloud starts, is one of its values, and stands for those that are not here."""
    value = tl.where(here, value, 0.0)
    return tl.minimum(low, value), tl.maximum(high, value)


def plasma(steps: Tensor, decay: float, side: int) -> Tensor:
    if side > _LARGEST_CLOUD:
        return torch_fields.plasma(steps, decay, side)
    steps = steps.contiguous()
    levels = side.bit_length() - 1
    clouds = torch.empty((len(steps), side, side), dtype=torch.float64, device=steps.device)
    launch(
        _plasma, len(steps), steps.device,
        steps, _wibbles(float(decay), levels, steps.device), clouds, side, levels,
        BLOCK=1024, num_warps=8, num_stages=1,
    )  # fmt: skip
    return clouds


@lru_cache(maxsize=64)
def _wibbles(decay: float, levels: int, device: torch.device) -> Tensor:
    wibbles = [100.0]
    for _ in range(levels - 1):
        wibbles.append(wibbles[-1] / decay)
    return torch.tensor(wibbles, dtype=torch.float64).to(device)
