"""Defocus and motion on a GPU: sums over a disk, and along a trail of whole pixels.

Both read a copy of the images with its border, so that a tap is one load at a fixed distance.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import torch
import triton.language as tl
from torch import Tensor

from hardy.engine.tables import filter_weights as tables
from hardy.engine.torch.constants import constant
from hardy.engine.triton.launch import launch, parts
from hardy.engine.triton.levels import whole64
from hardy.engine.triton.stable_jit import jit

_BLOCK = 32


@jit
def _mirror(index, side):
    """Reflection without repeating the edge pixel (reflect-101), any distance."""
    period = 2 * side - 2
    index = tl.abs(index) % period
    return tl.minimum(index, period - index)


@jit(general=["reach", "blocks"])
def _lay_out(
    images, pairs, above, height, width, channels, reach, blocks, BLOCK: tl.constexpr
):  # fmt: skip
    """Columns with a mirrored border: every row packed with the next, and sums of all rows above.

    Two rows in one word of 32 bits halve the loads and sums of `_disk`.
    """
    program = tl.program_id(0)
    values = (width + 2 * reach) * channels
    x = program % blocks * BLOCK + tl.arange(0, BLOCK)
    image = (program // blocks).to(tl.int64)
    inside = x < values
    source = images + image * height * width * channels
    source += _mirror(x // channels - reach, width) * channels + x % channels
    start = image * (height + 2 * reach + 1) * values
    pairs += start + x
    above += start + x
    total = tl.zeros((BLOCK,), tl.int32)
    level = tl.load(source + _mirror(-reach, height) * (width * channels), mask=inside, other=0)
    level = level.to(tl.int32)
    for y in range(height + 2 * reach):
        row = _mirror(y + 1 - reach, height) * (width * channels)
        following = tl.load(source + row, mask=inside, other=0).to(tl.int32)
        tl.store(pairs + y * values, level | (following << 16), mask=inside)
        tl.store(above + y * values, total, mask=inside)
        total += level
        level = following
    tl.store(above + (height + 2 * reach) * values, total, mask=inside)


@jit(general=["values", "stride", "reach_values", "run_count", "fours", "tall", "strips", "blocks"])
def _disk(
    pairs, above, out, core_weight, runs, run_count, weights, offsets, fours,
    height, values, reach_values, stride, tall, strips, blocks,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Two output rows to a lane. Sums of bytes are whole, see cpu.smears.disk_bytes.

    Ring pixels come in fours, and a weight that is not 0 closes a group of equal ones.
    """
    program = tl.program_id(0)
    x = program % blocks * BLOCK + tl.arange(0, BLOCK)
    y = 2 * (program // blocks % strips * ROWS + tl.arange(0, ROWS))
    image = (program // (blocks * strips)).to(tl.int64)
    inside = (y < height)[:, None] & (x < values)[None, :]
    # The lower row of the last pair may lie below the image.
    second = inside & (y + 1 < height)[:, None]
    # Counted from the odd rows: even ones would tell the compiler to give a lane two columns.
    goal = out + image * height * values + ((y + 1) * values)[:, None] + x[None, :]
    y = tl.minimum(y, height - 1)
    place = image * tall * stride + (reach_values + y * stride)[:, None] + x[None, :]
    pairs += place
    above += place
    upper = tl.zeros((ROWS, BLOCK), tl.int32)
    lower = tl.zeros((ROWS, BLOCK), tl.int32)
    for k in range(run_count):
        first, last = tl.load(runs + 2 * k), tl.load(runs + 2 * k + 1)
        upper += tl.load(above + last) - tl.load(above + first)
        lower += tl.load(above + stride + last) - tl.load(above + stride + first)
    core = tl.load(core_weight)
    total, total_below = whole64(upper) * core, whole64(lower) * core
    both = tl.zeros((ROWS, BLOCK), tl.int32)
    for k in range(fours):
        both += tl.load(pairs + tl.load(offsets + 4 * k))
        both += tl.load(pairs + tl.load(offsets + 4 * k + 1))
        both += tl.load(pairs + tl.load(offsets + 4 * k + 2))
        both += tl.load(pairs + tl.load(offsets + 4 * k + 3))
        weight = tl.load(weights + k)
        if weight != 0.0:
            total += whole64(both & 0xFFFF) * weight
            total_below += whole64((both >> 16) & 0xFFFF) * weight
            both = tl.zeros((ROWS, BLOCK), tl.int32)
    tl.store(goal - values, tl.minimum(total, 255.0).to(tl.int32).to(tl.uint8), mask=inside)
    tl.store(goal, tl.minimum(total_below, 255.0).to(tl.int32).to(tl.uint8), mask=second)


class _Plan(NamedTuple):
    """A disk plan with places in a laid-out image, and the ring in fours."""

    reach: int
    core_weight: Tensor
    runs: Tensor
    weights: Tensor
    offsets: Tensor


@lru_cache(maxsize=64)
def _plan(radius: float, alias: float, width: int, channels: int, device: torch.device) -> _Plan:
    plan = tables.disk_plan(radius, alias)
    reach = int(max(np.abs(plan.runs).max(initial=0), np.abs(plan.ring_offsets).max(initial=0)))
    stride = (width + 2 * reach) * channels
    dx, first, last = plan.runs.T
    runs = np.stack([first * stride + dx * channels, (last + 1) * stride + dx * channels], 1)
    ring = plan.ring_offsets @ np.array([stride, channels])
    fours: list[Any] = []
    weights: list[float] = []
    for weight, group in zip(
        plan.ring_weights, np.split(ring, plan.ring_starts[1:])[:-1], strict=True
    ):
        whole = len(group) // 4
        fours += group[: 4 * whole].reshape(-1, 4).tolist()
        # Sixteen bits hold the sum of 256 bytes.
        weights += [weight if k % 64 == 0 or k == whole else 0.0 for k in range(1, whole + 1)]
        # A pixel left over counts four times a quarter, which is exact.
        fours += [[place] * 4 for place in group[4 * whole :].tolist()]
        weights += [weight / 4] * (len(group) - 4 * whole)

    def moved(numbers: Any, dtype: type) -> Tensor:
        return torch.from_numpy(np.array(numbers, dtype)).to(device)

    return _Plan(
        reach,
        moved([plan.core_weight], np.float64),
        moved(runs, np.int32),
        moved(weights, np.float64),
        moved(fours, np.int32),
    )


def disk(images: Tensor, radius: float, alias: float) -> Tensor:
    images = images.contiguous()
    n, height, width, channels = images.shape
    device = images.device
    reach, core_weight, runs, weights, offsets = _plan(radius, alias, width, channels, device)
    tall, stride = height + 2 * reach + 1, (width + 2 * reach) * channels
    # Lanes beyond the last row and column read on, at the end by a row and a block at most.
    pairs = torch.empty((n * tall + 1) * stride + _BLOCK, dtype=torch.int32, device=device)
    above = torch.empty_like(pairs)
    block = 64
    blocks = parts(stride, block)
    launch(
        _lay_out, n * blocks, device,
        images, pairs, above, height, width, channels, reach, blocks, BLOCK=block, num_warps=1,
    )  # fmt: skip
    out = torch.empty_like(images)
    rows, block = 16, _BLOCK
    strips, blocks = parts(height, 2 * rows), parts(width * channels, block)
    launch(
        _disk, n * strips * blocks, device,
        pairs, above, out, core_weight, runs, len(runs), weights, offsets, len(weights),
        height, width * channels, reach * (stride + channels), stride, tall, strips, blocks,
        ROWS=rows, BLOCK=block, num_warps=2, num_stages=1,
    )  # fmt: skip
    return out


@jit(general=["width", "height", "reach", "strips", "blocks"])
def _widen(
    images, out, height, width, channels, reach, strips, blocks,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Sixteen-bit quanta (257 v) with `reach` more pixels at every edge, which repeat it."""
    program = tl.program_id(0)
    values, tall = (width + 2 * reach) * channels, height + 2 * reach
    x = program % blocks * BLOCK + tl.arange(0, BLOCK)
    y = program // blocks % strips * ROWS + tl.arange(0, ROWS)
    image = (program // (blocks * strips)).to(tl.int64)
    # Neighbouring lanes read neighbouring values: said twice, since one channel is not multiplied.
    column = tl.minimum(tl.maximum(x // channels - reach, 0), width - 1)
    column = tl.max_contiguous(column, BLOCK)
    row = tl.minimum(tl.maximum(y - reach, 0), height - 1)
    place = tl.max_contiguous(column * channels + x % channels, BLOCK)
    source = images + image * height * width * channels + place[None, :]
    inside = (y < tall)[:, None] & (x < values)[None, :]
    quantum = tl.load(source + (row * width * channels)[:, None], mask=inside).to(tl.uint16) * 257
    tl.store(out + image * tall * values + (y * values)[:, None] + x[None, :], quantum, mask=inside)


@jit(general=["values", "stride", "taps", "tall", "strips", "blocks"])
def _trail(
    wide, weights, rows, columns, out, height, values, channels, taps, stride, tall, strips, blocks,
    ROWS: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Quanta times weights, rounded to a quantum, then to the nearest byte.

    A tap is a load and three float64 operations: 41 taps are 123 of the 280 that 400,000 images a
    second leave for a value.
    """
    program = tl.program_id(0)
    x = program % blocks * BLOCK + tl.arange(0, BLOCK)
    y = program // blocks % strips * ROWS + tl.arange(0, ROWS)
    image = (program // (blocks * strips)).to(tl.int64)
    inside = (y < height)[:, None] & (x < values)[None, :]
    goal = out + image * height * values + (y * values)[:, None] + x[None, :]
    y = tl.minimum(y, height - 1)
    reach = taps - 1
    wide += (
        image * tall * stride + ((y + reach) * stride)[:, None] + (x + reach * channels)[None, :]
    )
    rows += image * taps
    columns += image * taps
    total = tl.zeros((ROWS, BLOCK), tl.float64)
    for k in tl.range(0, taps, loop_unroll_factor=4):
        # Replayed taps may be anything; none may read outside the copy.
        row = tl.minimum(tl.maximum(tl.load(rows + k).to(tl.int32), -reach), reach)
        column = tl.minimum(tl.maximum(tl.load(columns + k).to(tl.int32), -reach), reach)
        quantum = tl.load(wide + (row * stride + column * channels))
        total = total + whole64(quantum) * tl.load(weights + k)
    rounded = (total + 0.5).to(tl.int32) + 128
    tl.store(goal, ((rounded - (rounded >> 8)) >> 8).to(tl.uint8), mask=inside)


def trail(images: Tensor, weights: Any, rows: Tensor, columns: Tensor) -> Tensor:
    images = images.contiguous()
    n, height, width, channels = images.shape
    device, taps = images.device, len(weights)
    reach = taps - 1
    tall, stride = height + 2 * reach, (width + 2 * reach) * channels
    wide = images.new_empty(n * tall * stride + _BLOCK, dtype=torch.uint16)
    block, count = 128, 32
    strips, blocks = parts(tall, count), parts(stride, block)
    launch(
        _widen, n * strips * blocks, device,
        images, wide, height, width, channels, reach, strips, blocks, ROWS=count, BLOCK=block,
    )  # fmt: skip
    out = torch.empty_like(images)
    block = _BLOCK
    strips, blocks = parts(height, count), parts(width * channels, block)
    launch(
        _trail, n * strips * blocks, device,
        wide, constant(weights, device), rows.contiguous(), columns.contiguous(), out,
        height, width * channels, channels, taps, stride, tall, strips, blocks,
        ROWS=count, BLOCK=block, num_warps=4, num_stages=1,
    )  # fmt: skip
    return out
