"""DenseNets (Huang et al., 2017) for images of 32 px: each layer sees all that came before it.

| part          | DenseNet-40, growth 12                          | channels | px |
|---------------|-------------------------------------------------|----------|----|
| begins        | 3 x 3                                           | 16       | 32 |
| dense block 1 | 12 layers: batch norm, ReLU, 3 x 3; appended    | 160      | 32 |
| transition    | batch norm, ReLU, 1 x 1, 2 x 2 average          | 160      | 16 |
| dense block 2 | 12 layers                                       | 304      | 16 |
| transition    |                                                 | 304      | 8  |
| dense block 3 | 12 layers                                       | 448      | 8  |
| ends          | batch norm, ReLU, mean, linear                  |          |    |
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from hardy.errors import InputError
from hardy.train.blurpool import Halving
from hardy.train.nets import Net, _initialise, need_strides


class DenseLayer(nn.Sequential):
    """What comes in, and what the layer makes of it."""

    def __init__(self, inputs: int, growth: int) -> None:
        conv = nn.Conv2d(inputs, growth, 3, 1, 1, bias=False)
        super().__init__(nn.BatchNorm2d(inputs), nn.ReLU(), conv)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, super().forward(x)], 1)


class DenseNet(Net):
    """Three dense blocks of as many layers each; transitions keep all channels."""

    def __init__(
        self, first: int, layer: type[nn.Module], layers: int, growth: int, classes: int
    ) -> None:
        super().__init__()
        channels = first
        blocks: list[nn.Module] = [nn.Conv2d(3, channels, 3, 1, 1, bias=False)]
        for stage in range(3):
            if stage:
                mixed = nn.Conv2d(channels, channels, 1, bias=False)
                blocks += [nn.BatchNorm2d(channels), nn.ReLU(), mixed, nn.AvgPool2d(2)]
            self.cut = len(blocks)
            for _ in range(layers):
                blocks.append(layer(channels, growth))
                channels += growth
        self.blocks = nn.Sequential(*blocks, nn.BatchNorm2d(channels), nn.ReLU())
        self.head = nn.Linear(channels, classes)
        _initialise(self)


def densenet_40(classes: int, halving: Halving, *, depth: int = 40, growth: int = 12) -> nn.Module:
    """DenseNet-40 of growth 12 for 32 px (Huang et al., 2017)."""
    need_strides("densenet_40", halving)
    if depth < 7 or (depth - 4) % 3 or growth < 1:
        raise InputError(
            "expected a depth of 7, 10, 13, ..., three dense blocks alike, and a growth of at "
            f"least 1, got {depth} and {growth}"
        )
    return DenseNet(16, DenseLayer, (depth - 4) // 3, growth, classes)


class BottleneckLayer(nn.Sequential):
    """What comes in, and what the layer makes of it behind a 1 x 1 to four times the growth."""

    def __init__(self, inputs: int, growth: int) -> None:
        super().__init__(
            nn.BatchNorm2d(inputs),
            nn.ReLU(),
            nn.Conv2d(inputs, 4 * growth, 1, bias=False),
            nn.BatchNorm2d(4 * growth),
            nn.ReLU(),
            nn.Conv2d(4 * growth, growth, 3, 1, 1, bias=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, super().forward(x)], 1)


def densenet_40_b(
    classes: int, halving: Halving, *, depth: int = 40, growth: int = 24
) -> nn.Module:
    """DenseNet-B-40 of growth 24, six bottlenecks in each dense block: that of Icons-50."""
    need_strides("densenet_40_b", halving)
    if depth < 10 or (depth - 4) % 6 or growth < 1:
        raise InputError(
            "expected a depth of 10, 16, 22, ..., three dense blocks alike, and a growth of at "
            f"least 1, got {depth} and {growth}"
        )
    return DenseNet(2 * growth, BottleneckLayer, (depth - 4) // 6, growth, classes)
