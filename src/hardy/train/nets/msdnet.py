"""MSDNet (Huang et al., 2018): dense layers at several scales, and a classifier after each block.

Scale s holds n · f_s channels, n growing by k with each layer. P is 1 x 1 to at most b times its
output, 3 x 3, each with batch norm and ReLU; P↓ halves; b = f of the scale it reads. A layer does

    x_s ← concat[x_s, P(x_s; k f_s)]                              at the finest scale,
    x_s ← concat[x_s, P↓(x_{s-1}; k f_s / 2), P(x_s; k f_s / 2)]  at the others.

Of L layers on S scales, layer l makes the S − ⌊(l − 1)/⌈L/S⌉⌋ coarsest. The first that leaves one
out still reads it, and is followed by 1 x 1 convolutions that halve n. Exits lie on the coarsest
scale: two 3 x 3 of stride 2, mean, linear. All are trained at once, by the sum of their losses.

| net          | begins                     | f = b   | n, k   | layers at the exits  |
|--------------|----------------------------|---------|--------|----------------------|
| CIFAR        | 3 x 3                      | 1-2-4   | 16, 6  | 4, 6, ..., 16        |
| ImageNet     | 7 x 7, 3 x 3 maximum, each | 1-2-4-4 | 32, 16 | 4, 8, ..., 20        |
|              | halving                    |         |        | (step=6, 7: 6, 12 …) |
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from itertools import accumulate, pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.blurpool import Halving
from hardy.train.nets import _initialise, need_strides

_MOST_LAYERS = 200  # the longest published one has 38; to make many more takes hours


def _conv(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs), nn.ReLU())


def _through_bottleneck(inputs: int, outputs: int, factor: int, stride: int = 1) -> nn.Sequential:
    middle = min(inputs, factor * outputs)
    return nn.Sequential(*_conv(inputs, middle, 1), *_conv(middle, outputs, 3, stride))


class ScaleLayer(nn.Module):
    """A layer that makes the scales from `first` on of those from `given` on."""

    def __init__(
        self, factors: Sequence[int], n: int, growth: int, given: int, first: int, width: int
    ) -> None:
        """`width` is n afterwards, where it is reduced, or n + growth."""
        super().__init__()
        self.skipped = first - given  # scales that only the next one reads
        self.same, self.down, self.reduce = nn.ModuleDict(), nn.ModuleDict(), nn.ModuleDict()
        for scale in range(first, len(factors)):
            channels, grown = n * factors[scale], growth * factors[scale]
            if scale > given:
                finer = factors[scale - 1]
                grown //= 2
                self.down[str(scale)] = _through_bottleneck(n * finer, grown, finer, 2)
            self.same[str(scale)] = _through_bottleneck(channels, grown, factors[scale])
            if width != n + growth:
                whole = (n + growth) * factors[scale]
                self.reduce[str(scale)] = _conv(whole, width * factors[scale], 1)

    def forward(self, scales: list[Tensor]) -> list[Tensor]:
        made = []
        for place, name in enumerate(self.same, start=self.skipped):
            x = scales[place]
            parts = [x, self.same[name](x)]
            if name in self.down:
                parts.insert(1, self.down[name](scales[place - 1]))
            together = torch.cat(parts, 1)
            made.append(self.reduce[name](together) if name in self.reduce else together)
        return made


class ExitClassifier(nn.Sequential):
    """Two convolutions that halve, mean, linear."""

    def __init__(self, inputs: int, width: int, classes: int) -> None:
        first, second = _conv(inputs, width, 3, 2), _conv(width, width, 3, 2)
        super().__init__(first, second, nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.append(nn.Linear(width, classes))


class MSDNet(nn.Module):
    """A net of the docstring above; `exits` are the numbers of layers before each of them.

    In training it answers by its last exit, and `added_loss` is that of the others. In tests it
    answers by the last one too, unless `answering` chose.
    """

    exit: int = -1  # which one answers
    confidence: float = 0.0  # where above 0: the first one that is so sure

    def __init__(
        self,
        classes: int,
        factors: Sequence[int],
        n: int,
        growth: int,
        exits: Sequence[int],
        *,
        large: bool,
    ) -> None:
        super().__init__()
        coarsest, layers = len(factors) - 1, exits[-1]
        self.stems = nn.ModuleList([_conv(3, n * factors[0], 3)])
        if large:
            self.stems[0] = nn.Sequential(_conv(3, n * factors[0], 7, 2), nn.MaxPool2d(3, 2, 1))
        for finer, coarser in pairwise(factors):
            self.stems.append(_conv(n * finer, n * coarser, 3, 2))
        self.layers, self.classifiers = nn.ModuleList(), nn.ModuleDict()
        interval, given = -(-layers // len(factors)), 0
        for layer in range(1, layers + 1):
            first = (layer - 1) // interval
            width = n + growth if first == given else (n + growth) // 2
            self.layers.append(ScaleLayer(factors, n, growth, given, first, width))
            given, n = first, width
            if layer in exits:
                inputs = n * factors[coarsest]
                exit_width = inputs if large else 128
                self.classifiers[str(layer)] = ExitClassifier(inputs, exit_width, classes)
        self._others: list[Tensor] = []
        _initialise(self)

    def all_exits(self, x: Tensor) -> list[Tensor]:
        """The logits of all exits, the first first."""
        scales = []
        for stem in self.stems:
            x = stem(x)
            scales.append(x)
        found = []
        for number, layer in enumerate(self.layers, start=1):
            scales = layer(scales)
            if str(number) in self.classifiers:
                found.append(self.classifiers[str(number)](scales[-1]))
        return found

    def forward(self, x: Tensor) -> Tensor:
        logits = self.all_exits(x)
        if self.training:
            self._others = logits[:-1]
            return logits[-1]
        return sure_enough(logits, self.confidence) if self.confidence else logits[self.exit]

    def added_loss(self, labels: Tensor) -> Tensor | int:
        """The cross-entropies of the exits but the last, whose loss is the method's, on what the
        net was last shown; several views of a batch have the labels of the batch."""
        others, self._others = self._others, []
        return sum(
            functional.cross_entropy(logits.float(), _repeated(labels, len(logits)))
            for logits in others
        )

    def answering(self, *, exit: int = 0, confidence: float = 0.0) -> nn.Module:
        """The net that answers by exit 1, 2, ...; or by the first that is so sure of an image."""
        count = len(self.classifiers)
        if not 0 <= exit <= count or not 0 <= confidence <= 1 or (exit and confidence):
            raise InputError(
                f"expected exit as 1 to {count}, or confidence as a share above 0 and up to 1, got "
                f"exit={exit} and confidence={confidence:g}"
            )
        chosen = copy.copy(self)
        chosen.exit, chosen.confidence = exit - 1, confidence
        return chosen


def _repeated(labels: Tensor, count: int) -> Tensor:
    return labels.repeat(count // len(labels), *[1] * (labels.dim() - 1))


def sure_enough(exits: Sequence[Tensor], confidence: float) -> Tensor:
    """The logits, for each image, of the first exit whose largest probability is at least so much;
    those of the last if none is so sure."""
    chosen = exits[-1]
    for logits in reversed(exits[:-1]):
        sure = logits.softmax(1).amax(1, keepdim=True) >= confidence
        chosen = torch.where(sure, logits, chosen)
    return chosen


def _places(name: str, exits: int, base: int, step: int, growing: bool) -> list[int]:
    """The numbers of layers before each exit: base, then `step` more each; or, growing, 1, 2, 3 ...
    times `step`, and 1, as the authors' "lin_grow" has it."""
    if min(exits, base, step) < 1:
        raise InputError(f"{name}: expected exits, base and step of at least 1, got one below")
    more = [step * i + 1 if growing else step for i in range(1, exits)]
    places = list(accumulate([base, *more]))
    if places[-1] > _MOST_LAYERS:
        raise InputError(f"{name}: expected at most {_MOST_LAYERS} layers, got {places[-1]:,}")
    return places


def msdnet_cifar(
    classes: int,
    halving: Halving,
    *,
    exits: int = 7,
    base: int = 4,
    step: int = 2,
    growing: bool = False,
    channels: int = 16,
    growth: int = 6,
) -> nn.Module:
    """MSDNet for 32 px with seven exits (Huang et al., 2018): it can answer at each of them."""
    need_strides("msdnet_cifar", halving)
    if min(channels, growth) < 1:
        raise InputError(f"expected channels and growth above 0, got {channels} and {growth}")
    places = _places("msdnet_cifar", exits, base, step, growing)
    return MSDNet(classes, (1, 2, 4), channels, growth, places, large=False)


def msdnet_imagenet(
    classes: int, halving: Halving, *, step: int = 4, channels: int = 32
) -> nn.Module:
    """MSDNet for 224 px with five exits (Huang et al., 2018); also with step=6 or step=7."""
    need_strides("msdnet_imagenet", halving)
    if channels < 1:
        raise InputError(f"expected channels above 0, got {channels}")
    places = _places("msdnet_imagenet", 5, step, step, False)
    return MSDNet(classes, (1, 2, 4, 4), channels, 16, places, large=True)
