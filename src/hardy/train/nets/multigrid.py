"""Multigrid nets (Ke, Maire and Yu, 2017): each layer sees a pyramid of grids, each half as large.

A multigrid convolution makes grid i anew from its neighbours and itself,

    conv(concat[2 x 2 maximum of grid i - 1, grid i, grid i + 1 enlarged twofold]),

all grids at once. A unit of R-MG is such a convolution, batch norm, ReLU, another with batch norm,
and a shortcut to which zeros are added as channels; a unit of plain MG is the first three alone.
Between stages every grid is halved by its 2 x 2 maximum; where a stage "merges", the last grid is
not halved, and takes in the channels of the one before it, which then has the same size.

| R-MG, 224 px | channels at size             | units, R-MG-34 (-18) | then                       |
|--------------|------------------------------|----------------------|----------------------------|
| stage 1      | 64 at 56, 32 at 28, 16 at 14 | 3 (2)                | halved                     |
| stage 2      | 128 at 28, 64 at 14, 32 at 7 | 4 (2)                | merged: 128 at 14, 96 at 7 |
| stage 3      | 256 at 14, 128 at 7          | 6 (2)                | merged: 384 at 7           |
| stage 4      | 512 at 7                     | 3 (2)                | mean, linear               |

| CIFAR, w = 64 | channels at size             | units | then                                     |
|---------------|------------------------------|-------|------------------------------------------|
| stage 1       | w at 32, w/2 at 16, w/4 at 8 | n     | halved                                   |
| stage 2       | 2w at 16, w at 8, w/2 at 4   | n     | halved                                   |
| stage 3       | 4w at 8, 2w at 4, w at 2     | n     | halved                                   |
| stage 4       | 8w at 4, 4w at 2, 2w at 1    | n     | merged; 1 x 1 kernels on the last grid   |
| stage 5       | 8w at 2, 6w at 1             | n     | merged: 14w at 1, linear; 1 x 1 likewise |

All begin with the image, and its averages of 2 x 2 and 4 x 4 pixels. R-MG convolves each by itself
to the widths of stage 1: by 7 x 7 of stride 2 and a 3 x 3 maximum of stride 2 at 224 px, by 3 x 3
at 32 px. The first multigrid convolution of MG reads them as they are: its published size (MG-6:
8.34 million weights and 117 million products) leaves no room for more. Of the CIFAR nets,
R-MG has a depth of 10n + 2 and MG of 5n + 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.blurpool import Halving
from hardy.train.nets import _initialise, need_strides

_POOLED_BY = (1, 2, 4)
Grids = list[Tensor]


@dataclass(frozen=True)
class _GridStage:
    widths: tuple[int, ...]
    units: int
    halves: bool = True  # behind it
    merges: bool = False
    smallest: int = 3  # kernel on the last grid


class MultigridConv(nn.Module):
    """The convolution of the module's docstring, each grid then normalised."""

    def __init__(self, inputs: Sequence[int], outputs: Sequence[int], smallest: int) -> None:
        super().__init__()
        kernels = [*[3] * (len(outputs) - 1), smallest]
        self.convs = nn.ModuleList(
            nn.Conv2d(sum(inputs[max(0, i - 1) : i + 2]), width, kernel, padding=kernel // 2)
            for i, (width, kernel) in enumerate(zip(outputs, kernels, strict=True))
        )
        self.norms = nn.ModuleList(map(nn.BatchNorm2d, outputs))

    def forward(self, grids: Grids) -> Grids:
        made = []
        for i, (conv, norm) in enumerate(zip(self.convs, self.norms, strict=True)):
            seen = [_halved(grids[i - 1]), grids[i]] if i else [grids[i]]
            if i + 1 < len(grids):
                seen.append(functional.interpolate(grids[i + 1], size=grids[i].shape[2:]))
            made.append(norm(conv(torch.cat(seen, 1))))
        return made


def _halved(grid: Tensor) -> Tensor:
    return functional.max_pool2d(grid, 2, ceil_mode=True)


class MultigridUnit(nn.Module):
    """One convolution, or two and a shortcut."""

    def __init__(
        self, inputs: Sequence[int], outputs: Sequence[int], smallest: int, residual: bool
    ) -> None:
        super().__init__()
        self.residual = residual
        self.first = MultigridConv(inputs, outputs, smallest)
        self.second = MultigridConv(outputs, outputs, smallest) if residual else None

    def forward(self, grids: Grids) -> Grids:
        made = [functional.relu(one) for one in self.first(grids)]
        if self.second is None:
            return made
        return [
            functional.relu(new + _with_zeros(old, new.shape[1]))
            for new, old in zip(self.second(made), grids, strict=True)
        ]


def _with_zeros(grid: Tensor, channels: int) -> Tensor:
    return functional.pad(grid, (0, 0, 0, 0, 0, channels - grid.shape[1]))


class MultigridNet(nn.Module):
    """A net of the tables above; `large` begins as the first of them."""

    def __init__(
        self,
        classes: int,
        stages: Sequence[_GridStage],
        *,
        residual: bool = True,
        large: bool = False,
    ) -> None:
        super().__init__()
        widths = list(stages[0].widths) if residual else [3] * len(_POOLED_BY)
        self.stems = nn.ModuleList(
            _stem(width, large) if residual else nn.Identity() for width in widths
        )
        self.units = nn.ModuleList()
        self.ends = []  # after so many units a stage ends, and is halved so
        for stage in stages:
            for _ in range(stage.units):
                unit = MultigridUnit(widths, stage.widths, stage.smallest, residual)
                self.units.append(unit)
                widths = list(stage.widths)
            if stage.halves:
                self.ends.append((len(self.units), stage.merges))
            if stage.merges:
                widths[-2:] = [sum(widths[-2:])]
        self.head = nn.Linear(widths[0], classes)
        _initialise(self)

    def forward(self, x: Tensor) -> Tensor:
        pooled = [functional.avg_pool2d(x, by) if by > 1 else x for by in _POOLED_BY]
        grids = [stem(image) for stem, image in zip(self.stems, pooled, strict=True)]
        start = 0
        for end, merges in [*self.ends, (len(self.units), None)]:
            for unit in list(self.units)[start:end]:
                grids = unit(grids)
            start = end
            if merges:
                *first, last = grids
                halved = [_halved(grid) for grid in first]
                grids = [*halved[:-1], torch.cat([halved[-1], last], 1)]
            elif merges is not None:
                grids = [_halved(grid) for grid in grids]
        return self.head(grids[0].mean((2, 3)))


def _stem(width: int, large: bool) -> nn.Sequential:
    if not large:
        conv = nn.Conv2d(3, width, 3, padding=1)
        return nn.Sequential(conv, nn.BatchNorm2d(width), nn.ReLU())
    conv = nn.Conv2d(3, width, 7, 2, 3)
    return nn.Sequential(conv, nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1))


def _of_imagenet(classes: int, units: tuple[int, ...]) -> nn.Module:
    widths = ((64, 32, 16), (128, 64, 32), (256, 128), (512,))
    merges, halves = (False, True, True, False), (True, True, True, False)
    stages = [_GridStage(*each) for each in zip(widths, units, halves, merges, strict=True)]
    return MultigridNet(classes, stages, large=True)


def _of_cifar(classes: int, units: int, width: int, residual: bool) -> nn.Module:
    if width < 4 or width % 4 or units < 1:
        raise InputError(
            f"expected units of at least 1 and a width that 4 divides, got {units} and {width}"
        )
    w = width
    stages = [
        _GridStage((w, w // 2, w // 4), units),
        _GridStage((2 * w, w, w // 2), units),
        _GridStage((4 * w, 2 * w, w), units),
        _GridStage((8 * w, 4 * w, 2 * w), units, merges=True, smallest=1),
        _GridStage((8 * w, 6 * w), units, merges=True, smallest=1),
    ]
    return MultigridNet(classes, stages, residual=residual)


def r_mg_34(classes: int, halving: Halving) -> nn.Module:
    """R-MG-34 for 224 px (Ke et al., 2017): each layer sees the image at three sizes."""
    need_strides("r_mg_34", halving)
    return _of_imagenet(classes, (3, 4, 6, 3))


def r_mg_18(classes: int, halving: Halving) -> nn.Module:
    """R-MG-18 for 224 px (Ke et al., 2017): as r_mg_34, with two units in each stage."""
    need_strides("r_mg_18", halving)
    return _of_imagenet(classes, (2, 2, 2, 2))


def r_mg_cifar(classes: int, halving: Halving, *, units: int = 1, width: int = 64) -> nn.Module:
    """R-MG-12 for 32 px (Ke et al., 2017); with units=2, 3, 4 it is R-MG-22, -32, -42."""
    need_strides("r_mg_cifar", halving)
    return _of_cifar(classes, units, width, residual=True)


def mg_cifar(classes: int, halving: Halving, *, units: int = 1, width: int = 64) -> nn.Module:
    """MG-6 for 32 px (Ke et al., 2017), without shortcuts; units=2, 3, 4 are MG-11, -16, -21."""
    need_strides("mg_cifar", halving)
    return _of_cifar(classes, units, width, residual=False)
