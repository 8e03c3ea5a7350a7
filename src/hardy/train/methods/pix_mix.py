"""PixMix (Hendrycks et al., 2022): images mixed with pictures of intricate structure."""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import HardyError, InputError
from hardy.train.cuda_graphs import can_record
from hardy.train.fractals import cached_fractals, digest_of
from hardy.train.method import Batches, Draw, Method, need_positive, to_pixels
from hardy.train.methods.augmix import check_severity
from hardy.train.methods.augmix_operations import draw_levels, draw_signs, operate_or_enhance
from hardy.train.methods.image_operations import (
    ENHANCEMENTS,
    OPERATIONS,
    SEEN_ENHANCEMENTS,
    SEEN_OPERATIONS,
)

ROUNDS = 4
_DARKEST = 1e-37  # what is raised to a negative power


@dataclass
class PixMix(Method):
    """Each image is mixed with fractals and with versions of itself, up to four times.

    It begins as the image x₀, or as an operation on it; then, 0 to 4 times, it becomes the mixture
    of itself and y, a fractal or an operation on x₀. Either is as likely in each choice. A mixture
    is a sum, (a (2 x − 1) + b (2 y − 1) + 1) / 2, or a product, (2 x)ᵃ (2 y)ᵇ / 2, clipped;
    a ~ Beta(β, 1) and b ~ Beta(1, β), or a = 1 + Beta(1, β) and b = −Beta(1, β), with β = `beta`.
    The operations are AugMix's nine and its four of colour, at `severity`. The defaults are those
    for CIFAR; for ImageNet they are 4 and 1.

    The fractals are Hardy's own, as many as `fractals`, made once and kept in the user's cache; the
    authors add visualisations of features to theirs. Operations include brightness and contrast."""

    beta: float = 3.0
    severity: float = 3.0
    fractals: int = 2000
    seen = (*SEEN_OPERATIONS, *SEEN_ENHANCEMENTS)

    def __post_init__(self) -> None:
        need_positive("beta", self.beta)
        check_severity(self.severity)
        if self.fractals < 1:
            raise InputError(f"expected at least 1 fractal, got {self.fractals}")

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        # As 36 pixels are to 32, so that a crop may lie anywhere.
        self.side = -(-max(shape[1:]) * 9 // 8)
        self.pictures: Tensor | None = None
        self.digest = torch.zeros(32, dtype=torch.uint8)
        self.operate, self.mix = operate_or_enhance, mix_rounds
        if can_record(draw.device, draw.ranks):
            self.operate = torch.compile(operate_or_enhance, dynamic=False)
            self.mix = torch.compile(mix_rounds, dynamic=False)

    def begin_epoch(self, epoch: int, model: nn.Module, batches: Batches) -> None:
        self._find_pictures()

    def restore_epoch(self, epoch: int, state: Mapping[str, Tensor]) -> None:
        self._find_pictures()

    def _find_pictures(self) -> None:
        if self.pictures is not None:
            return
        made = cached_fractals(self.fractals, self.side, self.track)
        digest = digest_of(made)
        if bool(self.digest.any()) and not torch.equal(self.digest, digest):
            raise HardyError(
                "the fractals of this machine are not those that the run was begun with, whose "
                "last bits another kind of processor made; go on where it was begun, or train anew "
                "in another folder"
            )
        self.digest, self.pictures = digest, made.to(self.draw.device)

    def state(self) -> dict[str, Tensor]:
        return {"fractals": self.digest}

    def restore(self, state: Mapping[str, Tensor]) -> None:
        self.digest = state["fractals"].cpu()

    def loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(model(self.view(images)), labels)

    def view(self, images: Tensor) -> Tensor:
        count, draw = len(images), self.draw
        shape = (1 + ROUNDS, count)
        numbers = draw.integers(len(OPERATIONS) + len(ENHANCEMENTS), *shape).flatten()
        levels = draw_levels(draw, self.severity, *shape).flatten()
        signs, many = draw_signs(draw, *shape).flatten(), images.repeat(1 + ROUNDS, 1, 1, 1)
        whole = count == self.batch
        operate_all = self.operate if whole else operate_or_enhance
        versions = to_pixels(operate_all(many, numbers, levels, signs)).unflatten(0, shape)
        others = to_pixels(self.crops(ROUNDS * count, *images.shape[2:]).unflatten(0, (ROUNDS, -1)))
        coins = draw.integers(2, *shape, 1, 1, 1) == 1
        pixels = torch.where(coins[0], versions[0], to_pixels(images))
        partners = torch.where(coins[1:], versions[1:], others)
        rounds = draw.integers(1 + ROUNDS, count)
        powers = self.powers(ROUNDS, count)
        adds = draw.integers(2, ROUNDS, count, 1, 1, 1) == 1
        return (self.mix if whole else mix_rounds)(pixels, partners, rounds, *powers, adds)

    def crops(self, count: int, height: int, width: int) -> Tensor:
        """uint8 (N, 3, H, W), of any fractals, anywhere."""
        if self.pictures is None:
            raise HardyError("the fractals are made when an epoch begins")
        draw, device = self.draw, self.draw.device
        numbers = draw.integers(len(self.pictures), count)[:, None, None]
        rows = draw.integers(self.side - height + 1, count, 1) + torch.arange(height, device=device)
        columns = draw.integers(self.side - width + 1, count, 1) + torch.arange(
            width, device=device
        )
        found = self.pictures[numbers, :, rows[:, :, None], columns[:, None, :]]
        return found.permute(0, 3, 1, 2)

    def powers(self, *shape: int) -> tuple[Tensor, Tensor]:
        """a and b, (..., 1, 1, 1)."""
        drawn = self.draw.uniform(2, *shape, 1, 1, 1) ** (1 / self.beta)  # Beta(β, 1)
        alike = self.draw.integers(2, *shape, 1, 1, 1) == 1
        first = torch.where(alike, drawn[0], 2 - drawn[0])
        second = torch.where(alike, 1 - drawn[1], drawn[1] - 1)
        return first, second


def mix_rounds(
    pixels: Tensor, partners: Tensor, rounds: Tensor, first: Tensor, second: Tensor, adds: Tensor
) -> Tensor:
    """Pixels (N, 3, H, W) mixed with as many of their partners, (rounds, N, 3, H, W), as `rounds`
    says for each."""
    for number, (partner, a, b, add) in enumerate(zip(partners, first, second, adds, strict=True)):
        total = (a * (2 * pixels - 1) + b * (2 * partner - 1) + 1) / 2
        product = (2 * pixels) ** a * (2 * partner.clamp(min=_DARKEST)) ** b / 2
        mixed = torch.where(add, total, product).clamp(0, 1)
        pixels = torch.where((number < rounds)[:, None, None, None], mixed, pixels)
    return pixels
