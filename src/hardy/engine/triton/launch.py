"""How every Triton kernel is started, and how a formula goes over the pixels of a batch."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch
import triton
import triton.language as tl
from torch import Tensor

from hardy.engine.triton.levels import level_of, whole64

_BLOCK = 512


def launch(
    kernel: Any, programs: int, device: torch.device, *arguments: Any, **options: Any
) -> None:
    """Queue `programs` programs of a kernel; a fused multiply-add would change last bits.

    Programs lie along one axis, the only one long enough for any batch.
    """
    with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        kernel[(programs,)](*arguments, enable_fp_fusion=False, **options)


def parts(count: int, block: int) -> int:
    """Blocks that cover `count`."""
    return -(-count // block)


@triton.jit
def pixels_of(pixels, pieces, BLOCK: tl.constexpr):
    """The image a program works on, and which of its pixels."""
    program = tl.program_id(0)
    pixel = (program % pieces) * BLOCK + tl.arange(0, BLOCK)
    return (program // pieces).to(tl.int64), pixel, pixel < pixels


@triton.jit
def place_of(pixel, width):
    """Row and column in float64."""
    return whole64(pixel // width), whole64(pixel % width)


@triton.jit
def colours_of(place, inside):
    """The colours of the pixels at a place, in float64."""
    r = whole64(tl.load(place, mask=inside, other=0))
    g = whole64(tl.load(place + 1, mask=inside, other=0))
    return r, g, whole64(tl.load(place + 2, mask=inside, other=0))


@triton.jit
def put_colours(place, r, g, b, inside):
    tl.store(place, level_of(r), mask=inside)
    tl.store(place + 1, level_of(g), mask=inside)
    tl.store(place + 2, level_of(b), mask=inside)


def by_pixel(
    kernel: Any, images: Tensor, *arguments: Any, block: int = _BLOCK, **options: Any
) -> Tensor:
    """Run over all pixels: images, their results, pixels and pieces of an image, arguments."""
    images = images.contiguous()
    out = torch.empty_like(images)
    pixels = images.shape[1] * images.shape[2]
    pieces = parts(pixels, block)
    given = (a.contiguous() if isinstance(a, Tensor) else a for a in arguments)
    launch(
        kernel, len(images) * pieces, images.device,
        images, out, pixels, pieces, *given, BLOCK=block, **options,
    )  # fmt: skip
    return out
