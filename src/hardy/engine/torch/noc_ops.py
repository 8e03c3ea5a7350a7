"""The primitives of ImageNet-NOC on torch tensors: whole numbers, but for weights and sums."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from hardy.engine.torch.constants import constant


def look_up(images: Tensor, tables: Tensor) -> Tensor:
    return tables.gather(1, images.flatten(1, 2).to(torch.int64)).reshape(images.shape)


def level_sums(images: Tensor) -> Tensor:
    return images.flatten(1).sum(1, dtype=torch.int64)


def box_sums(images: Tensor, passes: int) -> Tensor:
    """Adds in the CPU kernel's order: sums that are too large to be exact depend on it."""
    sums = images.double()
    for dim in (1, 2):
        side, edge = images.shape[dim], torch.zeros_like(sums.narrow(dim, 0, 1))
        for _ in range(passes):
            wide = torch.cat([edge, sums, edge], dim)
            sums = wide.narrow(dim, 0, side) + sums + wide.narrow(dim, 2, side)
    return sums


def blocks(images: Tensor, sides: Tensor) -> Tensor:
    """Differences of running sums: those over all rows above and all columns to the left."""
    n, height, width, _ = images.shape
    totals = torch.zeros((n, height + 1, width + 1, 3), dtype=torch.int64, device=images.device)
    totals[:, 1:, 1:] = images.to(torch.int64).cumsum(1).cumsum(2)
    image = torch.arange(n, device=images.device)[:, None, None]
    edges = []
    for side in (height, width):
        border, last = side % sides // 2, side // sides - 1
        place = torch.arange(side, device=images.device) - border[:, None]
        block = torch.minimum(place.clamp(min=0) // sides[:, None], last[:, None])
        edges.append(torch.stack([block, block + 1]) * sides[:, None])
    (top, bottom), (left, right) = edges[0][..., None], edges[1][:, :, None]
    inner = totals[image, bottom, right] - totals[image, top, right]
    inner = inner - totals[image, bottom, left] + totals[image, top, left]
    return (inner // (sides * sides)[:, None, None, None]).to(torch.uint8)


def resample(
    images: Tensor, first: Tensor, length: Tensor, target: Tensor, shrink: float
) -> Tensor:
    """Along rows first, a byte image between the passes."""
    for dim in (2, 1):
        place = first[:, dim - 1], length[:, dim - 1], target[:, dim - 1]
        images = _resampled(images, dim, *place, shrink)
    return images.contiguous()


def _resampled(
    images: Tensor, dim: int, start: Tensor, length: Tensor, target: Tensor, shrink: float
) -> Tensor:
    """See filter_weights.bilinear; a division of two tensors is rounded once everywhere."""
    side = images.shape[dim]
    shape = (-1, side, 1, 1) if dim == 1 else (-1, 1, side, 1)
    scale = (length.double() / target.double())[:, None]
    reach = scale.clamp(min=1.0)
    narrow = torch.ones_like(reach) / reach
    centre = (torch.arange(side, device=images.device) + 0.5) * scale
    low = (centre - reach + 0.5).trunc().clamp(min=0.0)
    high = torch.minimum((centre + reach + 0.5).trunc(), length.double()[:, None])
    taps, weights, total = [], [], torch.zeros_like(centre)
    for k in range(int(2 * max(shrink, 1.0)) + 2):
        tap = low + k
        weight = (1.0 - ((tap - centre + 0.5) * narrow).abs()).clamp(min=0.0)
        weights.append(torch.where(tap < high, weight, 0.0))
        taps.append((tap.to(torch.int64) + start[:, None]).clamp(0, side - 1))
        total = total + weights[-1]
    total = torch.where(total > 0, total, 1.0)  # beyond the target
    out = torch.full(images.shape, 1 << 21, dtype=torch.int32, device=images.device)
    for tap, weight in zip(taps, weights, strict=True):
        fixed = (weight / total * (1 << 22) + 0.5).to(torch.int32).reshape(shape)
        out = out + fixed * torch.take_along_dim(images, tap.reshape(shape), dim)
    return (out >> 22).to(torch.uint8)


def nearest(images: Tensor, maps: Tensor) -> Tensor:
    n, height, width, _ = images.shape
    a, b, c, d, e, f = maps[:, :, None, None].unbind(1)
    y = torch.arange(height, device=images.device)[:, None]
    x = torch.arange(width, device=images.device)
    column, row = (c + b * y + a * x) >> 16, (f + e * y + d * x) >> 16
    inside = (column >= 0) & (column < width) & (row >= 0) & (row < height)
    image = torch.arange(n, device=images.device)[:, None, None]
    picked = images[image, row.clamp(0, height - 1), column.clamp(0, width - 1)]
    return torch.where(inside[..., None], picked, 0)


def _stamps(
    rows: Tensor, columns: Tensor, used: Tensor, stamp: Any, size: tuple[int, int], counted: bool
) -> Tensor:
    """How many stamps lie on each pixel, or the number of the last; see cpu.noc_ops.stamps."""
    n, (height, width) = len(rows), size
    offsets = constant(stamp, rows.device)
    y, x = rows[..., None] + offsets[:, 0], columns[..., None] + offsets[:, 1]
    drawn = used[..., None] & (y >= 0) & (y < height) & (x >= 0) & (x < width)
    # What is not drawn goes to a pixel behind the end of the flat image.
    places = torch.where(drawn, y * width + x, height * width)
    numbers = torch.arange(1, rows.shape[1] + 1, device=rows.device)[:, None].expand(places.shape)
    values, how = (torch.ones_like(places), "sum") if counted else (numbers, "amax")
    flat = torch.zeros((n, height * width + 1), dtype=torch.int64, device=rows.device)
    flat.scatter_reduce_(1, places.flatten(1), values.flatten(1), how)
    return flat[:, :-1].reshape(n, *size)


last_stamp = partial(_stamps, counted=False)
stamp_counts = partial(_stamps, counted=True)
