"""Plain arithmetic of `ops` on torch tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from hardy.engine.torch import filters
from hardy.engine.torch.constants import moved


class TorchArithmetic:
    def __init__(self, device: torch.device) -> None:
        self.device = device

    def host(self, table: Any) -> Tensor:
        return moved(np.asarray(table), self.device)

    def cast(self, array: Tensor, dtype: str) -> Tensor:
        return array.to(getattr(torch, dtype))

    def float32(self, number: float) -> Tensor:
        return torch.full((), number, dtype=torch.float32, device=self.device)

    def float64(self, number: float) -> Tensor:
        return torch.full((), number, dtype=torch.float64, device=self.device)

    def join(self, batches: Sequence[Tensor]) -> Tensor:
        return torch.cat(list(batches))

    def where(self, condition: Tensor, yes: Any, no: Any) -> Tensor:
        return torch.where(condition, yes, no)

    def maximum(self, a: Tensor, b: Any) -> Tensor:
        return a.clamp(min=b)

    def minimum(self, a: Tensor, b: Any) -> Tensor:
        return a.clamp(max=b)

    def floor(self, array: Tensor) -> Tensor:
        return torch.floor(array)

    def ceil(self, array: Tensor) -> Tensor:
        return torch.ceil(array)

    def stack(self, arrays: Sequence[Tensor]) -> Tensor:
        return torch.stack(list(arrays), dim=-1)

    def largest(self, array: Tensor) -> Tensor:
        return array.amax(dim=tuple(range(1, array.ndim)), keepdim=True)

    def half_turn(self, array: Tensor) -> Tensor:
        return array.flip(1, 2)

    def unit(self, images: Tensor, dtype: str) -> Tensor:
        return filters.quotient(self.cast(images, dtype), 255.0)

    def to_levels(self, levels: Tensor) -> Tensor:
        return levels.clamp(0, 255).to(torch.uint8)
