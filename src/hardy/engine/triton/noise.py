"""Pixelwise noise on a GPU: one word and one look-up for each value."""

from __future__ import annotations

import numpy as np
import torch
import triton
import triton.language as tl
from numpy.typing import NDArray
from torch import Tensor

from hardy.engine.torch.constants import constant
from hardy.engine.triton.launch import launch, parts


@triton.jit
def _table_noise(images, words, table, out, count, BLOCK: tl.constexpr):
    """Walker's alias look-up, see noise_tables; all arrays flat."""
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
