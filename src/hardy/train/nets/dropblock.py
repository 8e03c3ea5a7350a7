"""DropBlock (Ghiasi et al., 2018), as Assemble-ResNet has it."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

_BLOCK = 7


class DropBlock(nn.Module):
    """Squares of 7 x 7 of each channel become 0 in training, the same in all images of a batch.

    Corners of squares are drawn with γ = s (1 − keep) wh / (49 (w − 6)(h − 6)), where a whole one
    fits; what is left is scaled by all / kept. Maps below 7 x 7 have squares of their own size.
    """

    def __init__(self, scale: float) -> None:
        super().__init__()
        self.scale = scale
        # A tensor, because steps are recorded on a GPU; the net changes it as it trains.
        self.register_buffer("keep", torch.ones(()), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        channels, height, width = x.shape[1:]
        side = min(_BLOCK, height, width)
        places = (height - side + 1) * (width - side + 1)
        rate = self.scale * (1 - self.keep) * height * width / (side**2 * places)
        shape = (1, channels, height - side + 1, width - side + 1)
        corners = (torch.rand(shape, device=x.device) < rate).to(x.dtype)
        around = [side - 1] * 4
        mask = 1 - functional.max_pool2d(functional.pad(corners, around), side, 1)
        return x * mask * (mask.numel() / mask.sum().clamp_min(1))
