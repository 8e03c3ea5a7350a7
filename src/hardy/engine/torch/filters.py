"""Filters of the torch engine: shifted, weighted copies added in the CPU kernels' order.

Eager torch rounds after every operation on every device, so the same operations in the same order
give the same bits. Three of its conveniences do not and are avoided here: `alpha=`, `addcmul` and
`lerp` fuse a product into a sum on a GPU; so do compilers, hence nothing here is compiled; and a
division by a Python number is a product with its reciprocal there (see `quotient`).
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from hardy.engine.tables import filter_weights as tables
from hardy.engine.torch.constants import constant

# From this many taps a side a filter is cheaper as matrix products; the CPU engine's switch too.
_MANY_TAPS = 40


def quotient(array: Tensor, divisor: float) -> Tensor:
    """array / divisor, rounded once: a divisor that lies on the device is really divided by."""
    return array / torch.full((), divisor, dtype=array.dtype, device=array.device)


def to_bytes(unit: Tensor) -> Tensor:
    """clip to 0..1, times 255, truncate."""
    return unit.clamp(0.0, 1.0).mul_(255.0).to(torch.uint8)


def widened(array: Tensor, axis: int, reach: int, border: str) -> Tensor:
    """The array with `reach` more at both ends of an axis.

    That is the edge ("nearest"), or a mirror image with the edge ("reflect") or without ("mirror").
    """
    side = array.shape[axis]
    place = torch.arange(-reach, side + reach, device=array.device)
    if border == "nearest":
        place = place.clamp(0, side - 1)
    elif border == "reflect":
        place = place % (2 * side)
        place = torch.minimum(place, 2 * side - 1 - place)
    else:
        place = place.abs() % (2 * side - 2)
        place = torch.minimum(place, 2 * side - 2 - place)
    return array.index_select(axis, place)


def _correlated(array: Tensor, weights: Sequence[float], axis: int, border: str) -> Tensor:
    """Symmetric filter along one axis: centre first, then pairs from the outermost inwards."""
    reach, side = len(weights) - 1, array.shape[axis]
    padded = widened(array, axis, reach, border)
    total, pair = array * weights[0], torch.empty_like(array)
    for j in range(reach, 0, -1):
        before, after = padded.narrow(axis, reach - j, side), padded.narrow(axis, reach + j, side)
        total += torch.add(before, after, out=pair).mul_(weights[j])
    return total


def blur(images: Tensor, sigma: float, truncate: float = 4.0) -> Tensor:
    weights = tables.gaussian_weights(sigma, truncate).tolist()
    down = _correlated(quotient(images.double(), 255.0), weights, 1, "nearest")
    return to_bytes(_correlated(down, weights, 2, "nearest"))


def smooth(fields: Tensor, sigma: float, truncate: float, border: str) -> Tensor:
    weights = tables.gaussian_weights(sigma, truncate).tolist()
    if len(weights) <= _MANY_TAPS:
        return _correlated(_correlated(fields, weights, 1, border), weights, 2, border)
    down, along = (
        constant(tables.smoothing_halves(side, sigma, truncate, border), fields.device)
        for side in fields.shape[1:]
    )
    return _smooth_by_halves(fields, down, along)


def _smooth_by_halves(fields: Tensor, down: Tensor, along: Tensor) -> Tensor:
    """A @ field @ B.T by even and odd parts along both axes; see cpu.filters.smooth_by_halves.

    Parts are (2, 2, N, half, half): even or odd down, even or odd along. A matrix product would
    add in an order of its own, so the sum over the inner index is written out.
    """
    half_h, half_w = down.shape[1], along.shape[1]
    top, bottom = fields[:, :half_h], fields.flip(1)[:, :half_h]
    turned_top, turned_bottom = top.flip(2)[..., :half_w], bottom.flip(2)[..., :half_w]
    top, bottom = top[..., :half_w], bottom[..., :half_w]
    even, odd = top + bottom, top - bottom
    turned_even, turned_odd = turned_top + turned_bottom, turned_top - turned_bottom
    parts = torch.stack(
        [even + turned_even, even - turned_even, odd + turned_odd, odd - turned_odd]
    )
    parts = parts.unflatten(0, (2, 2))
    between, result = torch.zeros_like(parts), torch.zeros_like(parts)
    for k in range(half_h):
        between += down[:, None, None, :, k, None] * parts[:, :, :, k, None, :]
    for k in range(half_w):
        result += between[..., k, None] * along[:, None, None, :, k]
    (a, b), (c, d) = result
    plus, minus, odd_plus, odd_minus = a + b, a - b, c + d, c - d
    out = torch.empty_like(fields)
    # In this order: a middle row or column is its own mirror image and belongs to the later.
    out[:, :half_h, :half_w] = (plus + odd_plus) / 4.0
    out[:, -half_h:, :half_w] = ((plus - odd_plus) / 4.0).flip(1)
    out[:, :half_h, -half_w:] = ((minus + odd_minus) / 4.0).flip(2)
    out[:, -half_h:, -half_w:] = ((minus - odd_minus) / 4.0).flip(1, 2)
    return out


def disk(images: Tensor, radius: float, alias: float) -> Tensor:
    """Sums of bytes are whole numbers: column runs come from one cumulative sum per image."""
    plan = tables.disk_plan(radius, alias)
    runs, offsets = plan.runs.tolist(), plan.ring_offsets.tolist()
    reach = max(abs(step) for row in runs + offsets for step in row)
    _, height, width, _ = images.shape
    padded = widened(widened(images, 1, reach, "mirror"), 2, reach, "mirror")

    def moved(source: Tensor, dy: int, dx: int) -> Tensor:
        return source.narrow(1, reach + dy, height).narrow(2, reach + dx, width)

    above = torch.zeros_like(padded[:, :1], dtype=torch.int32)
    above = torch.cat([above, padded.cumsum(1, dtype=torch.int32)], 1)  # of all rows above
    core = torch.zeros_like(images, dtype=torch.int32)
    for dx, first, last in runs:
        core += moved(above, last + 1, dx)
        core -= moved(above, first, dx)
    total = core.double().mul_(plan.core_weight)
    starts = plan.ring_starts.tolist()
    for weight, start, stop in zip(plan.ring_weights.tolist(), starts, starts[1:], strict=False):
        group = torch.zeros_like(images, dtype=torch.int16)
        for dy, dx in offsets[start:stop]:
            group += moved(padded, dy, dx)
        total += group.double().mul_(weight)
    return total.clamp_(max=255.0).to(torch.uint8)


def trail(images: Tensor, weights: Any, rows: Tensor, columns: Tensor) -> Tensor:
    n, height, width, _ = images.shape
    reach = len(weights) - 1
    quanta = images.to(torch.int32) * 257
    image = torch.arange(n, device=images.device)[:, None, None]
    y = torch.arange(height, device=images.device)[:, None]
    x = torch.arange(width, device=images.device)
    columns = columns.clamp(-reach, reach)
    total = torch.zeros(images.shape, dtype=torch.float64, device=images.device)
    # As tensors of no axis, the weights lift a product with whole numbers to float64.
    for k, weight in enumerate(torch.tensor(weights, dtype=torch.float64)):
        row = (y + rows[:, k, None, None]).clamp_(0, height - 1)
        column = (x + columns[:, k, None, None]).clamp_(0, width - 1)
        total += quanta[image, row, column] * weight
    quantum = total.add_(0.5).to(torch.int32) + 128
    return ((quantum - (quantum >> 8)) >> 8).to(torch.uint8)


def run_down(fields: Tensor, taps: Sequence[float], first: int) -> Tensor:
    out = torch.zeros_like(fields)
    height = fields.shape[1]
    for k, tap in enumerate(taps):
        rise = k - first  # row y reads row y - rise
        count = height - abs(rise)
        if count > 0:
            out.narrow(1, max(rise, 0), count).add_(fields.narrow(1, max(-rise, 0), count) * tap)
    return out


def running_mean(images: Tensor, total: Tensor, count: int) -> tuple[Tensor, Tensor]:
    total += quotient(images.float(), 255.0)
    return quotient(total, count).mul_(255.0).to(torch.uint8), total
