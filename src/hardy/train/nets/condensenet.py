"""CondenseNet (Huang, Liu et al., 2018): a dense net that learns which inputs its layers need.

| part   | CondenseNet-86, 32 px               | CondenseNet-74, 224 px                            |
|--------|-------------------------------------|---------------------------------------------------|
| begins | 3 x 3 to 2k                         | 3 x 3 to 2k, stride 2                             |
| blocks | 14, 14, 14 layers of growth k, 2k,  | 4, 6, 8, 10, 8 layers of growth k, 2k, 4k, 8k,    |
|        | 4k, k = 8; 2 x 2 average between    | 16k, k = 8; 2 x 2 average between                 |
| ends   | batch norm, ReLU, mean, linear      | the same                                          |

A layer of growth k: batch norm, ReLU, a learned group convolution of 1 x 1 to 4k; batch norm, ReLU,
3 x 3 in G groups to k; appended to its input.

The learned one has G groups too: filter i belongs to group i mod G. It begins as a whole one. In
the first half of training there are G − 1 events, evenly spread, and in each every group loses 1/G
of its R inputs, those with the least Σ|W| over the filters of the group. Until the last one the
loss has `lasso` times Σ over groups and inputs of √(Σ W²). Then each group reads R/G inputs, and
the layer can be written as one that gathers these, an ordinary group convolution, and a shuffle.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.blurpool import Halving
from hardy.train.nets import _initialise, need_strides

_WIDER = 4  # the 1 x 1 gives so many times the growth
_LEAST = 1e-6


class LearnedGroupConv(nn.Module):
    """Batch norm, ReLU, and a 1 x 1 convolution with a mask (groups, inputs) of what is read."""

    def __init__(self, inputs: int, outputs: int, groups: int) -> None:
        super().__init__()
        self.groups = groups
        self.norm = nn.BatchNorm2d(inputs)
        self.conv = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.register_buffer("mask", torch.ones(groups, inputs, dtype=torch.bool))

    def weight(self) -> Tensor:
        """The weights that count, (outputs / groups, groups, inputs)."""
        whole = self.conv.weight.view(-1, self.groups, self.conv.in_channels)
        return whole * self.mask

    def forward(self, x: Tensor) -> Tensor:
        weight = self.weight().view_as(self.conv.weight)
        return functional.conv2d(functional.relu(self.norm(x)), weight)

    def lasso(self) -> Tensor:
        return self.weight().square().sum(0).clamp_min(_LEAST).sqrt().sum()

    @torch.no_grad()
    def condense(self, events: int) -> None:
        """Bring it to where it is after so many events; no more where it is there already."""
        inputs = self.conv.in_channels
        kept = inputs - events * inputs // self.groups
        if kept < int(self.mask[0].sum()):
            size = self.weight().abs().sum(0).masked_fill(~self.mask, -1)
            best = size.topk(kept, 1).indices
            self.mask.zero_().scatter_(1, best, True)

    @torch.no_grad()
    def converted(self) -> IndexedGroupConv:
        inputs, outputs = self.conv.in_channels, self.conv.out_channels
        read = self.mask.nonzero()[:, 1]
        made = IndexedGroupConv(read, inputs // self.groups, outputs, self.groups)
        made.to(self.conv.weight.device)
        for name in ("weight", "bias", "running_mean", "running_var"):
            getattr(made.norm, name).copy_(getattr(self.norm, name)[read])
        made.norm.eps = self.norm.eps
        by_group = self.weight().transpose(0, 1)  # groups, filters, inputs
        gathered = by_group.gather(
            2, read.view(self.groups, 1, -1).expand(-1, outputs // self.groups, -1)
        )
        made.conv.weight.copy_(gathered.reshape(made.conv.weight.shape))
        made.train(self.training)
        return made


class IndexedGroupConv(nn.Module):
    """The same after training: gather, batch norm, ReLU, group convolution, shuffle."""

    def __init__(self, read: Tensor, each: int, outputs: int, groups: int) -> None:
        super().__init__()
        self.register_buffer("read", read)
        self.groups = groups
        self.norm = nn.BatchNorm2d(groups * each)
        self.conv = nn.Conv2d(groups * each, outputs, 1, groups=groups, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        made = self.conv(functional.relu(self.norm(x.index_select(1, self.read))))
        count, channels, *sides = made.shape
        grouped = made.view(count, self.groups, channels // self.groups, *sides)
        return grouped.transpose(1, 2).reshape(made.shape)


class CondensingLayer(nn.Module):
    """What comes in, and what the layer makes of it."""

    def __init__(self, inputs: int, growth: int, groups: int) -> None:
        super().__init__()
        middle = _WIDER * growth
        self.learned: nn.Module = LearnedGroupConv(inputs, middle, groups)
        self.norm = nn.BatchNorm2d(middle)
        self.conv = nn.Conv2d(middle, growth, 3, 1, 1, groups=groups, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        made = self.conv(functional.relu(self.norm(self.learned(x))))
        return torch.cat([x, made], 1)


class HalfLinear(nn.Linear):
    """Half of the inputs of a linear layer, those with the largest Σ|W|."""

    def __init__(self, whole: nn.Linear) -> None:
        super().__init__(whole.in_features // 2, whole.out_features)
        self.to(whole.weight.device)
        best = whole.weight.detach().abs().sum(0).topk(self.in_features).indices
        self.register_buffer("read", best.sort().values)
        with torch.no_grad():
            self.weight.copy_(whole.weight[:, self.read])
            self.bias.copy_(whole.bias)

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.index_select(1, self.read))


class CondenseNet(nn.Module):
    """A net of the docstring above."""

    def __init__(
        self,
        classes: int,
        layers: Sequence[int],
        growth: int,
        groups: int,
        lasso: float,
        *,
        large: bool,
    ) -> None:
        super().__init__()
        channels = 2 * growth
        blocks: list[nn.Module] = [nn.Conv2d(3, channels, 3, 2 if large else 1, 1, bias=False)]
        for block, count in enumerate(layers):
            if block:
                blocks.append(nn.AvgPool2d(2))
            for _ in range(count):
                blocks.append(CondensingLayer(channels, growth * 2**block, groups))
                channels += growth * 2**block
        self.blocks = nn.Sequential(*blocks, nn.BatchNorm2d(channels), nn.ReLU())
        self.head = nn.Linear(channels, classes)
        self.groups, self.lasso = groups, lasso
        self._events = -1  # what the masks show, once it is known
        weighed = torch.tensor(lasso)  # a tensor, because steps are recorded on a GPU
        self.register_buffer("lasso_now", weighed, persistent=False)
        _initialise(self)

    def _learned(self) -> list[LearnedGroupConv]:
        return [part for part in self.modules() if isinstance(part, LearnedGroupConv)]

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(x).mean((2, 3)))

    def at_share(self, done: float) -> None:
        """The events of the first half of training that are due by now."""
        last = self.groups - 1
        due = min(last, int(2 * last * done + 1e-9))
        if due != self._events:
            for layer in self._learned():
                layer.condense(due)
            self.lasso_now.fill_(self.lasso if due < last else 0.0)
            self._events = due

    def added_loss(self, labels: Tensor) -> Tensor | int:
        if not self.lasso:
            return 0
        return self.lasso_now * torch.stack([layer.lasso() for layer in self._learned()]).sum()

    def answering(self, *, converted: bool = False, half_head: bool = False) -> nn.Module:
        """The net as it is, or converted to its form for tests, with the same answers; half_head
        then leaves the linear layer half of its inputs, as the authors do, and changes them."""
        if half_head and not converted:
            raise InputError("expected half_head=yes with converted=yes, got it alone")
        if not converted:
            return self
        made = copy.deepcopy(self)
        for layer in made.blocks:
            if isinstance(layer, CondensingLayer):
                learned = layer.learned
                kept = int(learned.mask.sum()), learned.mask.shape[1]
                if kept[0] != kept[1]:
                    raise InputError(
                        "expected a net that was condensed, got one whose training ended before; "
                        "train it for as many steps as it has groups, or leave converted out"
                    )
                layer.learned = learned.converted()
        if half_head:
            made.head = HalfLinear(self.head)
        return made


def _checked(name: str, growth: int, groups: int, lasso: float) -> None:
    if groups < 2 or growth < 1 or growth % groups:
        raise InputError(
            f"{name}: expected groups of at least 2 and a growth that they divide, got "
            f"{groups} and {growth}"
        )
    if not 0 <= lasso < float("inf"):
        raise InputError(f"{name}: expected a lasso of at least 0, got {lasso}")


def condensenet_86(
    classes: int,
    halving: Halving,
    *,
    layers: int = 14,
    growth: int = 8,
    groups: int = 4,
    lasso: float = 0.0,
) -> nn.Module:
    """CondenseNet-86 for 32 px (Huang, Liu et al., 2018): it learns which inputs layers need.

    layers=8, 12, 16, 18, 20 are CondenseNet-50, -74, -98, -110, -122; layers=30,growth=12 is -182.
    """
    need_strides("condensenet_86", halving)
    _checked("condensenet_86", growth, groups, lasso)
    if layers < 1:
        raise InputError(f"expected at least 1 of layers, got {layers}")
    return CondenseNet(classes, [layers] * 3, growth, groups, lasso, large=False)


def condensenet_74(
    classes: int, halving: Halving, *, groups: int = 4, lasso: float = 1e-5
) -> nn.Module:
    """CondenseNet-74 for 224 px (Huang, Liu et al., 2018); also with groups=8."""
    need_strides("condensenet_74", halving)
    _checked("condensenet_74", 8, groups, lasso)
    return CondenseNet(classes, (4, 6, 8, 10, 8), 8, groups, lasso, large=True)
