"""libjpeg's round trip at 4:2:0 on a GPU, in its whole numbers; coding is lossless and left out.

Three steps: to bytes of brightness and halved chroma, padded to blocks; every 8 x 8 block through
the transform and back, one lane per block, in place; back to colours.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
import torch
import triton.language as tl
from numpy.typing import NDArray
from torch import Tensor

from hardy.engine.tables import jpeg_constants as jpeg_tables
from hardy.engine.torch.constants import constant
from hardy.engine.triton.launch import launch, parts, pixels_of
from hardy.engine.triton.stable_jit import jit

_PIXELS, _LANES = 512, 128


@jit
def _load_colour(images, place, inside):
    r = tl.load(images + place, mask=inside, other=0).to(tl.int32)
    g = tl.load(images + place + 1, mask=inside, other=0).to(tl.int32)
    b = tl.load(images + place + 2, mask=inside, other=0).to(tl.int32)
    y = (19595 * r + 38470 * g + 7471 * b + 32768) >> 16
    cb = (-11059 * r - 21709 * g + 32768 * b + 8421375) >> 16
    cr = (32768 * r - 27439 * g - 5329 * b + 8421375) >> 16
    return y, cb, cr


@jit
def _to_planes(
    images, luma, chroma, height, width, luma_height, luma_width, chroma_height, chroma_width,
    pieces, BLOCK: tl.constexpr,
):  # fmt: skip
    """One chroma value and the four pixels under it.

    Columns are repeated before halving. Rows, but for an odd one, after it, whereas brightness
    repeats its own last row: below the image both of its rows are that one.
    """
    image, value, inside = pixels_of(chroma_height * chroma_width, pieces, BLOCK)
    row, column = value // chroma_width, value % chroma_width
    half = (height + 1) // 2
    top = 2 * tl.minimum(row, half - 1)
    bottom = tl.minimum(top + 1, height - 1)
    left, right = tl.minimum(2 * column, width - 1), tl.minimum(2 * column + 1, width - 1)
    source = images + image * height * width * 3
    y00, cb00, cr00 = _load_colour(source, (top * width + left) * 3, inside)
    y01, cb01, cr01 = _load_colour(source, (top * width + right) * 3, inside)
    y10, cb10, cr10 = _load_colour(source, (bottom * width + left) * 3, inside)
    y11, cb11, cr11 = _load_colour(source, (bottom * width + right) * 3, inside)
    bias = 1 + column % 2
    goal = chroma + image * 2 * chroma_height * chroma_width + value
    tl.store(goal, ((cb00 + cb01 + cb10 + cb11 + bias) >> 2).to(tl.uint8), mask=inside)
    goal += chroma_height * chroma_width
    tl.store(goal, ((cr00 + cr01 + cr10 + cr11 + bias) >> 2).to(tl.uint8), mask=inside)
    below = row >= half
    y00, y01 = tl.where(below, y10, y00), tl.where(below, y11, y01)
    goal = luma + image * luma_height * luma_width + 2 * row * luma_width + 2 * column
    inside = inside & (2 * row < luma_height) & (2 * column < luma_width)
    tl.store(goal, y00.to(tl.uint8), mask=inside)
    tl.store(goal + 1, y01.to(tl.uint8), mask=inside)
    tl.store(goal + luma_width, y10.to(tl.uint8), mask=inside)
    tl.store(goal + luma_width + 1, y11.to(tl.uint8), mask=inside)


@jit
def _forward(x, SHIFT: tl.constexpr):
    """Eight samples to eight frequencies; jpeg_tables.COSINES, its mirror symmetry used."""
    s0, s1, s2, s3 = x[0] + x[7], x[1] + x[6], x[2] + x[5], x[3] + x[4]
    d0, d1, d2, d3 = x[0] - x[7], x[1] - x[6], x[2] - x[5], x[3] - x[4]
    outer, inner, left, right = s0 + s3, s1 + s2, s0 - s3, s1 - s2
    half: tl.constexpr = 1 << (SHIFT - 1)
    return (
        (8192 * (outer + inner) + half) >> SHIFT,
        (11363 * d0 + 9633 * d1 + 6437 * d2 + 2260 * d3 + half) >> SHIFT,
        (10703 * left + 4433 * right + half) >> SHIFT,
        (9633 * d0 - 2259 * d1 - 11362 * d2 - 6436 * d3 + half) >> SHIFT,
        (8192 * (outer - inner) + half) >> SHIFT,
        (6437 * d0 - 11362 * d1 + 2261 * d2 + 9633 * d3 + half) >> SHIFT,
        (4433 * left - 10704 * right + half) >> SHIFT,
        (2260 * d0 - 6436 * d1 + 9633 * d2 - 11363 * d3 + half) >> SHIFT,
    )


@jit
def _inverse(z, SHIFT: tl.constexpr):
    """Eight frequencies to eight samples, by the transpose."""
    half: tl.constexpr = 1 << (SHIFT - 1)
    outer, inner = 8192 * (z[0] + z[4]) + half, 8192 * (z[0] - z[4]) + half
    wide, narrow = 10703 * z[2] + 4433 * z[6], 4433 * z[2] - 10704 * z[6]
    e0, e1, e2, e3 = outer + wide, inner + narrow, inner - narrow, outer - wide
    o0 = 11363 * z[1] + 9633 * z[3] + 6437 * z[5] + 2260 * z[7]
    o1 = 9633 * z[1] - 2259 * z[3] - 11362 * z[5] - 6436 * z[7]
    o2 = 6437 * z[1] - 11362 * z[3] + 2261 * z[5] + 9633 * z[7]
    o3 = 2260 * z[1] - 6436 * z[3] + 9633 * z[5] - 11363 * z[7]
    return (
        (e0 + o0) >> SHIFT, (e1 + o1) >> SHIFT, (e2 + o2) >> SHIFT, (e3 + o3) >> SHIFT,
        (e3 - o3) >> SHIFT, (e2 - o2) >> SHIFT, (e1 - o1) >> SHIFT, (e0 - o0) >> SHIFT,
    )  # fmt: skip


@jit
def _quantised(x, steps, inverses, place: tl.constexpr):
    """Round to whole steps, halves away from zero: (|x| + 4 q) / (8 q) by float32, exact here."""
    step = tl.load(steps + place)
    scaled = ((tl.abs(x) + 4 * step).to(tl.float32) + 0.5) * tl.load(inverses + place)
    count = scaled.to(tl.int32) * step
    return tl.where(x < 0, -count, count)


@jit
def _byte(p):
    return tl.minimum(tl.maximum(p + 128, 0), 255)


@jit(general=["blocks", "across"])
def _round_trip(planes, steps, inverses, blocks, across, LANES: tl.constexpr):
    """Planes of bytes, seen as words of eight, the row of a block; `across` lie side by side.

    With words of four, twice as many loads and stores, it takes four times as long to compile.
    """
    block = tl.program_id(0) * LANES + tl.arange(0, LANES)
    inside = block < blocks
    corner = planes + (block // across).to(tl.int64) * (8 * across) + block % across
    rows = ()
    for r in tl.static_range(8):
        word = tl.load(corner + across * r, mask=inside, other=0)
        a, b = word.to(tl.int32), (word >> 32).to(tl.int32)
        samples = (
            (a & 255) - 128, ((a >> 8) & 255) - 128, ((a >> 16) & 255) - 128,
            ((a >> 24) & 255) - 128, (b & 255) - 128, ((b >> 8) & 255) - 128,
            ((b >> 16) & 255) - 128, ((b >> 24) & 255) - 128,
        )  # fmt: skip
        rows = rows + (_forward(samples, 11),)  # noqa: RUF005, kernels know no starred tuples
    columns = ()
    for u in tl.static_range(8):
        x = _forward(
            (
                rows[0][u], rows[1][u], rows[2][u], rows[3][u],
                rows[4][u], rows[5][u], rows[6][u], rows[7][u],
            ),
            15,
        )  # fmt: skip
        z = (
            _quantised(x[0], steps, inverses, u),
            _quantised(x[1], steps, inverses, 8 + u),
            _quantised(x[2], steps, inverses, 16 + u),
            _quantised(x[3], steps, inverses, 24 + u),
            _quantised(x[4], steps, inverses, 32 + u),
            _quantised(x[5], steps, inverses, 40 + u),
            _quantised(x[6], steps, inverses, 48 + u),
            _quantised(x[7], steps, inverses, 56 + u),
        )
        columns = columns + (_inverse(z, 11),)  # noqa: RUF005
    for r in tl.static_range(8):
        p = _inverse(
            (
                columns[0][r], columns[1][r], columns[2][r], columns[3][r],
                columns[4][r], columns[5][r], columns[6][r], columns[7][r],
            ),
            18,
        )  # fmt: skip
        a = _byte(p[0]) | (_byte(p[1]) << 8) | (_byte(p[2]) << 16) | (_byte(p[3]) << 24)
        b = _byte(p[4]) | (_byte(p[5]) << 8) | (_byte(p[6]) << 16) | (_byte(p[7]) << 24)
        word = (b.to(tl.int64) << 32) | (a.to(tl.int64) & 0xFFFFFFFF)
        tl.store(corner + across * r, word, mask=inside)


@jit
def _doubled(plane, near_row, far_row, near, far, odd, inside):
    """3/4 of the nearer and 1/4 of the farther, down and then along; exact until the end."""
    v = 3 * tl.load(plane + near_row + near, mask=inside, other=0).to(tl.int32)
    v += tl.load(plane + far_row + near, mask=inside, other=0).to(tl.int32)
    w = 3 * tl.load(plane + near_row + far, mask=inside, other=0).to(tl.int32)
    w += tl.load(plane + far_row + far, mask=inside, other=0).to(tl.int32)
    return ((3 * v + w + 8 - odd) >> 4) - 128


@jit
def _from_planes(
    luma, chroma, out, height, width, luma_height, luma_width, chroma_height, chroma_width,
    pieces, BLOCK: tl.constexpr,
):  # fmt: skip
    image, pixel, inside = pixels_of(height * width, pieces, BLOCK)
    y, x = pixel // width, pixel % width
    row, column = y // 2, x // 2
    # Neighbours are sought among the values that have pixels, not in the padding.
    row2 = tl.minimum(tl.maximum(row - 1 + 2 * (y % 2), 0), (height + 1) // 2 - 1) * chroma_width
    column2 = tl.minimum(tl.maximum(column - 1 + 2 * (x % 2), 0), (width + 1) // 2 - 1)
    row *= chroma_width
    plane = chroma + image * 2 * chroma_height * chroma_width
    cb = _doubled(plane, row, row2, column, column2, x % 2, inside)
    plane += chroma_height * chroma_width
    cr = _doubled(plane, row, row2, column, column2, x % 2, inside)
    bright = luma + image * luma_height * luma_width + y * luma_width + x
    level = tl.load(bright, mask=inside, other=0).to(tl.int32)
    r = level + ((91881 * cr + 32768) >> 16)
    g = level + ((-22554 * cb - 46802 * cr + 32768) >> 16)
    b = level + ((116130 * cb + 32768) >> 16)
    goal = out + image * height * width * 3 + 3 * pixel
    tl.store(goal, tl.minimum(tl.maximum(r, 0), 255).to(tl.uint8), mask=inside)
    tl.store(goal + 1, tl.minimum(tl.maximum(g, 0), 255).to(tl.uint8), mask=inside)
    tl.store(goal + 2, tl.minimum(tl.maximum(b, 0), 255).to(tl.uint8), mask=inside)


@lru_cache(maxsize=128)
def _steps(quality: int) -> tuple[tuple[NDArray[Any], NDArray[Any]], ...]:
    """The steps for brightness and for chroma, and one over eight times each."""
    return tuple(
        (steps.astype(np.int32), (1.0 / (8.0 * steps)).astype(np.float32))
        for steps in jpeg_tables.quantisers(quality)
    )


def jpeg(images: Tensor, quality: int) -> Tensor:
    images = images.contiguous()
    device, (n, height, width, _) = images.device, images.shape
    jpeg_tables.check_sides(height, width)
    luma_size = (8 * parts(height, 8), 8 * parts(width, 8))
    chroma_size = (8 * parts(height, 16), 8 * parts(width, 16))
    luma, chroma = images.new_empty((n, *luma_size)), images.new_empty((n, 2, *chroma_size))
    shape = (height, width, *luma_size, *chroma_size)
    pieces = parts(chroma_size[0] * chroma_size[1], _PIXELS)
    launch(
        _to_planes, n * pieces, device, images, luma, chroma, *shape, pieces, BLOCK=_PIXELS
    )  # fmt: skip
    for planes, tables in zip((luma, chroma), _steps(quality), strict=True):
        steps, inverses = (constant(table, device) for table in tables)
        blocks = planes.numel() // 64
        launch(
            _round_trip, parts(blocks, _LANES), device,
            planes.view(torch.int64), steps, inverses, blocks, planes.shape[-1] // 8, LANES=_LANES,
        )  # fmt: skip
    out = torch.empty_like(images)
    pieces = parts(height * width, _PIXELS)
    launch(
        _from_planes, n * pieces, device, luma, chroma, out, *shape, pieces, BLOCK=_PIXELS
    )  # fmt: skip
    return out
