"""SqueezeNet 1.1 out of a pickle of arrays. This file imports torch."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn.functional import relu

from hardy.models.zoo.foreign_tensors import Arrays, pickled_arrays
from hardy.models.zoo.same_padding import SameConv2d, pooled

# Channels of each fire module, after the squeeze and of each expansion. It pools before these.
_FIRES = (
    *((16, 64), (16, 64), (32, 128), (32, 128)),
    *((48, 192), (48, 192), (64, 256), (64, 256)),
)
_POOLED_BEFORE = (0, 2, 4)


class _Fire(nn.Module):
    def __init__(self, inputs: int, squeezed: int, expanded: int) -> None:
        super().__init__()
        self.squeeze1x1 = nn.Conv2d(inputs, squeezed, 1)
        self.expand1x1 = nn.Conv2d(squeezed, expanded, 1)
        self.expand3x3 = nn.Conv2d(squeezed, expanded, 3, padding=1)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        squeezed = relu(self.squeeze1x1(pixels))
        return relu(torch.cat([self.expand1x1(squeezed), self.expand3x3(squeezed)], 1))


class SqueezeNet(nn.Module):
    def __init__(self, fires: Sequence[tuple[int, int]] = _FIRES, first: int = 64) -> None:
        super().__init__()
        self.conv1 = SameConv2d(3, first, 3, 2)
        self.pool = nn.MaxPool2d(3, 2)
        self.fires = nn.ModuleList()
        inputs = first
        for squeezed, expanded in fires:
            self.fires.append(_Fire(inputs, squeezed, expanded))
            inputs = 2 * expanded
        self.conv10 = nn.Conv2d(inputs, 1000, 1)
        self.rectifies_scores = True

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        pixels = relu(self.conv1(pixels))
        for place, fire in enumerate(self.fires):
            pixels = fire(self.pool(pixels) if place in _POOLED_BEFORE else pixels)
        scores = self.conv10(pixels)
        return pooled(relu(scores) if self.rectifies_scores else scores)

    def converted(self, files: Mapping[str, bytes]) -> Arrays:
        """The weights by the names here."""
        (content,) = files.values()
        ours: Arrays = {}
        for theirs, (kernel, bias) in pickled_arrays(content).items():
            fire, _, part = theirs.partition("/")
            name = f"fires.{int(fire.removeprefix('fire')) - 2}.{part}" if part else theirs
            ours[f"{name}.weight"] = kernel.transpose(3, 2, 0, 1)
            ours[f"{name}.bias"] = bias
        ours["conv1.weight"] = np.flip(ours["conv1.weight"], 1)  # it was shown blue first
        return ours
