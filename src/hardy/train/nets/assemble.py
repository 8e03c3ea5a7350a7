"""Assemble-ResNet (Lee et al., 2020): a ResNet of bottlenecks with five parts that can be left out.

| part          | layers, f = 64, 128, 256, 512 in stages 1 to 4; outputs 4f            | 256 px  |
|---------------|------------------------------------------------------------------------|---------|
| begins        | 7 x 7 of stride 2 to 64 channels                                       | 128     |
| module 0      | big: 3 x 3 of stride 2; little: 3 x 3 to 32, 3 x 3 of stride 2, 1 x 1  | 64      |
|               | to 64; ReLU of the sum, 1 x 1                                          |         |
| stage 1       | big: 2 blocks at half the size; little: 1 of width f / 2, 1 x 1 to 4f; | 32      |
|               | big enlarged, sum, ReLU; 1 block that merges and halves                |         |
| stage 2       | big 3, little 1, merged and halved                                     | 16      |
| stage 3       | big 5, little 1, merged                                                | 16      |
| stage 4       | 3 blocks, the first halves                                             | 8       |

* `big_little`: the two branches. Without, stages are 3, 4, 6, 3 blocks, and the net begins with 7 x
  7 of stride 2 and a 3 x 3 maximum of stride 2.
* `resnet_d`: shortcuts that halve are averages and 1 x 1; and, without `big_little`, three 3 x 3
  begin the net.
* `sk`: one 3 x 3 makes two branches, U and V; z = relu(norm(A · mean(U + V))), and a softmax of B z
  weighs them for each channel. `se` weighs the channels of a block's output instead.
* `blur`: in blocks that halve, a blur of 1-2-1 with stride 2 behind the 3 x 3, which has stride 1.
* `dropblock`: squares of the maps of stages 3 and 4 are dropped, linearly more as training goes on.
* `small`: for 32 px; 3 x 3 begins the net, and nothing is halved before stage 1.

The last batch norm of each block begins as 0. 1001 outputs, as published, are 1000 here.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.blurpool import BlurPool, Halving
from hardy.train.nets import _initialise, need_strides
from hardy.train.nets.dropblock import DropBlock

_DROPPED = 0.1  # the share of maps that is dropped at the end of training


@dataclass(frozen=True)
class Parts:
    """What a net is made of; the docstring above explains them."""

    resnet_d: bool
    sk: bool
    se: bool
    blur: bool
    big_little: bool
    dropblock: bool
    small: bool
    width: int = 64  # f in stage 1
    blocks: tuple[int, ...] = (3, 4, 6, 3)
    alpha: int = 2  # how much narrower the little branch is
    beta: int = 4  # and how much shorter


def _normed(conv: nn.Conv2d, *, relu: bool = True) -> nn.Sequential:
    norm = nn.BatchNorm2d(conv.out_channels)
    return nn.Sequential(conv, norm, nn.ReLU()) if relu else nn.Sequential(conv, norm)


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Conv2d:
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)


class SelectiveKernel(nn.Module):
    """A softmax weighs two branches, here halves of the channels, for each channel."""

    def __init__(self, width: int) -> None:
        super().__init__()
        middle = max(width // 2, 32)
        self.squeeze = _normed(_conv(width, middle, 1))
        self.weigh = _conv(middle, 2 * width, 1)

    def forward(self, x: Tensor) -> Tensor:
        both = torch.stack(x.chunk(2, 1))
        mean = both.sum(0).mean((2, 3), keepdim=True)
        weights = torch.stack(self.weigh(self.squeeze(mean)).chunk(2, 1)).softmax(0)
        return (both * weights).sum(0)


class SqueezeExcitation(nn.Module):
    """Each channel is weighed by what all channels show on the mean."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        few = max(1, channels // 16)
        self.squeeze, self.weigh = _conv(channels, few, 1), _conv(few, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean((2, 3), keepdim=True)
        return x * torch.sigmoid(self.weigh(functional.relu(self.squeeze(mean))))


class AssembledBlock(nn.Module):
    """1 x 1, 3 x 3, 1 x 1 and a shortcut, with the parts that are wanted."""

    def __init__(
        self,
        inputs: int,
        width: int,
        stride: int,
        parts: Parts,
        drop: float,
        *,
        projects: bool,
        relu: bool = True,
    ) -> None:
        super().__init__()
        outputs, twice = 4 * width, 2 if parts.sk else 1

        def dropped() -> list[nn.Module]:
            return [DropBlock(drop)] if drop else []

        blurs = stride > 1 and parts.blur
        made: list[nn.Module] = [_conv(inputs, width, 1), nn.BatchNorm2d(width), *dropped()]
        made += [nn.ReLU(), _conv(width, twice * width, 3, 1 if blurs else stride)]
        made += [nn.BatchNorm2d(twice * width), *dropped(), nn.ReLU()]
        if parts.sk:
            made += [SelectiveKernel(width), *dropped()]
        if blurs:
            made.append(BlurPool(width, 3))
        last = nn.BatchNorm2d(outputs)
        nn.init.zeros_(last.weight)
        made += [_conv(width, outputs, 1), last, *dropped()]
        if parts.se:
            made.append(SqueezeExcitation(outputs))
        self.inner = nn.Sequential(*made)
        self.relu = nn.ReLU() if relu else nn.Identity()
        self.shortcut: nn.Module = nn.Identity()
        if projects:
            projection = [*_projection(inputs, outputs, stride, parts), nn.BatchNorm2d(outputs)]
            self.shortcut = nn.Sequential(*projection, *dropped())

    def forward(self, x: Tensor) -> Tensor:
        return self.relu(self.inner(x) + self.shortcut(x))


def _projection(inputs: int, outputs: int, stride: int, parts: Parts) -> list[nn.Module]:
    if stride == 1 or not (parts.resnet_d or parts.big_little):
        return [_conv(inputs, outputs, 1, stride)]
    if parts.big_little:
        return [nn.AvgPool2d(3, 2, 1), _conv(inputs, outputs, 1)]
    return [nn.AvgPool2d(2, 2, ceil_mode=True, count_include_pad=False), _conv(inputs, outputs, 1)]


def _stage(
    inputs: int,
    width: int,
    count: int,
    stride: int,
    parts: Parts,
    drop: float,
    *,
    relu: bool = True,
) -> nn.Sequential:
    """So many blocks; `relu` says whether the last one ends in one."""
    blocks = []
    for block in range(count):
        first, ends = not block, relu or block < count - 1
        steps = stride if first else 1
        made = AssembledBlock(inputs, width, steps, parts, drop, projects=first, relu=ends)
        blocks.append(made)
        inputs = 4 * width
    return nn.Sequential(*blocks)


class BigLittle(nn.Module):
    """Two branches, of which the big one may see half the size, added up."""

    def __init__(self, big: nn.Module, little: nn.Module, merge: nn.Module) -> None:
        super().__init__()
        self.big, self.little, self.merge = big, little, merge

    def forward(self, x: Tensor) -> Tensor:
        little = self.little(x)
        big = self.big(x)
        if big.shape != little.shape:
            big = functional.interpolate(big, size=little.shape[2:])
        return self.merge(functional.relu(big + little))


def _branched(
    inputs: int, width: int, count: int, stride: int, parts: Parts, drop: float
) -> BigLittle:
    outputs, narrow = 4 * width, width // parts.alpha
    short = max(1, count // parts.beta - 1)
    big = _stage(inputs, width, count - 1, 2, parts, drop, relu=False)
    little = nn.Sequential(
        _stage(inputs, narrow, short, 1, parts, drop),
        _normed(_conv(4 * narrow, outputs, 1), relu=False),
    )
    merge = AssembledBlock(outputs, width, stride, parts, drop, projects=True)
    return BigLittle(big, little, merge)


def _beginning(parts: Parts) -> nn.Sequential:
    width, half = parts.width, parts.width // 2
    if parts.small:
        return _normed(_conv(3, width, 3))
    if parts.big_little:
        big = _normed(_conv(width, width, 3, 2), relu=False)
        first, second = _normed(_conv(width, half, 3)), _normed(_conv(half, half, 3, 2))
        little = nn.Sequential(first, second, _normed(_conv(half, width, 1), relu=False))
        module = BigLittle(big, little, _normed(_conv(width, width, 1)))
        return nn.Sequential(_normed(_conv(3, width, 7, 2)), module)
    stem = [_normed(_conv(3, width, 7, 2))]
    if parts.resnet_d:
        stem = [_normed(_conv(3, half, 3, 2)), _normed(_conv(half, half, 3))]
        stem.append(_normed(_conv(half, width, 3)))
    return nn.Sequential(*stem, nn.MaxPool2d(3, 2, 1))


class AssembleResNet(nn.Module):
    """A net of the docstring above."""

    def __init__(self, classes: int, parts: Parts) -> None:
        super().__init__()
        self.beginning = _beginning(parts)
        stages: list[nn.Module] = []
        inputs = parts.width
        for number, count in enumerate(parts.blocks):
            width = parts.width * 2**number
            drop = (0, 0, 0.25, 1)[number] if parts.dropblock else 0
            if parts.big_little and number < 3:
                stride = (2, 2, 1)[number]
                stages.append(_branched(inputs, width, count, stride, parts, drop))
            else:
                stages.append(_stage(inputs, width, count, 2 if number else 1, parts, drop))
            inputs = 4 * width
        self.stages = nn.Sequential(*stages)
        self.head = nn.Linear(inputs, classes)
        _initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.stages(self.beginning(x)).mean((2, 3)))

    def at_share(self, done: float) -> None:
        """DropBlock keeps less and less."""
        for part in self.modules():
            if isinstance(part, DropBlock):
                part.keep.fill_(1 - _DROPPED * done)


def _checked(parts: Parts) -> Parts:
    if parts.sk and parts.se:
        raise InputError("expected sk=yes or se=yes, got both; say sk=no,se=yes for the second")
    if parts.width < 4 or parts.width % 4:
        raise InputError(f"expected a width that 4 divides, got {parts.width}")
    return parts


def assemble_resnet_50(
    classes: int,
    halving: Halving,
    *,
    resnet_d: bool = True,
    sk: bool = True,
    se: bool = False,
    blur: bool = True,
    big_little: bool = True,
    dropblock: bool = True,
    small: bool = False,
    width: int = 64,
) -> nn.Module:
    """Assemble-ResNet-50 for 224 px (Lee et al., 2020): a ResNet-50 with five parts that help.

    Each can be left out: sk=no. small=yes is for 32 px.
    """
    need_strides("assemble_resnet_50", halving)
    parts = Parts(resnet_d, sk, se, blur, big_little, dropblock, small, width)
    return AssembleResNet(classes, _checked(parts))


def assemble_resnet_152(
    classes: int, halving: Halving, *, dropblock: bool = True, small: bool = False
) -> nn.Module:
    """Assemble-ResNet-152 for 224 px (Lee et al., 2020): as assemble_resnet_50, and deeper."""
    need_strides("assemble_resnet_152", halving)
    parts = Parts(True, True, False, True, True, dropblock, small, 64, (5, 12, 30, 3), 1, 2)
    return AssembleResNet(classes, parts)
