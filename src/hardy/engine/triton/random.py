"""Philox words on a GPU and what is made of them, to the bit as in `cpu.random`."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import triton.language as tl
from numpy.typing import NDArray
from torch import Tensor

from hardy.engine import rng
from hardy.engine.torch import random as torch_random
from hardy.engine.torch.constants import constant, moved
from hardy.engine.triton.launch import launch, parts
from hardy.engine.triton.levels import whole64
from hardy.engine.triton.stable_jit import jit

_ROUNDS = tl.constexpr(rng.ROUNDS)
_SEGMENT_BITS = tl.constexpr(rng.SEGMENT_BITS)
_PIECE_SHIFT = tl.constexpr(52 - rng.SEGMENT_BITS)
_MANTISSA_MASK = tl.constexpr((1 << 52) - 1)
_ONE_BITS = tl.constexpr(1023 << 52)
_SEGMENT_BIAS = tl.constexpr(1023 << rng.SEGMENT_BITS)
_STEP = tl.constexpr(2.0**-32)


@jit(general=["key_low", "key_high", "stream", "pieces"])
def _words(
    ids,
    out,
    key_low: tl.uint32,
    key_high: tl.uint32,
    stream: tl.uint32,
    count,
    pieces,
    BLOCK: tl.constexpr,
):
    """BLOCK Philox blocks of one image; block b is Philox of the counter (b, stream, id)."""
    program = tl.program_id(0)
    image, piece = program // pieces, program % pieces
    number = tl.load(ids + image)
    block = piece * BLOCK + tl.arange(0, BLOCK)
    zeros = tl.zeros((BLOCK,), tl.uint32)
    c0, c1, c2, c3 = tl.philox_impl(
        block.to(tl.uint32),
        zeros + stream.to(tl.uint32),
        zeros + number.to(tl.uint32),
        zeros + (number >> 32).to(tl.uint32),
        key_low.to(tl.uint32),
        key_high.to(tl.uint32),
        _ROUNDS,
    )
    flat = tl.interleave(tl.interleave(c0, c2), tl.interleave(c1, c3))
    place = piece * (4 * BLOCK) + tl.arange(0, 4 * BLOCK)
    tl.store(out + image.to(tl.int64) * count + place, flat, mask=place < count)


def words(
    key: int, ids: NDArray[np.uint64], stream: int, count: int, device: torch.device
) -> Tensor:
    numbers = moved(ids.view(np.int64), device)
    out = torch.empty((len(ids), count), dtype=torch.uint32, device=device)
    block = 256
    pieces = parts(count, 4 * block)
    launch(
        _words, len(ids) * pieces, device,
        numbers, out, key & rng.LOW_32, key >> 32, stream, count, pieces, BLOCK=block,
    )  # fmt: skip
    return out


@jit
def _uniform(words, out, count, low: tl.float64, width: tl.float64, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(words + place, mask=place < count)
    value = low + width * ((whole64(word) + 0.5) * _STEP)
    tl.store(out + place, value, mask=place < count)


def uniform(words: Tensor, low: float, high: float) -> Tensor:
    return _made(_uniform, words, torch.float64, float(low), float(high) - float(low))


@jit(general=["below"])
def _scaled(words, out, count, below: tl.uint32, BLOCK: tl.constexpr):
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(words + place, mask=place < count)
    product = word.to(tl.uint64) * below.to(tl.uint64)
    tl.store(out + place, (product >> 32).to(tl.int32), mask=place < count)


def scaled(words: Tensor, below: Any) -> Tensor:
    """int32 for a number, which halves the traffic of the glass shuffle's moves."""
    if isinstance(below, Tensor):
        return torch_random.scaled(words, below)
    return _made(_scaled, words, torch.int32, int(below))


@jit
def _normal(words, out, count, segments, BLOCK: tl.constexpr):
    """Cubic pieces of the normal quantile, see rng.normal_segments."""
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    word = tl.load(words + place, mask=place < count, other=0)
    upper = (word >> 31) != 0
    # `~word`, which the interpreter of Triton 3.7 cannot do.
    folded = tl.where(upper, 0xFFFFFFFF - word, word)
    bits = whole64(folded.to(tl.int64) * 2 + 1).to(tl.int64, bitcast=True)
    piece = segments + 4 * ((bits >> _PIECE_SHIFT) - _SEGMENT_BIAS)
    # The rest of the mantissa, moved up and under the exponent of 1, is 1 + t.
    rest = ((bits << _SEGMENT_BITS) & _MANTISSA_MASK) | _ONE_BITS
    t = rest.to(tl.float64, bitcast=True) - 1.0
    z = tl.load(piece + 2) + t * tl.load(piece + 3)
    z = tl.load(piece) + t * (tl.load(piece + 1) + t * z)
    tl.store(out + place, tl.where(upper, z, -z), mask=place < count)


def normal(words: Tensor) -> Tensor:
    return _made(_normal, words, torch.float64, constant(rng.normal_segments(), words.device))


def _made(kernel: Any, words: Tensor, dtype: torch.dtype, *arguments: Any) -> Tensor:
    """One value of each word."""
    words = words.contiguous()
    out = torch.empty(words.shape, dtype=dtype, device=words.device)
    count, block = words.numel(), 1024
    launch(kernel, parts(count, block), words.device, words, out, count, *arguments, BLOCK=block)
    return out


@jit
def _table_noise(images, words, table, out, count, BLOCK: tl.constexpr):
    """Walker's alias look-up, see tables.noise_laws; all arrays flat."""
    place = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = place < count
    word = tl.load(words + place, mask=inside, other=0)
    level = tl.load(images + place, mask=inside, other=0).to(tl.uint32)
    column = word >> 24
    entry = tl.load(table + ((level << 8) | column))
    byte = tl.where((word & 0xFFFFFF) < (entry >> 8), column, entry & 255)
    tl.store(out + place, byte.to(tl.uint8), mask=inside)


def table_noise(images: Tensor, words: Tensor, table: NDArray[np.uint32]) -> Tensor:
    images, words = images.contiguous(), words.contiguous()
    out = torch.empty_like(images)
    count, block = images.numel(), 1024
    launch(
        _table_noise, parts(count, block), images.device,
        images, words, constant(table, images.device), out, count, BLOCK=block,
    )  # fmt: skip
    return out
