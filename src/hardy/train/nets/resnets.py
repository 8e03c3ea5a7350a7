"""Residual nets (He et al., 2016) for images of 32 px."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

from hardy.train.blurpool import STRIDES, BlurPool, Halving
from hardy.train.nets import Net, _initialise


class ResidualBlock(nn.Module):
    """ReLU(x + inner(x)); where the shape changes, x is convolved and normalised."""

    def __init__(
        self, inner: nn.Module, inputs: int, outputs: int, stride: int, halving: Halving
    ) -> None:
        super().__init__()
        self.inner = inner
        self.activation = halving.activation(stride)
        self.shortcut: nn.Module = nn.Identity()
        if inputs != outputs or stride != 1:
            self.shortcut = nn.Sequential(
                *halving.shortcut(inputs, outputs, stride), nn.BatchNorm2d(outputs)
            )

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.inner(x) + self.shortcut(x))


class ResNet18(Net):
    """He et al., 2016, begun for 32 px: a 3 x 3 convolution and no pooling."""

    def __init__(self, classes: int, halving: Halving = STRIDES, width: int = 64) -> None:
        super().__init__()
        blocks = [nn.Conv2d(3, width, 3, 1, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
        for stage in range(4):
            self.cut = len(blocks)
            for block in range(2):
                outputs, stride = width * 2**stage, 2 if stage and not block else 1
                inner = _basic(channels, outputs, stride, halving)
                blocks.append(ResidualBlock(inner, channels, outputs, stride, halving))
                channels = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, classes)
        _initialise(self)


def _basic(inputs: int, outputs: int, stride: int, halving: Halving) -> nn.Sequential:
    return nn.Sequential(
        halving.conv(inputs, outputs, stride),
        nn.BatchNorm2d(outputs),
        halving.activation(stride),
        halving.pool(outputs, stride),
        nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
        nn.BatchNorm2d(outputs),
    )


def resnet_18(classes: int, halving: Halving) -> Net:
    """ResNet-18 begun for 32 px: 11.2 million weights."""
    return ResNet18(classes, halving)


class PaddedShortcut(nn.Module):
    """Every other pixel, blurred first where halving says so, and zeros as the missing channels."""

    def __init__(self, inputs: int, outputs: int, halving: Halving) -> None:
        super().__init__()
        self.missing = outputs - inputs
        self.blur = BlurPool(inputs, halving.taps) if halving.taps > 1 else None

    def forward(self, x: Tensor) -> Tensor:
        halved = x[..., ::2, ::2] if self.blur is None else self.blur(x)
        return functional.pad(halved, (0, 0, 0, 0, 0, self.missing))


class ResNet20(Net):
    """He et al., 2016, section 4.2: a 3 x 3 convolution to 16 channels, and three stages of three
    pairs of 3 x 3, of 16, 32 and 64 channels; shortcuts have no weights."""

    def __init__(self, classes: int, halving: Halving = STRIDES) -> None:
        super().__init__()
        channels = 16
        blocks = [nn.Conv2d(3, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels), nn.ReLU()]
        for stage in range(3):
            self.cut = len(blocks)
            for block in range(3):
                outputs, stride = 16 * 2**stage, 2 if stage and not block else 1
                inner = _basic(channels, outputs, stride, halving)
                residual = ResidualBlock(inner, outputs, outputs, 1, halving)
                if stride > 1:
                    residual.activation = halving.activation(stride)
                    residual.shortcut = PaddedShortcut(channels, outputs, halving)
                blocks.append(residual)
                channels = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, classes)
        _initialise(self)


def resnet_20(classes: int, halving: Halving) -> Net:
    """ResNet-20 for 32 px (He et al., 2016): the smallest net here."""
    return ResNet20(classes, halving)
