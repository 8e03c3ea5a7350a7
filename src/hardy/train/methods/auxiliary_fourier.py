"""AFA (Vaish et al., 2024): auxiliary Fourier-basis augmentation, with its auxiliary batch norm."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.method import Draw, make_method, need_positive, to_pixels
from hardy.train.methods.partners import Partners, WithPartners, need_view

_WAVES_SIDE = 32
_SEEN: tuple[str, ...] = ("single_frequency_greyscale",)


@dataclass
class AuxiliaryFourier(WithPartners):
    """A second batch with plane waves added passes the net by batch norms of its own: AFA.

    ½ · CE(f(x), y) + ½ · CE(f'(x + η), y), where f' has the weights of f, but for batch norms. For
    each image and channel η = s · (n / 32) · w / ‖w‖, w = sin(2π (k / n)(u cos ω + v sin ω) − π/4),
    with k uniform from 1 to n, ω uniform in −π..0, s exponential of mean `strength`, and n the
    longer side; x + η is clipped. `main` names the method whose view x is: standard, or another
    that has one, such as trivial_augment, augmix, prime, hybrid_augment or pix_mix, with its
    defaults. The trained net is f.

    Left out are the half instance, half batch norms of the published nets, and the JSD variant. The
    waves resemble one corruption of C̄."""

    strength: float = 10.0
    main: str = "standard"
    seen = _SEEN

    def __post_init__(self) -> None:
        need_positive("strength", self.strength)
        named = {} if self.main == "standard" else {"main": make_method(self.main)}
        for one in named.values():
            need_view(one, "afa: expected as main standard or", self.main)
        self.partners = Partners(named)
        self.seen = (*_SEEN, *self.partners.seen)

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        self.partners.begin(self, shape)
        self.norms = give_second_norms(self.classifier.net)

    def loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        pixels = to_pixels(images)
        for partner in self.partners.methods.values():
            pixels = partner.view(images)
        both = torch.cat([pixels, self.waved(to_pixels(images))])
        for norm in self.norms.values():
            norm.halved = True
        try:
            logits = model(both)
        finally:
            for norm in self.norms.values():
                norm.halved = False
        return functional.cross_entropy(
            logits, torch.cat([labels, labels])
        )  # the mean of both halves

    def waved(self, pixels: Tensor) -> Tensor:
        count, channels, height, width = pixels.shape
        side, draw, shape = max(height, width), self.draw, (count, channels, 1, 1)
        turns = 2 * math.pi * (1 + draw.integers(side, *shape)) / side
        angle = -math.pi * draw.uniform(*shape)
        across = torch.arange(width, device=draw.device)
        down = torch.arange(height, device=draw.device)[:, None]
        wave = torch.sin(turns * (across * angle.cos() + down * angle.sin()) - math.pi / 4)
        norm = wave.norm(dim=(2, 3), keepdim=True).clamp(min=torch.finfo(wave.dtype).tiny)
        strength = -self.strength * torch.log1p(-draw.uniform(*shape))
        return (pixels + strength * (side / _WAVES_SIDE) * wave / norm).clamp(0, 1)

    def learned_beside(self) -> dict[str, nn.Parameter]:
        return {
            f"{name}.{part}": weight
            for name, norm in self.norms.items()
            for part, weight in zip(("weight", "bias"), norm.second, strict=True)
        }

    def state(self) -> dict[str, Tensor]:
        own = {f"second.{name}": weight.detach() for name, weight in self.learned_beside().items()}
        return own | super().state()

    def restore(self, state: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, weight in self.learned_beside().items():
                weight.copy_(state[f"second.{name}"])
        super().restore(state)


class TwoNorms(nn.BatchNorm2d):
    """A batch norm that, while `halved`, normalises the second half of a batch by itself. What it
    has for that is no part of the net: only the training needs it, and no running statistics."""

    second: tuple[nn.Parameter, nn.Parameter]
    halved: bool

    def forward(self, features: Tensor) -> Tensor:
        if not self.halved:
            return super().forward(features)
        first, second = features.chunk(2)
        other = functional.batch_norm(second, None, None, *self.second, training=True, eps=self.eps)
        return torch.cat([super().forward(first), other])


def give_second_norms(net: nn.Module) -> dict[str, TwoNorms]:
    """Have each batch norm of a net normalise halves, with weights of 1 and 0 of their own."""
    found: dict[str, TwoNorms] = {}
    for name, norm in net.named_modules():
        if not isinstance(norm, nn.modules.batchnorm._BatchNorm):
            continue
        if type(norm) is not nn.BatchNorm2d or not norm.affine:
            raise InputError(
                f"afa: expected a net whose batch norms are torch's, got {type(norm).__name__} in "
                f"{type(net).__name__}; choose another net or method"
            )
        norm.__class__ = TwoNorms
        made: Any = norm
        made.second = tuple(nn.Parameter(kind(norm.weight.detach())) for kind in _FRESH)
        made.halved = False
        found[name] = made
    if not found:
        raise InputError(
            f"afa: expected a net with batch norms, got {type(net).__name__}; choose another net "
            "or method"
        )
    return found


_FRESH = (torch.ones_like, torch.zeros_like)
