"""AugMix (Hendrycks et al., 2020): mixtures of chains of operations, and the JSD loss."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.cuda_graphs import can_record
from hardy.train.method import Draw, Method, to_pixels
from hardy.train.methods.augmix_operations import LOWEST_LEVEL, draw_levels, draw_signs, operate
from hardy.train.methods.image_operations import NOTHING, OPERATIONS, SEEN_OPERATIONS

CHAINS = 3
DEEPEST = 3
JSD_WEIGHT = 12.0


class MixingMethod(Method, ABC):
    """An image and two mixtures of it have to get one prediction."""

    @abstractmethod
    def mixtures(self, images: Tensor, views: int) -> Tensor:
        """float (views, N, 3, H, W) in 0..1."""

    def loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        views = torch.cat([to_pixels(images), *self.mixtures(images, 2)])
        return agreement(model(views), labels)

    def view(self, images: Tensor) -> Tensor:
        """One mixture of each image."""
        return self.mixtures(images, 1)[0]


@dataclass
class AugMix(MixingMethod):
    """An image and two mixtures of operations on it have to get one prediction.

    CE(p(x), y) + 12 · JSD of p(x) and the predictions on two mixtures of x.
    A mixture is (1 − m) · x + m · Σ wᵢ chainᵢ(x), with m uniform on 0..1, w uniform on the simplex
    (Beta and Dirichlet of α = 1), and chains of one to three operations, each at a level uniform
    between 0.1 and `severity`, which is 3 for CIFAR and 1 for ImageNet. None of the nine
    operations is a corruption of -C; four resemble one of NOC, three one of -P."""

    severity: float = 3.0
    seen = SEEN_OPERATIONS

    def __post_init__(self) -> None:
        check_severity(self.severity)

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        self.operate = operate
        if can_record(draw.device, draw.ranks):  # some sixty small kernels become a few
            self.operate = torch.compile(operate, dynamic=False)

    def mixtures(self, images: Tensor, views: int) -> Tensor:
        count, draw = len(images), self.draw
        shape = (views, CHAINS, count)
        depths = draw.integers(DEEPEST, *shape).flatten() + 1
        chains = images.expand(views, CHAINS, -1, -1, -1, -1).flatten(0, 2)
        change = self.operate if count == self.batch else operate
        for step in range(DEEPEST):
            operations = draw.integers(len(OPERATIONS), *shape).flatten()
            operations = torch.where(step < depths, operations, NOTHING)
            levels = draw_levels(draw, self.severity, *shape).flatten()
            signs = draw_signs(draw, *shape).flatten()
            chains = change(chains, operations, levels, signs)
        return mix_chains(draw, to_pixels(images), to_pixels(chains).unflatten(0, shape))


def check_severity(severity: float) -> None:
    if not LOWEST_LEVEL < severity < float("inf"):
        raise InputError(f"expected severity above {LOWEST_LEVEL}, got {severity}")


def mix_chains(draw: Draw, pixels: Tensor, chains: Tensor) -> Tensor:
    """(1 − m) · x + m · Σ wᵢ chainᵢ, of chains (views, chains, N, 3, H, W)."""
    views, _, count = shape = chains.shape[:3]
    # Exponential draws over their sum are uniform on the simplex.
    parts = -torch.log1p(-draw.uniform(*shape)) + torch.finfo(torch.float32).tiny
    weights = (parts / parts.sum(1, keepdim=True))[..., None, None, None]
    mixed = (weights * chains).sum(1)
    return torch.lerp(pixels[None], mixed, draw.uniform(views, count, 1, 1, 1))


def agreement(logits: Tensor, labels: Tensor) -> Tensor:
    """The loss of three views, one after the other, of which the first shows the images."""
    clean, first, second = logits.float().chunk(3)
    return functional.cross_entropy(clean, labels) + JSD_WEIGHT * jsd(clean, first, second)


def jsd(*logits: Tensor) -> Tensor:
    """Mean over views and images of KL(pᵢ ‖ M), where M is the views' mean, at least 1e-7."""
    shares = [functional.softmax(view, 1) for view in logits]
    middle = torch.stack(shares).mean(0).clamp(1e-7, 1).log()
    # By the logarithms of softmax: a share may be 0, of which there is none.
    logs = [functional.log_softmax(view, 1) - middle for view in logits]
    parts = [(share * log).sum(1).mean() for share, log in zip(shares, logs, strict=True)]
    return torch.stack(parts).mean()
