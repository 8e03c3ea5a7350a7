"""Shake-Shake (Gastaldi, 2017): two branches, mixed anew at random in each pass, for 32 px.

| part    | Shake-Shake-26 2x96d                                                  | px |
|---------|-----------------------------------------------------------------------|----|
| begins  | 3 x 3 to 16 channels, batch norm                                      | 32 |
| stage 1 | 4 blocks of 96 channels                                               | 32 |
| stage 2 | 4 blocks of 192, the first halves                                     | 16 |
| stage 3 | 4 blocks of 384, the first halves                                     | 8  |
| ends    | ReLU, mean, linear                                                    |    |
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.blurpool import Halving
from hardy.train.nets import Net, _initialise, need_strides


def shaken(one: Tensor, other: Tensor) -> Tensor:
    """a · one + (1 − a) · other with a uniform in 0..1, another for each image; gradients flow as
    by a second draw in place of a."""
    forward, back = torch.rand(2, len(one), 1, 1, 1, device=one.device, dtype=one.dtype)
    moved = (forward - back) * (one - other)
    return back * one + (1 - back) * other + moved.detach()


class ShakeShortcut(nn.Module):
    """Every other pixel, and those right below them: each by 1 x 1 to half of the channels."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.stride = stride
        self.here = nn.Conv2d(inputs, outputs // 2, 1, bias=False)
        self.there = nn.Conv2d(inputs, outputs // 2, 1, bias=False)
        self.norm = nn.BatchNorm2d(outputs)

    def forward(self, x: Tensor) -> Tensor:
        x = functional.relu(x)
        moved = functional.pad(x[..., 1:, 1:], (0, 1, 0, 1))
        step = self.stride
        halves = [self.here(x[..., ::step, ::step]), self.there(moved[..., ::step, ::step])]
        return self.norm(torch.cat(halves, 1))


class ShakeBlock(nn.Module):
    """x plus two branches, shaken in training, and their mean in tests."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.one, self.other = (_branch(inputs, outputs, stride) for _ in range(2))
        same = inputs == outputs
        self.shortcut = nn.Identity() if same else ShakeShortcut(inputs, outputs, stride)

    def forward(self, x: Tensor) -> Tensor:
        one, other = self.one(x), self.other(x)
        mixed = shaken(one, other) if self.training else (one + other) / 2
        return self.shortcut(x) + mixed


def _branch(inputs: int, outputs: int, stride: int) -> nn.Sequential:
    return nn.Sequential(
        nn.ReLU(),
        nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False),
        nn.BatchNorm2d(outputs),
    )


class ShakeShake(Net):
    """Three stages of (depth − 2)/6 blocks, of `width` channels and then twice as many."""

    def __init__(self, depth: int, width: int, classes: int) -> None:
        super().__init__()
        channels = 16
        blocks = [nn.Conv2d(3, channels, 3, 1, 1, bias=False), nn.BatchNorm2d(channels)]
        for stage in range(3):
            self.cut = len(blocks)
            for block in range((depth - 2) // 6):
                outputs, stride = width * 2**stage, 2 if stage and not block else 1
                blocks.append(ShakeBlock(channels, outputs, stride))
                channels = outputs
        self.blocks = nn.Sequential(*blocks, nn.ReLU())
        self.head = nn.Linear(channels, classes)
        _initialise(self)


def shake_shake_26(
    classes: int, halving: Halving, *, depth: int = 26, width: int = 96
) -> nn.Module:
    """Shake-Shake-26 2x96d for 32 px (Gastaldi, 2017), two branches that are mixed at random."""
    need_strides("shake_shake_26", halving)
    if depth < 8 or (depth - 2) % 6 or width < 2 or width % 2 or width == 16:
        raise InputError(
            "expected a depth of 8, 14, 20, ... and an even width other than 16, got "
            f"{depth} and {width}"
        )
    return ShakeShake(depth, width, classes)
