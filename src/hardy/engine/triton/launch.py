"""How every Triton kernel is started, and how a formula goes over the pixels of a batch."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any

import torch
import triton.language as tl
from torch import Tensor

from hardy.engine.triton.levels import level_of, whole64
from hardy.engine.triton.stable_jit import jit

_BLOCK = 512


def launch(
    kernel: Any, programs: int, device: torch.device, *arguments: Any, **options: Any
) -> None:
    """Queue `programs` programs of a kernel; a fused multiply-add would change last bits.

    Programs lie along one axis, the only one long enough for any batch. On the device "meta", where
    nothing can run, it is noted what would have to be compiled.
    """
    options["enable_fp_fusion"] = False
    if device.type == "meta":
        noted.setdefault(_compiled_as(kernel, arguments, options), (kernel, arguments, options))
        return
    with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        kernel[(programs,)](*arguments, **options)


# What was launched on the device "meta", once for each way in which Triton compiles it.
noted: dict[tuple[object, ...], tuple[Any, tuple[Any, ...], dict[str, Any]]] = {}


def _compiled_as(kernel: Any, arguments: Sequence[Any], options: dict[str, Any]) -> tuple[Any, ...]:
    """What decides how a kernel is compiled: of numbers whether they are 1, or divisible by 16."""
    names = zip(kernel.arg_names, arguments, strict=False)
    kinds = [_kind(value, special=name not in kernel.do_not_specialize) for name, value in names]
    return (kernel.fn, *kinds, *sorted(options.items()))


def _kind(value: Any, *, special: bool) -> object:
    if isinstance(value, Tensor):
        return value.dtype
    if not isinstance(value, int):
        return type(value)
    return (value == 1, value % 16 == 0, value.bit_length() > 31) if special else int


def parts(count: int, block: int) -> int:
    """Blocks that cover `count`."""
    return -(-count // block)


@jit
def pixels_of(pixels, pieces, BLOCK: tl.constexpr):
    """The image a program works on, and which of its pixels."""
    program = tl.program_id(0)
    pixel = (program % pieces) * BLOCK + tl.arange(0, BLOCK)
    return (program // pieces).to(tl.int64), pixel, pixel < pixels


@jit
def place_of(pixel, width):
    """Row and column in float64."""
    return whole64(pixel // width), whole64(pixel % width)


@jit
def colours_of(place, inside):
    """The colours of the pixels at a place, in float64."""
    r = whole64(tl.load(place, mask=inside, other=0))
    g = whole64(tl.load(place + 1, mask=inside, other=0))
    return r, g, whole64(tl.load(place + 2, mask=inside, other=0))


@jit
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
