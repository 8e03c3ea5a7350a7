"""Box resampling and windows in textures on a GPU."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import triton.language as tl
from torch import Tensor

from hardy.engine.door import UInt8
from hardy.engine.tables import filter_weights as tables
from hardy.engine.torch.boxes import laid_out
from hardy.engine.torch.constants import constant
from hardy.engine.triton.launch import launch, parts, pixels_of
from hardy.engine.triton.stable_jit import jit

_BLOCK = 512
_HALF = tl.constexpr(1 << 21)


@jit
def _shrink(
    images, small, first_y, taps_y, weight_y, first_x, taps_x, weight_x,
    height, width, small_height, small_width, most_y, most_x, pieces, BLOCK: tl.constexpr,
):  # fmt: skip
    """Rows first, a byte between the passes, 22-bit weights; see cpu.boxes.box_bytes."""
    count = small_height * small_width * 3
    image, value, inside = pixels_of(count, pieces, BLOCK)
    c, column, row = value % 3, value // 3 % small_width, value // 3 // small_width
    down = tl.load(taps_y + row, mask=inside, other=0).to(tl.int32)
    along = tl.load(taps_x + column, mask=inside, other=0).to(tl.int32)
    across = tl.load(weight_x + column, mask=inside, other=0).to(tl.int32)
    top = tl.load(first_y + row, mask=inside, other=0).to(tl.int32)
    left = tl.load(first_x + column, mask=inside, other=0).to(tl.int32)
    source = images + image * height * width * 3
    total = tl.zeros((BLOCK,), tl.int32)
    for j in range(most_y):
        line = tl.zeros((BLOCK,), tl.int32)
        for k in range(most_x):
            place = ((top + j) * width + left + k) * 3 + c
            line += tl.load(source + place, mask=(j < down) & (k < along), other=0).to(tl.int32)
        total += (_HALF + line * across) >> 22
    level = (_HALF + total * tl.load(weight_y + row, mask=inside, other=0).to(tl.int32)) >> 22
    tl.store(small + image * count + value, level.to(tl.uint8), mask=inside)


@jit(general=["small_height", "small_width"])
def _enlarge(
    small, out, back_y, back_x, height, width, small_height, small_width, pieces,
    BLOCK: tl.constexpr,
):  # fmt: skip
    count = height * width * 3
    image, value, inside = pixels_of(count, pieces, BLOCK)
    c, column, row = value % 3, value // 3 % width, value // 3 // width
    y = tl.load(back_y + row, mask=inside, other=0).to(tl.int32)
    x = tl.load(back_x + column, mask=inside, other=0).to(tl.int32)
    source = small + image * small_height * small_width * 3
    level = tl.load(source + (y * small_width + x) * 3 + c, mask=inside)
    tl.store(out + image * count + value, level, mask=inside)


def pixelate(images: Tensor, small: tuple[int, int]) -> Tensor:
    """Pillow's BOX shrink and back."""
    images = images.contiguous()
    device, (n, height, width, _) = images.device, images.shape
    boxes = [tables.box_shrink(*sides) for sides in ((height, small[0]), (width, small[1]))]
    fixed = (constant(table, device) for box in boxes for table in box)
    most = (int(box.taps.max()) for box in boxes)
    shrunk = images.new_empty((n, *small, 3))
    pieces = parts(shrunk[:1].numel(), _BLOCK)
    launch(
        _shrink, n * pieces, device,
        images, shrunk, *fixed, height, width, *small, *most, pieces, BLOCK=_BLOCK,
    )  # fmt: skip
    back = (
        constant(tables.box_enlarge(*sides), device)
        for sides in ((small[0], height), (small[1], width))
    )
    out = torch.empty_like(images)
    pieces = parts(height * width * 3, _BLOCK)
    launch(
        _enlarge, n * pieces, device,
        shrunk, out, *back, height, width, *small, pieces, BLOCK=_BLOCK,
    )  # fmt: skip
    return out


@jit
def _crops(
    pictures, layout, known, which, rows, columns, out, height, width, pieces, BLOCK: tl.constexpr
):
    count = height * width * 3
    image, value, inside = pixels_of(count, pieces, BLOCK)
    # Replayed places may be anything; none may read outside the pictures.
    picture = layout + 3 * tl.minimum(tl.maximum(tl.load(which + image).to(tl.int64), 0), known - 1)
    tall, wide, start = tl.load(picture), tl.load(picture + 1), tl.load(picture + 2)
    top = tl.minimum(tl.maximum(tl.load(rows + image).to(tl.int64), 0), tall - height)
    left = tl.minimum(tl.maximum(tl.load(columns + image).to(tl.int64), 0), wide - width)
    row, across = value // (3 * width), value % (3 * width)
    source = pictures + 3 * (start + top * wide + left)
    level = tl.load(source + row * (3 * wide) + across, mask=inside)
    tl.store(out + image * count + value, level, mask=inside)


def crops(
    sources: Sequence[UInt8], which: Tensor, rows: Tensor, columns: Tensor, size: tuple[int, int]
) -> Tensor:
    """Windows in pictures of several sizes."""
    device = which.device
    pictures, layout = laid_out(sources, device)
    out = torch.empty((len(which), *size, 3), dtype=torch.uint8, device=device)
    pieces = parts(size[0] * size[1] * 3, _BLOCK)
    launch(
        _crops, len(which) * pieces, device,
        pictures, layout, len(sources), which, rows, columns, out, *size, pieces, BLOCK=_BLOCK,
    )  # fmt: skip
    return out
