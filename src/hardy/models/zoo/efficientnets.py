"""EfficientNet-B0 out of TensorFlow.js, EfficientNet-Lite out of torch. This file imports torch.

Lite is EfficientNet without squeeze-and-excitation and with ReLU6. B0 came with its batch norm
folded into the convolutions, so a defence that adapts batch norm finds none in it.
"""

import io
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import torch
from torch import nn
from torch.nn.functional import relu6, silu

from hardy.models.zoo.foreign_tensors import Arrays, tensorflow_js
from hardy.models.zoo.same_padding import SameConv2d, pooled

_EPSILON = 1e-3
_FIRST, _TOP = 32, 1280  # channels of the first and of the last convolution
_GRAPH = "StatefulPartitionedCall/model/"
_UNNAMED = "Func/StatefulPartitionedCall/input/_"


class _Stage(NamedTuple):
    repeats: int
    kernel: int
    stride: int
    expansion: int
    outputs: int


_STAGES = (
    _Stage(1, 3, 1, 1, 16),
    _Stage(2, 3, 2, 6, 24),
    _Stage(2, 5, 2, 6, 40),
    _Stage(3, 3, 2, 6, 80),
    _Stage(3, 5, 1, 6, 112),
    _Stage(4, 5, 2, 6, 192),
    _Stage(1, 3, 1, 6, 320),
)


class _FoldableConv(nn.Sequential):
    """A convolution and batch norm, or a bias in its place where that was folded into it."""

    def __init__(
        self, inputs: int, outputs: int, kernel: int, stride: int, groups: int, folded: bool
    ) -> None:
        conv = SameConv2d(inputs, outputs, kernel, stride, groups=groups, bias=folded)
        super().__init__(conv, *[] if folded else [nn.BatchNorm2d(outputs, _EPSILON)])


class _Excitation(nn.Module):
    """Squeeze and excitation: each channel is weighed by what the means of all say."""

    def __init__(self, channels: int, squeezed: int) -> None:
        super().__init__()
        self.reduce = nn.Conv2d(channels, squeezed, 1)
        self.expand = nn.Conv2d(squeezed, channels, 1)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        means = pixels.mean((2, 3), keepdim=True)
        return pixels * torch.sigmoid(self.expand(silu(self.reduce(means))))


class _InvertedBlock(nn.Module):
    def __init__(self, inputs: int, stage: _Stage, stride: int, lite: bool) -> None:
        super().__init__()
        inner = inputs * stage.expansion
        self.adds = stride == 1 and inputs == stage.outputs
        self.lite = lite
        widens = stage.expansion != 1
        self.expand = _FoldableConv(inputs, inner, 1, 1, 1, not lite) if widens else None
        self.depthwise = _FoldableConv(inner, inner, stage.kernel, stride, inner, not lite)
        self.excite = nn.Identity() if lite else _Excitation(inner, max(1, inputs // 4))
        self.project = _FoldableConv(inner, stage.outputs, 1, 1, 1, not lite)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        bend = relu6 if self.lite else silu
        inner = pixels if self.expand is None else bend(self.expand(pixels))
        found = self.project(self.excite(bend(self.depthwise(inner))))
        return found + pixels if self.adds else found


class _EfficientNet(nn.Module):
    def __init__(self, stages: Sequence[_Stage], lite: bool) -> None:
        super().__init__()
        self.lite = lite
        self.stages = stages
        self.stem = _FoldableConv(3, _FIRST, 3, 2, 1, not lite)
        self.blocks = nn.Sequential()
        inputs = _FIRST
        for stage in stages:
            for place in range(stage.repeats):
                self.blocks.append(
                    _InvertedBlock(inputs, stage, 1 if place else stage.stride, lite)
                )
                inputs = stage.outputs
        self.head = _FoldableConv(inputs, _TOP, 1, 1, 1, not lite)
        self.last = nn.Linear(_TOP, 1000)

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        bend = relu6 if self.lite else silu
        return self.last(pooled(bend(self.head(self.blocks(bend(self.stem(pixels)))))))


class EfficientNetB0(_EfficientNet):
    def __init__(self, stages: Sequence[_Stage] = _STAGES) -> None:
        super().__init__(stages, lite=False)

    def converted(self, files: Mapping[str, bytes]) -> Arrays:
        """The weights by the names here. Some have none in the graph, but lie in its order."""
        theirs = tensorflow_js(files)
        ours: Arrays = {}
        for graph, name in self._names():
            kind = "depthwise" if name.endswith("depthwise") else "Conv2D"
            kernel = theirs[f"{_GRAPH}{graph}/{kind}_weights"]
            order = (2, 3, 0, 1) if kind == "depthwise" else (3, 2, 0, 1)
            ours[f"{name}.0.weight"] = kernel.transpose(order)
            ours[f"{name}.0.bias"] = theirs[f"{_GRAPH}{graph}/{kind}_bn_offset"]
        numbers = sorted(
            int(name.removeprefix(_UNNAMED)) for name in theirs if name.startswith(_UNNAMED)
        )
        unnamed = (theirs[f"{_UNNAMED}{number}"] for number in numbers)
        for place in range(len(self.blocks)):
            for part in ("reduce", "expand"):
                name = f"blocks.{place}.excite.{part}"
                ours[f"{name}.weight"] = next(unnamed).transpose(3, 2, 0, 1)
                ours[f"{name}.bias"] = next(unnamed)
        ours["last.weight"] = next(unnamed).T
        ours["last.bias"] = next(unnamed)
        return ours

    def _names(self) -> Iterator[tuple[str, str]]:
        """The graph's name of each convolution, and its name here."""
        yield "stem_conv2d", "stem"
        yield "top_conv2d", "head"
        place = 0
        for number, stage in enumerate(self.stages):
            for repeat in range(stage.repeats):
                for part in ("expand", "depthwise", "project"):
                    if part != "expand" or stage.expansion != 1:
                        graph = f"stack_{number}/block_{repeat}/{part}_conv2d"
                        yield graph, f"blocks.{place}.{part}"
                place += 1


class EfficientNetLite(_EfficientNet):
    """All stages but the first and the last are repeated `deeper` times as often as B0's, and all
    are `wider`, in steps of 8 channels; stem and head stay as they are."""

    def __init__(self, wider: float, deeper: float, stages: Sequence[_Stage] = _STAGES) -> None:
        *others, last = stages[1:]
        scaled = [one._replace(repeats=math.ceil(one.repeats * deeper)) for one in others]
        scaled = [stages[0], *scaled, last]
        super().__init__(
            [one._replace(outputs=_eights(one.outputs * wider)) for one in scaled], lite=True
        )

    def converted(self, files: Mapping[str, bytes]) -> Arrays:
        """The weights by the names here; counts of batches are left out."""
        (content,) = files.values()
        theirs = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
        ours: Arrays = {}
        for conv, norm, name in self._names():
            ours[f"{name}.0.weight"] = theirs[f"{conv}.weight"].numpy()
            for part in ("weight", "bias", "running_mean", "running_var"):
                ours[f"{name}.1.{part}"] = theirs[f"{norm}.{part}"].numpy()
        ours["last.weight"], ours["last.bias"] = (
            theirs[f"_fc.{part}"].numpy() for part in ("weight", "bias")
        )
        return ours

    def _names(self) -> Iterator[tuple[str, str, str]]:
        """The file's names of each convolution and its norm, and the name of both here."""
        yield "_conv_stem", "_bn0", "stem"
        yield "_conv_head", "_bn1", "head"
        for place, block in enumerate(self.blocks):
            for number, part in enumerate(("expand", "depthwise", "project")):
                if getattr(block, part) is not None:
                    old = f"_blocks.{place}"
                    yield f"{old}._{part}_conv", f"{old}._bn{number}", f"blocks.{place}.{part}"


def _eights(channels: float) -> int:
    """The nearest multiple of 8, but not less by more than a tenth."""
    near = max(8, int(channels + 4) // 8 * 8)
    return near + 8 if near < 0.9 * channels else near
