"""MobileNet v1 out of a file of TensorFlow Lite. This file imports torch.

Batch norm is folded into the convolutions there. Of its 1,001 outputs the first, for what is none
of ImageNet's classes, is left out.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import nn
from torch.nn.functional import relu6

from hardy.models.zoo.foreign_tensors import Arrays, tensorflow_lite
from hardy.models.zoo.same_padding import SameConv2d, pooled

# Channels and stride of each pair of convolutions.
_PAIRS = (
    *((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2)),
    *((512, 1),) * 5,
    *((1024, 2), (1024, 1)),
)


class MobileNetV1(nn.Module):
    def __init__(self, pairs: Sequence[tuple[int, int]] = _PAIRS, first: int = 32) -> None:
        super().__init__()
        self.stem = SameConv2d(3, first, 3, 2)
        self.depthwise, self.pointwise = nn.ModuleList(), nn.ModuleList()
        inputs = first
        for outputs, stride in pairs:
            self.depthwise.append(SameConv2d(inputs, inputs, 3, stride, groups=inputs))
            self.pointwise.append(nn.Conv2d(inputs, outputs, 1))
            inputs = outputs
        self.last = nn.Linear(inputs, 1000)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        pixels = relu6(self.stem(pixels))
        for depthwise, pointwise in zip(self.depthwise, self.pointwise, strict=True):
            pixels = relu6(pointwise(relu6(depthwise(pixels))))
        return self.last(pooled(pixels))

    def converted(self, files: Mapping[str, bytes]) -> Arrays:
        """The weights by the names here."""
        (content,) = files.values()
        theirs = {
            name.removeprefix("MobilenetV1/").removeprefix("MobilenetV1/"): array
            for name, array in tensorflow_lite(content).items()
        }
        ours = {
            "stem.weight": theirs["Conv2d_0/weights"].transpose(0, 3, 1, 2),
            "stem.bias": theirs["Conv2d_0/convolution_bias"],
            "last.weight": theirs["Logits/Conv2d_1c_1x1/weights"][1:, 0, 0],
            "last.bias": theirs["Logits/Conv2d_1c_1x1/convolution_bias"][1:],
        }
        for place in range(len(self.depthwise)):
            name = f"Conv2d_{place + 1}"
            across = theirs[f"{name}_depthwise/depthwise_weights"].transpose(3, 0, 1, 2)
            ours[f"depthwise.{place}.weight"] = across
            ours[f"depthwise.{place}.bias"] = theirs[f"{name}_depthwise/depthwise_bias"]
            along = theirs[f"{name}_pointwise/weights"].transpose(0, 3, 1, 2)
            ours[f"pointwise.{place}.weight"] = along
            ours[f"pointwise.{place}.bias"] = theirs[f"{name}_pointwise/convolution_bias"]
        return ours
