"""Layers that TensorFlow's networks are made of, and torch lacks. This file imports torch."""

import torch
from torch import nn
from torch.nn import functional


class SameConv2d(nn.Conv2d):
    """A convolution padded as TensorFlow's "same".

    Its output has side / stride pixels, rounded up. Where the padding is odd, as at stride 2, the
    pixel more is at the right and at the bottom; torch's own padding is alike on both sides.
    """

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        height, width = pixels.shape[2:]
        top, bottom = _padding(height, self.kernel_size[0], self.stride[0])
        left, right = _padding(width, self.kernel_size[1], self.stride[1])
        if (top, left) != (bottom, right):
            pixels = functional.pad(pixels, (left, right, top, bottom))
            top = left = 0
        return functional.conv2d(
            pixels, self.weight, self.bias, self.stride, (top, left), groups=self.groups
        )


def _padding(side: int, kernel: int, stride: int) -> tuple[int, int]:
    needed = max(0, (-(-side // stride) - 1) * stride + kernel - side)
    return needed // 2, needed - needed // 2


def pooled(pixels: torch.Tensor) -> torch.Tensor:
    """The mean over all places: (N, C, H, W) -> (N, C)."""
    return pixels.mean((2, 3))
