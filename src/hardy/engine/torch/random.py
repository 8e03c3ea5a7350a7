"""Philox words on torch tensors and what is made of them, to the bit as in `cpu.random`.

Words are uint32 tensors, of which torch can do little: arithmetic happens in int64, whose products
wrap, or on their bits as int32.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hardy.engine import rng
from hardy.engine.rng import KEY_STEPS, LOW_32, MULTIPLIERS, ROUNDS, SEGMENT_BITS
from hardy.engine.torch.constants import constant, moved

_MANTISSA_BITS = 52 - SEGMENT_BITS
_SEGMENT_BIAS = 1023 << SEGMENT_BITS


def words(
    key: int, ids: NDArray[np.uint64], stream: int, count: int, device: torch.device
) -> Tensor:
    """(N, count) words of Philox4x32-10; see `rng`."""
    numbers = moved(ids.view(np.int64), device)[:, None]
    block = torch.arange(-(-count // 4), device=device)[None]
    c0, c1, c2, c3 = block, torch.full_like(block, stream), numbers & LOW_32, numbers >> 32
    k0, k1 = key & LOW_32, key >> 32
    for _ in range(ROUNDS):
        # c1 and c3 keep what is above their 32 bits until they go into c0 and c2.
        p0, p1 = c0 * MULTIPLIERS[0], c2 * MULTIPLIERS[1]
        c0, c2 = ((p1 >> 32) ^ c1 ^ k0) & LOW_32, ((p0 >> 32) ^ c3 ^ k1) & LOW_32
        c1, c3 = p1, p0
        k0, k1 = (k0 + KEY_STEPS[0]) & LOW_32, (k1 + KEY_STEPS[1]) & LOW_32
    bits = torch.stack([c.to(torch.int32) for c in (c0, c1, c2, c3)], dim=-1)
    return bits.reshape(len(ids), -1)[:, :count].contiguous().view(torch.uint32)


def _bits(words: Tensor) -> Tensor:
    return words.view(torch.int32)


def _whole(words: Tensor) -> Tensor:
    return _bits(words).to(torch.int64) & LOW_32


def uniform(words: Tensor, low: float, high: float) -> Tensor:
    return low + (high - low) * ((_whole(words).to(torch.float64) + 0.5) * 2.0**-32)


def scaled(words: Tensor, below: Any) -> Tensor:
    return (_whole(words) * below) >> 32


def normal(words: Tensor) -> Tensor:
    """Cubic pieces of the normal quantile, see rng.normal_segments."""
    whole = _whole(words)
    upper = whole > LOW_32 >> 1
    folded = torch.where(upper, LOW_32 - whole, whole)
    bits = (folded * 2 + 1).to(torch.float64).view(torch.int64)
    piece = (bits >> _MANTISSA_BITS) - _SEGMENT_BIAS
    t = (bits & ((1 << _MANTISSA_BITS) - 1)).to(torch.float64) * 2.0**-_MANTISSA_BITS
    segments = constant(rng.normal_segments(), words.device)
    y0, y1, y2, y3 = segments[piece].unbind(-1)
    z = y0 + t * (y1 + t * (y2 + t * y3))
    return torch.where(upper, z, -z)


def table_noise(images: Tensor, words: Tensor, table: NDArray[np.uint32]) -> Tensor:
    """Walker's alias look-up, each value with its own word."""
    bits = _bits(words).reshape(images.shape)
    column = (bits >> 24) & 255
    place = images.to(torch.int32) << 8 | column
    entry = constant(table, images.device).view(torch.int32).reshape(-1)[place]
    keep = (bits & 0xFFFFFF) < ((entry >> 8) & 0xFFFFFF)
    return torch.where(keep, column, entry & 255).to(torch.uint8)
