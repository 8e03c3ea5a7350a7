"""The nets of the CIFAR experiments, for images of 32 px; others work, since the end is a mean.

All take normalised images (N, 3, H, W) and can be cut in two before their last stage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import islice

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.models.adapters.torch_sources import fresh_module, own_preprocessing
from hardy.models.model import Options
from hardy.train import NETS
from hardy.train.blurpool import STRIDES, Halving, choose_halving


class Net(nn.Module):
    """`forward` is `after(before(x))`; what comes between are the feature maps of the next-to-last
    stage."""

    blocks: nn.Sequential
    cut: int  # how many of the blocks come before
    head: nn.Linear

    def before(self, x: Tensor) -> Tensor:
        return _through(islice(self.blocks, self.cut), x)

    def after(self, features: Tensor) -> Tensor:
        return self.head(_through(islice(self.blocks, self.cut, None), features).mean((2, 3)))

    def forward(self, x: Tensor) -> Tensor:
        return self.after(self.before(x))


def _through(blocks: Iterable[nn.Module], x: Tensor) -> Tensor:
    for block in blocks:
        x = block(x)
    return x


Half = Callable[[Tensor], Tensor]


def cut_in_two(net: nn.Module) -> tuple[Half, Half] | None:
    """`before` and `after` of a net of ours; of a library's ResNet, whose parts lie in the order
    they are used in, the halves before and from layer4 on. None: the stages are not known."""
    if isinstance(net, Net):
        return net.before, net.after
    parts = dict(net.named_children())
    if type(net).__name__ != "ResNet" or list(parts)[-3] != "layer4":
        return None
    *inner, last, pool, head = parts.values()
    return partial(_through, inner), lambda x: head(pool(last(x)).flatten(1))


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


def _basic(inputs: int, outputs: int, stride: int, halving: Halving) -> nn.Sequential:
    return nn.Sequential(
        halving.conv(inputs, outputs, stride),
        nn.BatchNorm2d(outputs),
        halving.activation(stride),
        halving.pool(outputs, stride),
        nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
        nn.BatchNorm2d(outputs),
    )


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


def _initialise(net: nn.Module) -> None:
    """Convolutions normal with variance 2 / (k² · outputs), biases 0; torch does the rest so."""
    for part in net.modules():
        if isinstance(part, nn.Conv2d):
            nn.init.kaiming_normal_(part.weight, mode="fan_out", nonlinearity="relu")
        elif isinstance(part, nn.Linear):
            nn.init.zeros_(part.bias)


def wrn_40_2(classes: int, halving: Halving) -> Net:
    """WRN-40-2: 2.2 million weights, the usual one for CIFAR-10."""
    return WideResNet(40, 2, classes, halving)


def wrn_16_4(classes: int, halving: Halving) -> Net:
    """WRN-16-4: 2.7 million weights, fewer layers than WRN-40-2 and wider ones."""
    return WideResNet(16, 4, classes, halving)


def resnext_29_4x32(classes: int, halving: Halving) -> Net:
    """ResNeXt-29 with 4 groups of 32 channels: 6.8 million weights."""
    return ResNeXt29(4, 32, classes, halving)


def resnet_18(classes: int, halving: Halving) -> Net:
    """ResNet-18 begun for 32 px: 11.2 million weights."""
    return ResNet18(classes, halving)


def make_net(
    name: str, classes: int, antialias: int = 1, blur_after_conv: bool = False
) -> nn.Module:
    """A net with fresh weights, drawn from torch's global generator: a registered one, or
    "torchvision:resnet50" or "timm:NAME", which halve images as their libraries have it."""
    halving = choose_halving(antialias, blur_after_conv)
    if ":" not in name:
        return NETS[name](classes, halving)
    if halving != STRIDES:
        asked = "blur_after_conv" if blur_after_conv else f"antialias {antialias}"
        raise InputError(
            f"expected {asked} for a net of our own ({', '.join(NETS)}), got {name}, whose layers "
            "are its library's; leave the option out"
        )
    return fresh_module(name, classes)


def check_net(name: str, antialias: int = 1, blur_after_conv: bool = False) -> None:
    """Refuse what `make_net` would refuse, before images are read: a net is made and dropped, and
    the global generator left as it was."""
    with torch.random.fork_rng(devices=[]):
        make_net(name, 2, antialias, blur_after_conv)


def normalisation(name: str, net: nn.Module) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and deviation per channel that `make_net(name, ...)` wants its images prepared with: 0.5
    for small images, as AugMix has it; what its library says for others."""
    if ":" not in name:
        return (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)
    own = own_preprocessing(net, Options(name))
    return own.mean, own.std
