"""How nets halve their images: by stride alone, or blurred, so that shifts change less."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError

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
        self.taps = taps

    def forward(self, x: Tensor) -> Tensor:
        before, after = (self.taps - 1) // 2, self.taps // 2
        padded = _reflected(_reflected(x, 3, before, after), 2, before, after)
        return functional.conv2d(padded, self.kernel.to(x.dtype), stride=2, groups=x.shape[1])


def _reflected(x: Tensor, side: int, before: int, after: int) -> Tensor:
    """The tensor reflected at both ends of a side. Torch's own padding has a gradient that differs
    from run to run on a GPU."""
    first = x.narrow(side, 1, before).flip(side)
    last = x.narrow(side, x.shape[side] - 1 - after, after).flip(side)
    # Empty ones would change how the result lies in memory.
    return torch.cat([part for part in (first, x, last) if part.shape[side]], side)


class BlurredConv(nn.Conv2d):
    """A convolution of 3 x 3, its output blurred by so many taps, and every other pixel of that."""

    def __init__(self, inputs: int, outputs: int, taps: int, groups: int = 1) -> None:
        super().__init__(inputs, outputs, 3, 1, 1, groups=groups, bias=False)
        self.blur = BlurPool(outputs, taps)

    def forward(self, x: Tensor) -> Tensor:
        return self.blur(super().forward(x))


@dataclass(frozen=True)
class Halving:
    """Halves images by stride alone with one tap. With more, what has stride 2 runs at stride 1 and

    * a `BlurPool` follows its ReLU, or comes before the shortcut's 1 x 1 (Zhang, 2019);
    * with `after_conv`, the blur directly follows the 3 x 3 convolution, before normalisation, and
      in blocks that halve each ReLU is a Swish, x · σ(x); shortcuts as before. This is how we
      reconstruct BlurAfterConv (Vasconcelos et al., 2021), for which no code is published: certain
      are fixed blurs behind strided 3 x 3 convolutions and in shortcuts, and smooth activations;
      the size of the filter and which activations change are ours.
    """

    taps: int = 1
    after_conv: bool = False

    def conv(self, inputs: int, outputs: int, stride: int, groups: int = 1) -> nn.Conv2d:
        if stride > 1 and self.after_conv:
            return BlurredConv(inputs, outputs, self.taps, groups)
        left = stride if self.taps == 1 else 1
        return nn.Conv2d(inputs, outputs, 3, left, 1, groups=groups, bias=False)

    def activation(self, stride: int) -> nn.Module:
        return nn.SiLU() if stride > 1 and self.after_conv else nn.ReLU()

    def pool(self, channels: int, stride: int) -> nn.Module:
        """What follows the activation behind `conv`."""
        wanted = stride > 1 and self.taps > 1 and not self.after_conv
        return BlurPool(channels, self.taps) if wanted else nn.Identity()

    def shortcut(self, inputs: int, outputs: int, stride: int) -> nn.Sequential:
        blurred = stride > 1 and self.taps > 1
        pool = BlurPool(inputs, self.taps) if blurred else nn.Identity()
        left = 1 if blurred else stride
        return nn.Sequential(pool, nn.Conv2d(inputs, outputs, 1, left, bias=False))


STRIDES = Halving()
AFTER_CONV = Halving(3, after_conv=True)


def choose_halving(antialias: int = 1, blur_after_conv: bool = False) -> Halving:
    """The halving that the options of `hardy train` name."""
    if antialias not in TAPS:
        raise InputError(
            f"expected antialias as a filter of {TAPS[0]} (none) to {TAPS[-1]} taps, "
            f"got {antialias!r}"
        )
    if not blur_after_conv:
        return Halving(antialias)
    if antialias != 1:
        raise InputError(
            f"expected either antialias or blur_after_conv, got both (antialias {antialias}): "
            "they blur the same places in two ways; leave one out"
        )
    return AFTER_CONV
