"""No augmentation, and the noise baselines of the ANT paper (Rusak et al., 2020).

In the baselines the second half of each batch is noisy: x + noise in 0..1, clipped.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import Tensor

from hardy.train.method import Method, need_positive


@dataclass
class Standard(Method):
    """Crop and flip only."""


class HalfNoisy(Method, ABC):
    @abstractmethod
    def noisy(self, pixels: Tensor) -> Tensor:
        """The images of the second half, not yet clipped."""

    def augment(self, pixels: Tensor) -> Tensor:
        half = len(pixels) // 2
        changed = pixels.clone()
        changed[half:] = self.noisy(pixels[half:]).clamp(0, 1)
        return changed


@dataclass
class GaussSingle(HalfNoisy):
    """Gaussian noise of one σ on half of each batch.

    x + N(0, σ²) with σ = `sigma`; 0.5 was the best for ImageNet at 224 px."""

    sigma: float = 0.5
    seen = ("gaussian_noise", "noc_gaussian")

    def __post_init__(self) -> None:
        need_positive("sigma", self.sigma)

    def noisy(self, pixels: Tensor) -> Tensor:
        return pixels + self.sigma * self.draw.normal(*pixels.shape)


@dataclass
class GaussMult(HalfNoisy):
    """Gaussian noise on half of each batch, σ from the severities of ImageNet-C.

    x + N(0, σ²), σ drawn for each image from `sigmas`."""

    sigmas: tuple[float, ...] = (0.08, 0.12, 0.18, 0.26, 0.38)
    seen = ("gaussian_noise", "noc_gaussian")

    def __post_init__(self) -> None:
        need_positive("sigmas", *self.sigmas)

    def noisy(self, pixels: Tensor) -> Tensor:
        sigma = self.draw.one_of(self.sigmas, len(pixels), 1, 1, 1)
        return pixels + sigma * self.draw.normal(*pixels.shape)


@dataclass
class Speckle(HalfNoisy):
    """Speckle noise on half of each batch, σ from the severities of ImageNet-C.

    x + x · N(0, σ²), σ drawn for each image from `sigmas`."""

    sigmas: tuple[float, ...] = (0.15, 0.2, 0.35, 0.45, 0.6)
    seen = ("speckle_noise",)

    def __post_init__(self) -> None:
        need_positive("sigmas", *self.sigmas)

    def noisy(self, pixels: Tensor) -> Tensor:
        sigma = self.draw.one_of(self.sigmas, len(pixels), 1, 1, 1)
        return pixels + pixels * sigma * self.draw.normal(*pixels.shape)
