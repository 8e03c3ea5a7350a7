"""NoisyMix (Erichson et al., 2022): AugMix's three views, mixed and made noisy at any depth."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.method import Draw, at_rest, to_pixels
from hardy.train.methods.augmix import JSD_WEIGHT, AugMix, jsd
from hardy.train.methods.image_operations import SEEN_OPERATIONS
from hardy.train.nets import Net

VIEWS, STAGES = 3, 3
_STRENGTH, _KEPT = 0.5, 0.35
# Beta(2, 5) is the law of the second smallest of six uniform numbers.
_UNIFORMS, _PLACE = 6, 1


@dataclass
class NoisyMix(AugMix):
    """AugMix, with features of images mixed and made noisy, at a place drawn for each batch.

    At the net's input or behind its first, second or third stage, h becomes λ · h + (1 − λ) · h of
    another image, λ uniform, the same pairs in all three views; then

        h · (1 + ½ · B · U(−1, 1)) + ½ · i · B' · N(0, 1), i = 1, 2, 3 for the image and the views,

    with B and B' from Beta(2, 5) for each view, and each noise on 35 % of the values. The loss is
    λ · CE(y) + (1 − λ) · CE(y of the other) of the image, and 12 · JSD of the three views.

    `severity` is AugMix's. The published nets have dropout; Hardy's have none. It has seen Gaussian
    and speckle noise."""

    seen = (*SEEN_OPERATIONS, "gaussian_noise", "noc_gaussian", "speckle_noise")

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        net = self.classifier.net
        ends, self.shapes = stage_ends(net, shape)
        # Hooks are functions, since the net is copied with them, and the method should not be.
        self.changes: list[Callable[[Tensor], Tensor] | None] = [None] * (1 + len(ends))
        net.register_forward_pre_hook(_before(self.changes))
        for place, stage in enumerate(ends, start=1):
            stage.register_forward_hook(_behind(self.changes, place))

    def loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        count, draw = len(images), self.draw
        views = torch.cat([to_pixels(images), *self.mixtures(images, 2)])
        share, order = draw.uniform(1), draw.uniform(count).argsort()
        chosen = draw.integers(len(self.shapes), 1)
        self.changes[:] = [
            Change(chosen == place, share, order, *self.noises(count, shape))
            for place, shape in enumerate(self.shapes)
        ]
        try:
            logits = model(views).float()
        finally:
            self.changes[:] = [None] * len(self.shapes)
        clean, first, second = logits.chunk(VIEWS)
        losses = [functional.cross_entropy(clean, those) for those in (labels, labels[order])]
        mixed = share[0] * losses[0] + (1 - share[0]) * losses[1]
        return mixed + JSD_WEIGHT * jsd(clean, first, second)

    def noises(self, count: int, shape: tuple[int, ...]) -> tuple[Tensor, Tensor]:
        """What features are multiplied by, and what is added: (views, N, ...)."""
        whole, each = (VIEWS, count, *shape), (VIEWS, *[1] * (1 + len(shape)))
        steps = torch.arange(1, VIEWS + 1, device=self.draw.device).view(each)
        times = _STRENGTH * self.beta(each) * (2 * self.draw.uniform(*whole) - 1)
        plus = _STRENGTH * steps * self.beta(each) * self.draw.normal(*whole)
        kept = [self.draw.uniform(*whole) < _KEPT for _ in range(2)]
        return 1 + times * kept[0], plus * kept[1]

    def beta(self, shape: tuple[int, ...]) -> Tensor:
        drawn = self.draw.uniform(VIEWS, _UNIFORMS).sort(1).values
        return drawn[:, _PLACE].view(shape)


class Change:
    """What happens to features, (views · N, ...), if this is the place."""

    def __init__(self, here: Tensor, share: Tensor, order: Tensor, times: Tensor, plus: Tensor):
        self.here, self.share, self.order = here, share, order
        self.times, self.plus = times, plus

    def __call__(self, features: Tensor) -> Tensor:
        views = features.unflatten(0, (VIEWS, -1))
        mixed = self.share * views + (1 - self.share) * views[:, self.order]
        noisy = (mixed * self.times + self.plus).flatten(0, 1)
        return torch.where(self.here, noisy, features).to(features.dtype)


def _before(changes: list[Any]) -> Callable[[nn.Module, tuple[Tensor, ...]], Tensor | None]:
    def changed(net: nn.Module, inputs: tuple[Tensor, ...]) -> Tensor | None:
        return None if changes[0] is None else changes[0](inputs[0])

    return changed


def _behind(changes: list[Any], place: int) -> Callable[[nn.Module, Any, Tensor], Tensor | None]:
    def changed(stage: nn.Module, inputs: Any, features: Tensor) -> Tensor | None:
        return None if changes[place] is None else changes[place](features)

    return changed


def stage_ends(
    net: nn.Module, shape: tuple[int, ...]
) -> tuple[list[nn.Module], list[tuple[int, ...]]]:
    """The modules that end the first three stages, whose maps differ in size from the next; and
    the shapes of an image at the input and behind each."""
    children = dict(net.named_children())
    names = [f"layer{number}" for number in range(1, STAGES + 1)]
    if isinstance(net, Net):
        blocks = [block for block in net.blocks if any(block.children())]
    elif all(name in children for name in names):
        blocks = [children[name] for name in names]
    else:
        raise InputError(
            "noisy_mix: expected a net whose stages are known, such as wrn_40_2 or "
            f"torchvision:resnet50, got {type(net).__name__}; choose another net or method"
        )
    found: list[tuple[int, ...]] = []
    hooks = [
        block.register_forward_hook(lambda _, __, made: found.append(tuple(made.shape[1:])))
        for block in blocks
    ]
    with at_rest(net), torch.no_grad():
        net(torch.zeros(1, *shape, device=next(net.parameters()).device))
    for hook in hooks:
        hook.remove()
    sizes = [one[1:] for one in found]
    ends = [place for place, one in enumerate(sizes) if [one] != sizes[place + 1 : place + 2]]
    ends = ends[:STAGES]
    return [blocks[place] for place in ends], [tuple(shape), *(found[place] for place in ends)]
