"""The nets of the CIFAR experiments, for images of 32 px; others work, since the end is a mean.

All take normalised images (N, 3, H, W). With `antialias` N, whatever has stride 2 runs at stride 1
and a `BlurPool` of N taps takes every other pixel (Zhang, 2019).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.registry import Registry

Factory = Callable[[int, int], nn.Module]

NETS: Registry[Factory] = Registry("net", "hardy.nets")

TAPS = range(1, 8)


class BlurPool(nn.Module):
    """Every other pixel of the image blurred by a row of Pascal's triangle, both ways, reflected at
    the edges: ⌊(N − 1)/2⌋ pixels before and ⌈(N − 1)/2⌉ after."""

    def __init__(self, channels: int, taps: int) -> None:
        super().__init__()
        row = torch.tensor([float(math.comb(taps - 1, place)) for place in range(taps)])
        kernel = torch.outer(row, row) / row.sum() ** 2
        # Not among the weights: a constant needs no place in a checkpoint.
        self.register_buffer("kernel", kernel.expand(channels, 1, -1, -1).clone(), persistent=False)
        before, after = (taps - 1) // 2, taps // 2
        self.edges = (before, after, before, after)

    def forward(self, x: Tensor) -> Tensor:
        padded = functional.pad(x, self.edges, mode="reflect")
        return functional.conv2d(padded, self.kernel.to(x.dtype), stride=2, groups=x.shape[1])


def _halving(channels: int, stride: int, antialias: int) -> tuple[int, nn.Module]:
    """The stride left for the convolution, and what follows it."""
    if stride == 1 or antialias == 1:
        return stride, nn.Identity()
    return 1, BlurPool(channels, antialias)


def _shortcut(inputs: int, outputs: int, stride: int, antialias: int) -> nn.Sequential:
    left, pool = _halving(inputs, stride, antialias)
    return nn.Sequential(pool, nn.Conv2d(inputs, outputs, 1, left, bias=False))


class PreactivatedBlock(nn.Module):
    """Normalise, ReLU, convolve; twice. Where the shape changes, the shortcut convolves as well,
    behind the first normalisation that both ways share."""

    def __init__(self, inputs: int, outputs: int, stride: int, antialias: int) -> None:
        super().__init__()
        left, self.pool = _halving(outputs, stride, antialias)
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, left, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.shortcut = (
            None
            if inputs == outputs and stride == 1
            else _shortcut(inputs, outputs, stride, antialias)
        )

    def forward(self, x: Tensor) -> Tensor:
        ready = functional.relu(self.norm1(x))
        inner = self.pool(functional.relu(self.norm2(self.conv1(ready))))
        return self.conv2(inner) + (x if self.shortcut is None else self.shortcut(ready))


class WideResNet(nn.Module):
    """Zagoruyko and Komodakis, 2016: three stages of (depth − 4)/6 blocks, widths 16, 32, 64 times
    `width`; without drop-out, as AugMix trains it."""

    def __init__(self, depth: int, width: int, classes: int, antialias: int = 1) -> None:
        super().__init__()
        blocks, channels = (depth - 4) // 6, 16
        self.stem = nn.Conv2d(3, channels, 3, 1, 1, bias=False)
        stages: list[nn.Module] = []
        for stage in range(3):
            for block in range(blocks):
                outputs, stride = 16 * width * 2**stage, 2 if stage and not block else 1
                stages.append(PreactivatedBlock(channels, outputs, stride, antialias))
                channels = outputs
        self.blocks = nn.Sequential(*stages)
        self.norm = nn.BatchNorm2d(channels)
        self.head = nn.Linear(channels, classes)
        _initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        features = functional.relu(self.norm(self.blocks(self.stem(x))))
        return self.head(features.mean((2, 3)))


class ResidualBlock(nn.Module):
    """ReLU(x + inner(x)); where the shape changes, x is convolved and normalised."""

    def __init__(
        self, inner: nn.Module, inputs: int, outputs: int, stride: int, antialias: int
    ) -> None:
        super().__init__()
        self.inner = inner
        self.shortcut: nn.Module = nn.Identity()
        if inputs != outputs or stride != 1:
            self.shortcut = nn.Sequential(
                *_shortcut(inputs, outputs, stride, antialias), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        return functional.relu(self.inner(x) + self.shortcut(x))


class ResNet18(nn.Module):
    """He et al., 2016, begun for 32 px: a 3 x 3 convolution and no pooling."""

    def __init__(self, classes: int, antialias: int = 1, width: int = 64) -> None:
        super().__init__()
        layers = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
        for stage in range(4):
            for block in range(2):
                outputs, stride = width * 2**stage, 2 if stage and not block else 1
                inner = _basic(channels, outputs, stride, antialias)
                layers.append(ResidualBlock(inner, channels, outputs, stride, antialias))
                channels = outputs
        self.blocks = nn.Sequential(*layers)
        self.head = nn.Linear(channels, classes)
        _initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(x).mean((2, 3)))


class ResNeXt29(nn.Module):
    """Xie et al., 2017: three stages of three bottlenecks with `cardinality` groups of `base`
    channels in the first stage, twice as many in each that follows; 256, 512, 1024 come out."""

    def __init__(self, cardinality: int, base: int, classes: int, antialias: int = 1) -> None:
        super().__init__()
        layers = [nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU()]
        channels = 64
        for stage in range(3):
            for block in range(3):
                outputs, stride = 256 * 2**stage, 2 if stage and not block else 1
                middle = cardinality * base * 2**stage
                inner = _bottleneck(channels, middle, outputs, stride, cardinality, antialias)
                layers.append(ResidualBlock(inner, channels, outputs, stride, antialias))
                channels = outputs
        self.blocks = nn.Sequential(*layers)
        self.head = nn.Linear(channels, classes)
        _initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(x).mean((2, 3)))


def _basic(inputs: int, outputs: int, stride: int, antialias: int) -> nn.Sequential:
    left, pool = _halving(outputs, stride, antialias)
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, left, 1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
        pool,
        nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
        nn.BatchNorm2d(outputs),
    )


def _bottleneck(
    inputs: int, middle: int, outputs: int, stride: int, groups: int, antialias: int
) -> nn.Sequential:
    left, pool = _halving(middle, stride, antialias)
    return nn.Sequential(
        nn.Conv2d(inputs, middle, 1, bias=False),
        nn.BatchNorm2d(middle),
        nn.ReLU(),
        nn.Conv2d(middle, middle, 3, left, 1, groups=groups, bias=False),
        nn.BatchNorm2d(middle),
        nn.ReLU(),
        pool,
        nn.Conv2d(middle, outputs, 1, bias=False),
        nn.BatchNorm2d(outputs),
    )


def _initialise(net: nn.Module) -> None:
    """Convolutions normal with variance 2 / (k² · outputs), biases 0; torch does the rest so."""
    for part in net.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(part, nn.Linear):
            nn.init.zeros_(part.bias)


@NETS.register("wrn_40_2")
def _wrn_40_2(classes: int, antialias: int) -> nn.Module:
    return WideResNet(40, 2, classes, antialias)


@NETS.register("wrn_16_4")
def _wrn_16_4(classes: int, antialias: int) -> nn.Module:
    return WideResNet(16, 4, classes, antialias)


@NETS.register("resnext_29_4x32")
def _resnext_29_4x32(classes: int, antialias: int) -> nn.Module:
    return ResNeXt29(4, 32, classes, antialias)


@NETS.register("resnet_18")
def _resnet_18(classes: int, antialias: int) -> nn.Module:
    return ResNet18(classes, antialias)


def make_net(name: str, classes: int, antialias: int = 1) -> nn.Module:
    """A registered net with fresh weights, of torch's global generator."""
    factory = NETS[name]
    if antialias not in TAPS:
        raise InputError(
            f"expected antialias as a filter of {TAPS[0]} (none) to {TAPS[-1]} taps, "
            f"got {antialias!r}"
        )
    return factory(classes, antialias)
