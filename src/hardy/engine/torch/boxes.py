"""Channel means, box resampling and crops on torch tensors."""

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from torch import Tensor

from hardy.engine.door import UInt8
from hardy.engine.portable import Int64
from hardy.engine.tables import filter_weights as tables
from hardy.engine.torch.constants import constant
from hardy.engine.torch.filters import quotient
from hardy.errors import InputError


def channel_means(images: Tensor) -> Tensor:
    """One running float64 sum of level / 255 per channel, pixel by pixel.

    Along any axis but the last, torch's running sum adds one by one on a GPU too.
    """
    n, height, width, _ = images.shape
    unit = quotient(images.to(torch.float64), 255.0).reshape(n, height * width, 3)
    return quotient(unit.cumsum(1)[:, -1], height * width)


def pixelate(images: Tensor, small: tuple[int, int]) -> Tensor:
    """Pillow's BOX shrink, along rows first, bytes between the passes; back is a gather."""
    _, height, width, _ = images.shape
    for dim, target in ((2, small[1]), (1, small[0])):
        images = _shrunk(images, dim, target)
    rows, columns = (
        constant(tables.box_enlarge(*sides), images.device)
        for sides in ((small[0], height), (small[1], width))
    )
    return images.index_select(1, rows).index_select(2, columns)


def _shrunk(images: Tensor, dim: int, target: int) -> Tensor:
    side = images.shape[dim]
    box = tables.box_shrink(side, target)
    first, taps, weight = (constant(table, images.device) for table in box)
    shape = [-1 if axis == dim else 1 for axis in range(4)]
    total = torch.full((), 1 << 21, dtype=torch.int32, device=images.device)
    for k in range(int(box.taps.max())):
        tap = images.index_select(dim, (first + k).clamp(max=side - 1))
        total = total + tap * torch.where(k < taps, weight, 0).to(torch.int32).reshape(shape)
    return (total >> 22).to(torch.uint8)


@lru_cache(maxsize=64)
def _layout(shapes: tuple[tuple[int, int], ...]) -> Int64:
    starts = np.cumsum([0, *(height * width for height, width in shapes)])
    return np.array([(*shape, start) for shape, start in zip(shapes, starts, strict=False)])


def laid_out(sources: Sequence[UInt8], device: torch.device) -> tuple[Tensor, Tensor]:
    """Pixels of pictures, one picture behind the other; height, width and first pixel of each."""
    shapes = tuple((source.shape[0], source.shape[1]) for source in sources)
    pixels = torch.cat([constant(source, device).reshape(-1, 3) for source in sources])
    return pixels, constant(_layout(shapes), device)


def crops(
    sources: Sequence[UInt8], which: Tensor, rows: Tensor, columns: Tensor, size: tuple[int, int]
) -> Tensor:
    """Windows in pictures of several sizes."""
    device, (height, width) = which.device, size
    which, rows, columns = (place.to(torch.int64) for place in (which, rows, columns))
    pixels, layout = laid_out(sources, device)
    known = (which >= 0) & (which < len(sources))
    down, along, start = layout[torch.where(known, which, 0)].unbind(1)
    inside = known & (rows >= 0) & (rows <= down - height)
    inside = inside & (columns >= 0) & (columns <= along - width)
    if device.type == "cpu" and not inside.all():
        i = int(inside.int().argmin())
        raise InputError(
            f"expected a window of {height} x {width} in one of {len(sources)} textures, got "
            f"texture {which[i]} at row {rows[i]}, column {columns[i]}, which lies outside"
        )
    # A GPU is not waited for: there, a window outside becomes an index beyond the end, an error.
    corner = torch.where(inside, start + rows * along + columns, len(pixels))
    y, x = torch.arange(height, device=device), torch.arange(width, device=device)
    place = (corner[:, None] + along[:, None] * y)[..., None] + x
    return pixels[place]
