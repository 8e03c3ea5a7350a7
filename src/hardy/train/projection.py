"""Noise of a fixed L2 norm after clipping, with gradients through its scale.

For pixels x in 0..1 and raw noise δ, η ≥ 0 is such that ‖clip(x + η δ) − x‖₂ = ε. An element
saturates at η² = tᵢ = sᵢ² / δᵢ², where sᵢ is the room it has towards the side δᵢ points to. Up to
the next saturation the squared norm is Σ sᵢ² over the saturated plus η² Σ δᵢ² over the others, so
searching the sorted t tells which are saturated at ε, and the equation is linear in η².
"""

from __future__ import annotations

import torch
from torch import Tensor

TINY = 1e-20


def project(pixels: Tensor, noise: Tensor, epsilon: float) -> Tensor:
    """clip(x + η δ) with η for each image; where ε is out of reach, every element saturates."""
    scale = find_scale(pixels, noise, epsilon).to(noise.dtype)
    return (pixels + scale.view(-1, 1, 1, 1) * noise).clamp(0, 1)


def find_scale(pixels: Tensor, noise: Tensor, epsilon: float) -> Tensor:
    """η, float64 (N,), differentiable almost everywhere: which elements are saturated is constant
    around almost every point, so only the last line needs gradients."""
    x, delta = pixels.flatten(1).double(), noise.flatten(1).double()
    squares = delta.square()
    with torch.no_grad():
        room = torch.where(delta >= 0, 1 - x, x).square()
        limits = room / squares.clamp(min=TINY)
        reached = _reached(limits, room, squares, epsilon**2)
        saturated = limits <= reached[:, None]
        free = torch.where(saturated, 0.0, squares).sum(1) > 0
    filled = torch.where(saturated, room, 0.0).sum(1)
    slope = torch.where(saturated, 0.0, squares).sum(1)
    inner = (epsilon**2 - filled) / torch.where(free, slope, 1.0)
    return torch.where(free, inner, reached).sqrt()


def _reached(limits: Tensor, room: Tensor, squares: Tensor, target: float) -> Tensor:
    """The largest limit at which the squared norm is still below the target, −1 if there is none.
    By bisection, because running sums of floats are not reproducible on a GPU."""
    limits = limits.sort(1).values
    low = torch.zeros_like(limits[:, :1], dtype=torch.int64)
    high = torch.full_like(low, limits.shape[1])
    for _ in range(limits.shape[1].bit_length()):
        middle = (low + high) // 2
        at = limits.gather(1, middle.clamp(max=limits.shape[1] - 1))
        below = torch.minimum(room, at * squares).sum(1, keepdim=True) < target
        low, high = (
            torch.where(below & (low < high), middle + 1, low),
            torch.where(below, high, middle),
        )
    before = torch.cat([torch.full_like(limits[:, :1], -1.0), limits], 1)
    return before.gather(1, low)[:, 0]
