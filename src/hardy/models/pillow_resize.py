"""Pillow's resizing to the byte, on tensors on any device. This file imports torch."""

import torch

from hardy.engine.tables.filter_weights import resampling
from hardy.engine.torch.constants import constant


def resize_exactly(images: torch.Tensor, size: int, how: str) -> torch.Tensor:
    """Both sides of uint8 (N, H, W, 3) brought to `size`: across first, with bytes in between."""
    for dim in (2, 1):
        if images.shape[dim] != size:
            images = _along(images, dim, size, how)
    return images


def _along(images: torch.Tensor, dim: int, size: int, how: str) -> torch.Tensor:
    side = images.shape[dim]
    if how == "nearest":
        places = (torch.arange(size, dtype=torch.float64) + 0.5) * (side / size)
        return images.index_select(dim, places.long().to(images.device))
    first, weights = (constant(table, images.device) for table in resampling(side, size, how))
    shape = [-1 if axis == dim else 1 for axis in range(4)]
    total = torch.full((), 1 << 21, dtype=torch.int32, device=images.device)
    for tap, weight in enumerate(weights.to(torch.int32).unbind(1)):
        pixels = images.index_select(dim, (first + tap).clamp(max=side - 1))
        total = total + pixels * weight.reshape(shape)
    return (total >> 22).clamp(0, 255).to(torch.uint8)
