"""Canny's edge detector in the torch engine: whole numbers throughout, as OpenCV has it.

Hysteresis, a flood fill on the CPU, is here a search for connected parts that takes a fixed number
of rounds.
"""

from __future__ import annotations

from math import ceil, log2

import torch
import torch.nn.functional as F
from torch import Tensor

from hardy.engine.torch.filters import widened

_WEAK, _STRONG = 50, 150
Slices = tuple[slice, slice, slice]
_TAN_22 = 13573  # tan 22.5 degrees in 15-bit fixed point


def edges(layers: Tensor) -> Tensor:
    """Canny(50, 150) of bytes (N, H, W), 3 x 3 Sobel, |dx| + |dy|; bool."""
    kept, strength = _ridges(layers)
    return kept & _reached(kept, kept & (strength > _STRONG))


def _ridges(layers: Tensor) -> tuple[Tensor, Tensor]:
    """Pixels that top both neighbours across the edge, and the gradient's magnitude."""
    height, width = layers.shape[1:]
    padded = widened(widened(layers.to(torch.int32), 1, 1, "nearest"), 2, 1, "nearest")
    rows = padded[:, :-2] + 2 * padded[:, 1:-1] + padded[:, 2:]
    columns = padded[..., :-2] + 2 * padded[..., 1:-1] + padded[..., 2:]
    dx, dy = rows[..., 2:] - rows[..., :-2], columns[:, 2:] - columns[:, :-2]
    strength = dx.abs() + dy.abs()
    around = F.pad(strength, (1, 1, 1, 1))

    def beside(down: int, right: int) -> Tensor:
        return around[:, 1 + down : 1 + down + height, 1 + right : 1 + right + width]

    across, along = dx.abs() * _TAN_22, dy.abs() << 15
    level, upright = along < across, along > across + (dx.abs() << 16)
    opposed = (dx ^ dy) < 0
    tops = torch.where(
        level,
        (strength > beside(0, -1)) & (strength >= beside(0, 1)),
        torch.where(
            upright,
            (strength > beside(-1, 0)) & (strength >= beside(1, 0)),
            torch.where(
                opposed,
                (strength > beside(-1, 1)) & (strength > beside(1, -1)),
                (strength > beside(-1, -1)) & (strength > beside(1, 1)),
            ),
        ),
    )
    return tops & (strength > _WEAK), strength


def _reached(kept: Tensor, strong: Tensor) -> Tensor:
    """Which kept pixels hang together with a strong one, by corners too.

    Kept pixels of a 2 x 2 block touch, so blocks are the nodes. A part's label is one of its
    blocks, counted from 1; label 0 is all parts with a strong pixel. In each round a part joins the
    neighbour with the least label: of any two that choose each other the lesser stays, longer
    cycles cannot be, and the number of parts that still have neighbours halves at least.
    """
    n, height, width = kept.shape
    room = (0, width % 2, 0, height % 2)
    kept, strong = F.pad(kept, room), F.pad(strong, room)
    tall, wide = kept.shape[1] // 2, kept.shape[2] // 2
    links = _links(kept)
    own = torch.arange(tall * wide + 1, device=kept.device).expand(n, -1)
    none = tall * wide + 1
    label = own[:, 1:].unflatten(1, (tall, wide))
    label = torch.where(F.max_pool2d(strong.float(), 2) > 0, 0, label)
    most = ceil(log2(tall * wide))
    for done in range(most):
        least = torch.full_like(label, none)
        for link, here, there in links:
            a, b = label[here], label[there]
            parted = link & (a != b)
            torch.minimum(least[here], torch.where(parted, b, none), out=least[here])
            torch.minimum(least[there], torch.where(parted, a, none), out=least[there])
        chosen = torch.full_like(own, none)
        chosen = chosen.scatter_reduce(1, label.flatten(1), least.flatten(1), "amin")
        chosen = torch.where(chosen == none, own, chosen)
        chosen[:, 0] = 0
        mutual = chosen.gather(1, chosen) == own
        chosen = torch.where(mutual & (own < chosen), own, chosen)
        for _ in range(most - done):
            chosen = chosen.gather(1, chosen)
        label = chosen.gather(1, label.flatten(1)).view(label.shape)
    reached = (label == 0).repeat_interleave(2, 1).repeat_interleave(2, 2)
    return reached[:, :height, :width]


def _links(kept: Tensor) -> list[tuple[Tensor, Slices, Slices]]:
    """Which blocks' kept pixels touch, for each direction: a mask, this side and that side."""
    a, b = kept[:, ::2, ::2], kept[:, ::2, 1::2]
    c, d = kept[:, 1::2, ::2], kept[:, 1::2, 1::2]
    every, but_first, but_last = slice(None), slice(1, None), slice(None, -1)
    sides = [
        (b | d, a | c, every, but_last, every, but_first),
        (c | d, a | b, but_last, every, but_first, every),
        (d, a, but_last, but_last, but_first, but_first),
        (c, b, but_last, but_first, but_first, but_last),
    ]
    links = []
    for this, that, row, column, next_row, next_column in sides:
        here, there = (every, row, column), (every, next_row, next_column)
        links.append((this[here] & that[there], here, there))
    return links
