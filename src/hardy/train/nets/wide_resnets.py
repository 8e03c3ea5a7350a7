"""Wide residual nets (Zagoruyko and Komodakis, 2016) for images of 32 px."""

from __future__ import annotations

from itertools import islice

from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.blurpool import STRIDES, Halving
from hardy.train.nets import Net, _initialise, _through


class PreactivatedBlock(nn.Module):
    """Normalise, ReLU, convolve; twice. Where the shape changes, the shortcut convolves as well,
    behind the first normalisation that both ways share."""

    def __init__(self, inputs: int, outputs: int, stride: int, halving: Halving) -> None:
        super().__init__()
        self.norm1 = nn.BatchNorm2d(inputs)
        self.conv1 = halving.conv(inputs, outputs, stride)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.activation = halving.activation(stride)
        self.pool = halving.pool(outputs, stride)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        same = inputs == outputs and stride == 1
        self.shortcut = None if same else halving.shortcut(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        ready = self.activation(self.norm1(x))
        inner = self.pool(self.activation(self.norm2(self.conv1(ready))))
        return self.conv2(inner) + (x if self.shortcut is None else self.shortcut(ready))


class WideResNet(Net):
    """Zagoruyko and Komodakis, 2016: three stages of (depth − 4)/6 blocks, widths 16, 32, 64 times
    `width`; without drop-out, as AugMix trains it."""

    def __init__(self, depth: int, width: int, classes: int, halving: Halving = STRIDES) -> None:
        super().__init__()
        count, channels = (depth - 4) // 6, 16
        self.stem = nn.Conv2d(3, channels, 3, 1, 1, bias=False)
        blocks: list[nn.Module] = []
        for stage in range(3):
            self.cut = len(blocks)
            for block in range(count):
                outputs, stride = 16 * width * 2**stage, 2 if stage and not block else 1
                blocks.append(PreactivatedBlock(channels, outputs, stride, halving))
                channels = outputs
        self.blocks = nn.Sequential(*blocks)
        self.norm = nn.BatchNorm2d(channels)
        self.head = nn.Linear(channels, classes)
        _initialise(self)

    def before(self, x: Tensor) -> Tensor:
        return super().before(self.stem(x))

    def after(self, features: Tensor) -> Tensor:
        last = _through(islice(self.blocks, self.cut, None), features)
        return self.head(functional.relu(self.norm(last)).mean((2, 3)))


def wrn_40_2(classes: int, halving: Halving, *, dropout: float = 0.0) -> Net:
    """WRN-40-2: 2.2 million weights, the usual one for CIFAR-10."""
    return _with_dropout(WideResNet(40, 2, classes, halving), dropout)


def wrn_16_4(classes: int, halving: Halving, *, dropout: float = 0.0) -> Net:
    """WRN-16-4: 2.7 million weights, fewer layers than WRN-40-2 and wider ones."""
    return _with_dropout(WideResNet(16, 4, classes, halving), dropout)


def _with_dropout(net: WideResNet, share: float) -> WideResNet:
    """The net with drop-out of that share between the convolutions of each block, as its authors
    have it. Without any it is what it was: the source of its classes identifies trained nets."""
    if not 0 <= share < 1:
        raise InputError(f"expected a dropout from 0 to below 1, got {share:g}")
    for block in net.blocks if share else ():
        block.pool = nn.Sequential(block.pool, nn.Dropout(share))
    return net
