"""Noise in a square patch of each image: Gaussian (Lopes et al., 2019), or uniform (after Hendrycks
et al., 2020)."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from torch import Tensor

from hardy.errors import InputError
from hardy.train.method import Method, need_positive, to_pixels


def patches(rows: Tensor, columns: Tensor, size: int | Tensor, height: int, width: int) -> Tensor:
    """Masks (N, 1, H, W) of squares from centre − ⌊size/2⌋ up to, not with, centre + ⌈size/2⌉; what
    sticks out of the image is cut off. The size is one for all, or (N, 1)."""
    before = size // 2

    def along(centres: Tensor, length: int) -> Tensor:
        offset = torch.arange(length, device=centres.device) - centres[:, None]
        return (offset >= -before) & (offset < size - before)

    return (along(rows, height)[:, :, None] & along(columns, width)[:, None, :])[:, None]


class Patch(Method, ABC):
    size: int

    def sizes(self, count: int) -> int | Tensor:
        """The sides of the patches."""
        return self.size

    @abstractmethod
    def noise(self, shape: torch.Size) -> Tensor:
        """Noise for whole images; what lies in the patch is used."""

    def view(self, images: Tensor) -> Tensor:
        """Bytes to pixels in 0..1."""
        return self.augment(to_pixels(images))

    def augment(self, pixels: Tensor) -> Tensor:
        count, _, height, width = pixels.shape
        rows, columns = self.draw.integers(height, count), self.draw.integers(width, count)
        mask = patches(rows, columns, self.sizes(count), height, width)
        return torch.where(mask, (pixels + self.noise(pixels.shape)).clamp(0, 1), pixels)


def _check(size: int, largest: float, what: str) -> None:
    if size < 1:
        raise InputError(f"expected a patch size of at least 1 pixel, got {size}")
    need_positive(what, largest)


@dataclass
class PatchGaussian(Patch):
    """Gaussian noise in a square patch of each image, its centre anywhere.

    x + N(0, σ²) in a patch of side `size`, σ uniform up to `sigma`. Of ImageNet sides differ:
    whole numbers from `smallest` to `size`; if that is 0, all have `size`. The defaults are those
    for CIFAR-10."""

    size: int = 25
    sigma: float = 1.0
    smallest: int = 0
    seen = ("gaussian_noise", "noc_gaussian")

    def __post_init__(self) -> None:
        _check(self.size, self.sigma, "sigma")
        if not 0 <= self.smallest <= self.size:
            raise InputError(
                f"expected the smallest patch from 0 to the size of {self.size}, got "
                f"{self.smallest}"
            )

    def sizes(self, count: int) -> int | Tensor:
        if not self.smallest:
            return self.size
        return self.smallest + self.draw.integers(self.size + 1 - self.smallest, count, 1)

    def noise(self, shape: torch.Size) -> Tensor:
        return self.sigma * self.draw.uniform(shape[0], 1, 1, 1) * self.draw.normal(*shape)


@dataclass
class PatchUniform(Patch):
    """Uniform noise in a square patch of each image, its centre anywhere.

    x + noise uniform in ±u in a patch of side `size`, u uniform up to `amplitude`.
    Uniform, because Gaussian noise is itself tested. Size and amplitude of the original are not
    published: we take the other's size, and √3, which gives the same largest variance."""

    size: int = 25
    amplitude: float = 3**0.5

    def __post_init__(self) -> None:
        _check(self.size, self.amplitude, "amplitude")

    def noise(self, shape: torch.Size) -> Tensor:
        largest = self.amplitude * self.draw.uniform(shape[0], 1, 1, 1)
        return largest * (2 * self.draw.uniform(*shape) - 1)
