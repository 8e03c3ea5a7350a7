"""Images mixed by frequencies: APR (Chen et al., 2021) and HybridAugment++ (Yucel et al., 2023)."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.errors import InputError
from hardy.registry import unknown
from hardy.train.cuda_graphs import can_record
from hardy.train.method import Draw, Method, need_positive, to_pixels
from hardy.train.methods.augmix import check_severity
from hardy.train.methods.augmix_operations import draw_levels, draw_signs, operate
from hardy.train.methods.image_operations import OPERATIONS, SEEN_OPERATIONS

_VARIANTS = ("P", "S", "PS")
_PAIRED_SHARE = 0.6
_COLOUR, _DOWN, _ACROSS = 1, 2, 3


class Spectral(Method, ABC):
    """S mixes an image with itself under other operations, P with another of the batch; the loss of
    P and PS is CE(f(x)) + CE(f(P(x))), where x is the image, or S of it."""

    variant: str
    severity: float
    seen: tuple[str, ...] = SEEN_OPERATIONS

    def __post_init__(self) -> None:
        if self.variant not in _VARIANTS:
            raise unknown("variant", self.variant, _VARIANTS)
        check_severity(self.severity)
        self.seen = SEEN_OPERATIONS if "S" in self.variant else ()

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        self.operate = operate
        if can_record(draw.device, draw.ranks):
            self.operate = torch.compile(operate, dynamic=False)

    def loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        pixels = self.view(images) if "S" in self.variant else to_pixels(images)
        if "P" not in self.variant:
            return functional.cross_entropy(model(pixels), labels)
        logits = model(torch.cat([pixels, self.paired(pixels)]))
        return 2 * functional.cross_entropy(logits, torch.cat([labels, labels]))

    @abstractmethod
    def view(self, images: Tensor) -> Tensor:
        """S: bytes to pixels in 0..1."""

    @abstractmethod
    def paired(self, pixels: Tensor) -> Tensor:
        """P: pixels to pixels in 0..1."""

    def operated(self, images: Tensor) -> Tensor:
        """Each image under one of AugMix's operations."""
        count = len(images)
        operations = self.draw.integers(len(OPERATIONS), count)
        levels = draw_levels(self.draw, self.severity, count)
        operate_all = self.operate if count == self.batch else operate
        return operate_all(images, operations, levels, draw_signs(self.draw, count))

    def chance(self, share: float, count: int) -> Tensor:
        return self.draw.uniform(count, 1, 1, 1) < share

    def shuffled(self, pixels: Tensor) -> Tensor:
        return pixels[self.draw.uniform(len(pixels)).argsort()]

    def either_way(self, one: Tensor, other: Tensor) -> tuple[Tensor, Tensor]:
        turned = self.chance(0.5, len(one))
        return torch.where(turned, other, one), torch.where(turned, one, other)

    def recombined_single(self, images: Tensor) -> Tensor:
        """An operation; on every other image, amplitudes of that and phases of another one, or the
        reverse."""
        one, other = to_pixels(self.operated(images)), to_pixels(self.operated(images))
        mixed = recombined(*self.either_way(one, other)).clamp(0, 1)
        return torch.where(self.chance(0.5, len(images)), mixed, one)


@dataclass
class AmplitudePhase(Spectral):
    """Images keep their phases and get the amplitudes of others: APR.

    P: Re F⁻¹(|F x'| · exp(i ∠F x)), with x' another image of the batch and F the Fourier transform
    over channels, rows and columns, for `share` of the images; the label is that of x.
    S: one of AugMix's nine operations at `severity`; for every other image the amplitudes or the
    phases are those of the image under another operation. `variant` is P, S or PS.

    Decided here: whether P changes an image is drawn for each; S follows the crop."""

    variant: str = "PS"
    severity: float = 3.0
    share: float = _PAIRED_SHARE

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_share(self.share)

    def view(self, images: Tensor) -> Tensor:
        return self.recombined_single(images)

    def paired(self, pixels: Tensor) -> Tensor:
        mixed = recombined(self.shuffled(pixels), pixels).clamp(0, 1)
        return torch.where(self.chance(self.share, len(pixels)), mixed, pixels)


@dataclass
class HybridAugment(Spectral):
    """Images keep their low frequencies and get the high ones of others: HybridAugment++.

    LF is a Gaussian blur (3 x 3, σ = `sigma`), HF(x) = x − LF(x).
    P: LF(x) + HF(x') for `share` of the images, x' another of the batch; LF(x) first keeps its
    phases and gets the amplitudes of a third image's LF, again for `share`.
    S: one of AugMix's nine operations at `severity`; for every other image a second version of it,
    under another operation, gives the HF to the first or the first to the second; the LF passes
    APR's S before. `variant` is P, S or PS.

    Decided here: whether P changes an image is drawn for each, where the original draws once for a
    batch; S follows the crop, where the original has it before; sums are clipped; blurs mirror the
    edges."""

    variant: str = "PS"
    severity: float = 3.0
    sigma: float = 0.5
    share: float = _PAIRED_SHARE

    def __post_init__(self) -> None:
        super().__post_init__()
        need_positive("sigma", self.sigma)
        _check_share(self.share)

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        if min(shape[1:]) < 2:
            raise InputError(
                "hybrid_augment: expected images of at least 2 pixels per side, which its blur "
                f"mirrors, got {shape[1]} x {shape[2]}; enlarge them, or train by another method"
            )

    def view(self, images: Tensor) -> Tensor:
        one = self.operated(images)
        low, high = self.either_way(one, self.operated(images))
        blurred = (255 * self.low(to_pixels(low))).to(torch.uint8)
        sharp = to_pixels(high)
        mixed = (self.recombined_single(blurred) + sharp - self.low(sharp)).clamp(0, 1)
        return torch.where(self.chance(0.5, len(images)), mixed, to_pixels(one))

    def paired(self, pixels: Tensor) -> Tensor:
        count, low = len(pixels), self.low(pixels)
        high = self.shuffled(pixels - low)
        other = recombined(self.shuffled(low), low)
        mixed = torch.where(self.chance(self.share, count), other, low) + high
        return torch.where(self.chance(self.share, count), mixed.clamp(0, 1), pixels)

    def low(self, pixels: Tensor) -> Tensor:
        """The frequencies that a Gaussian blur leaves."""
        side = math.exp(-0.5 / self.sigma**2)
        return _blurred(pixels, side / (1 + 2 * side))


def _blurred(pixels: Tensor, side: float) -> Tensor:
    """Pixels blurred by three taps each way, of which those beside the middle weigh `side`."""
    padded = functional.pad(pixels, (1, 1, 1, 1), mode="reflect")
    middle = 1 - 2 * side
    rows = side * (padded[:, :, :-2] + padded[:, :, 2:]) + middle * padded[:, :, 1:-1]
    return side * (rows[..., :-2] + rows[..., 2:]) + middle * rows[..., 1:-1]


def recombined(amplitudes: Tensor, phases: Tensor) -> Tensor:
    """Images with the amplitudes of the first and the phases of the second."""
    over = (_COLOUR, _DOWN, _ACROSS)
    shape = phases.shape[1:]
    strength = torch.fft.rfftn(amplitudes, dim=over).abs()
    angle = torch.fft.rfftn(phases, dim=over).angle()
    return torch.fft.irfftn(torch.polar(strength, angle), s=shape, dim=over)


def _check_share(share: float) -> None:
    if not 0 <= share <= 1:
        raise InputError(f"expected a share from 0 to 1, got {share}")
