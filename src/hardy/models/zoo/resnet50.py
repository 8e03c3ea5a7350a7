"""ResNet-50 as Keras has it, out of TensorFlow.js. This file imports torch.

It is the network of the paper: unlike torchvision's, it steps by 2 in the first convolution of a
block, its convolutions have biases, and its batch norm has an epsilon of 0.001.
"""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch
from torch import nn
from torch.nn.functional import relu

from hardy.models.zoo.foreign_tensors import Arrays, tensorflow_js
from hardy.models.zoo.same_padding import pooled

_EPSILON = 1e-3
# What Keras calls the convolutions of a block, and what they are called here.
_BRANCHES = {"2a": "narrow", "2b": "middle", "2c": "wide", "1": "shortcut"}
_NORM = {
    "gamma": "weight",
    "beta": "bias",
    "moving_mean": "running_mean",
    "moving_variance": "running_var",
}


class _NormedConv(nn.Sequential):
    def __init__(self, inputs: int, outputs: int, kernel: int, stride: int = 1) -> None:
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2),
            nn.BatchNorm2d(outputs, _EPSILON),
        )


class _Bottleneck(nn.Module):
    def __init__(self, inputs: int, width: int, stride: int, first: bool) -> None:
        super().__init__()
        self.narrow = _NormedConv(inputs, width, 1, stride)
        self.middle = _NormedConv(width, width, 3)
        self.wide = _NormedConv(width, 4 * width, 1)
        self.shortcut = _NormedConv(inputs, 4 * width, 1, stride) if first else nn.Identity()

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        inner = relu(self.middle(relu(self.narrow(pixels))))
        return relu(self.wide(inner) + self.shortcut(pixels))


class ResNet50(nn.Module):
    def __init__(self, blocks: Sequence[int] = (3, 4, 6, 3), width: int = 64) -> None:
        super().__init__()
        self.stem = _NormedConv(3, width, 7, 2)
        # What it pools is never negative, so Keras's padding by 0 and this one by −∞ are the same.
        self.pool = nn.MaxPool2d(3, 2, 1)
        self.stages = nn.ModuleList()
        inputs = width
        for number, repeats in enumerate(blocks):
            inside = width * 2**number
            stage = nn.Sequential()
            for place in range(repeats):
                stride = 2 if number and not place else 1
                stage.append(_Bottleneck(inputs, inside, stride, not place))
                inputs = 4 * inside
            self.stages.append(stage)
        self.last = nn.Linear(inputs, 1000)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        pixels = self.pool(relu(self.stem(pixels)))
        for stage in self.stages:
            pixels = stage(pixels)
        return self.last(pooled(pixels))

    def converted(self, files: Mapping[str, bytes]) -> Arrays:
        """The weights by the names here."""
        theirs = tensorflow_js(files)
        ours: Arrays = {}
        for conv, norm, name in self._names():
            ours[f"{name}.0.weight"] = theirs[f"{conv}/kernel"].transpose(3, 2, 0, 1)
            ours[f"{name}.0.bias"] = theirs[f"{conv}/bias"]
            for part, called in _NORM.items():
                ours[f"{name}.1.{called}"] = theirs[f"{norm}/{part}"]
        ours["stem.0.weight"] = np.flip(ours["stem.0.weight"], 1)  # it was shown blue first
        ours["last.weight"] = theirs["fc1000/kernel"].T
        ours["last.bias"] = theirs["fc1000/bias"]
        return ours

    def _names(self) -> Iterator[tuple[str, str, str]]:
        """Keras's names of each convolution and its norm, and the name of both here."""
        yield "conv1", "bn_conv1", "stem"
        for number, stage in enumerate(self.stages):
            for place in range(len(stage)):
                block = f"{number + 2}{'abcdef'[place]}"
                for branch, name in _BRANCHES.items():
                    if branch != "1" or not place:
                        yield (
                            f"res{block}_branch{branch}",
                            f"bn{block}_branch{branch}",
                            f"stages.{number}.{place}.{name}",
                        )
