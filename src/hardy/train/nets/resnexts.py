"""ResNeXt-29 (Xie et al., 2017) for images of 32 px."""

from __future__ import annotations

from torch import nn

from hardy.errors import InputError
from hardy.train.blurpool import STRIDES, Halving
from hardy.train.nets import Net, _initialise
from hardy.train.nets.resnets import ResidualBlock


class ResNeXt29(Net):
    """Xie et al., 2017: three stages of three bottlenecks with `cardinality` groups of `base`
    channels in the first stage, twice as many in each that follows; 256, 512, 1024 come out."""

    def __init__(
        self, cardinality: int, base: int, classes: int, halving: Halving = STRIDES
    ) -> None:
        super().__init__()
        blocks = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
        channels = 64
        for stage in range(3):
            self.cut = len(blocks)
            for block in range(3):
                outputs, stride = 256 * 2**stage, 2 if stage and not block else 1
                middle = cardinality * base * 2**stage
                inner = _bottleneck(channels, middle, outputs, stride, cardinality, halving)
                blocks.append(ResidualBlock(inner, channels, outputs, stride, halving))
                channels = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, classes)
        _initialise(self)


def _bottleneck(
    inputs: int, middle: int, outputs: int, stride: int, groups: int, halving: Halving
) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, middle, 1, bias=False),
        nn.BatchNorm2d(middle),
        halving.activation(stride),
        halving.conv(middle, middle, stride, groups),
        nn.BatchNorm2d(middle),
        halving.activation(stride),
        halving.pool(middle, stride),
        nn.Conv2d(middle, outputs, 1, bias=False),
        nn.BatchNorm2d(outputs),
    )


def resnext_29_4x32(classes: int, halving: Halving, *, cardinality: int = 4, base: int = 32) -> Net:
    """ResNeXt-29 with 4 groups of 32 channels: 6.8 million weights."""
    if min(cardinality, base) < 1:
        raise InputError(f"expected cardinality and base above 0, got {cardinality} and {base}")
    return ResNeXt29(cardinality, base, classes, halving)


class SlimResNeXt29(Net):
    """The same with half as many channels before, between and behind the bottlenecks, which are as
    wide: 32 in front, 128, 256, 512 come out, as the code of Icons-50 has it."""

    def __init__(self, cardinality: int, classes: int, halving: Halving = STRIDES) -> None:
        super().__init__()
        channels = 32
        stem = nn.Conv2d(3, channels, 3, 1, 1, bias=False)
        blocks = [stem, nn.BatchNorm2d(channels), nn.ReLU()]
        for stage in range(3):
            self.cut = len(blocks)
            for block in range(3):
                outputs, stride = 128 * 2**stage, 2 if stage and not block else 1
                middle = cardinality * outputs // 4
                inner = _bottleneck(channels, middle, outputs, stride, cardinality, halving)
                blocks.append(ResidualBlock(inner, channels, outputs, stride, halving))
                channels = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, classes)
        _initialise(self)


def resnext_29_8x32_slim(classes: int, halving: Halving, *, cardinality: int = 8) -> Net:
    """ResNeXt-29 with 8 groups of 32 channels and half the channels between: that of Icons-50."""
    if cardinality < 1:
        raise InputError(f"expected a cardinality above 0, got {cardinality}")
    return SlimResNeXt29(cardinality, classes, halving)
