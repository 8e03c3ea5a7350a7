"""PRIME (Modas et al., 2022): mixtures of random filters, colour curves and smooth warps."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from hardy.errors import InputError
from hardy.train.cuda_graphs import can_record
from hardy.train.method import Draw, need_positive, to_pixels
from hardy.train.methods.augmix import CHAINS, DEEPEST, MixingMethod, mix_chains

FILTER, COLOUR, WARP = range(3)
_POINTS = 40  # of a curve for each half wave of its highest frequency: 0.08 % off between two
_LOWEST_CUTOFF = 3
_SEEN: tuple[str, ...] = ("elastic_transform", "noc_elastic")


@dataclass
class Prime(MixingMethod):
    """An image and two mixtures of filters, colour curves and warps of it have to get one
    prediction.

    AugMix's mixtures and loss, of chains of one to three of three primitives, each clipped to 0..1:

    - a filter of 3 x 3 taps for all channels, δ + σ · N(0, 1), σ uniform up to `sigma`, zeros
      around;
    - for each channel v + √T · Σ c sin(π k v), c normal, k from 1 to a K uniform up to `waves`, T
      uniform up to `temperature`;
    - a pixel from x + u, for u across and down √T · n · Σ c sin(π i x) sin(π j y) / √(i² + j²) over
      i² + j² < (q + ½)², c normal; q = 2 + ⌊(q' − 1) · Beta(½, ½)⌋ with q' uniform from 3 to
      `cutoff`; T between 1 / (π n² ln q) and, where that is more, 4 / (π³ q² ln q), at a place that
      is Beta(½, ½). Bilinear, coordinates clamped.

    With `warp` 0 the third is left out. The defaults are those for CIFAR. Decided here: σ, T, K, q
    and the fields are drawn for each image, where the original draws once for a batch; δ is the
    middle tap, where its code has a corner; n is the longer side. The warps resemble one corruption
    of -C and one of NOC."""

    sigma: float = 4.0
    waves: int = 100
    temperature: float = 0.01
    cutoff: int = 100
    warp: int = 1
    seen = _SEEN

    def __post_init__(self) -> None:
        if self.warp not in (0, 1):
            raise InputError(f"expected warp as 1, or 0 for no warps, got {self.warp}")
        self.seen = _SEEN if self.warp else ()
        need_positive("sigma", self.sigma)
        need_positive("temperature", self.temperature)
        if self.waves < 1:
            raise InputError(f"expected waves of at least 1, got {self.waves}")
        if self.cutoff < _LOWEST_CUTOFF:
            raise InputError(f"expected cutoff of at least {_LOWEST_CUTOFF}, got {self.cutoff}")

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        self.distort = distort
        if can_record(draw.device, draw.ranks):
            self.distort = torch.compile(distort, dynamic=False)
        whole = torch.arange(1, self.waves + 1, device=draw.device, dtype=torch.float32)
        levels = torch.linspace(0, 1, _POINTS * self.waves + 1, device=draw.device)
        self._waves = torch.sin(math.pi * whole[:, None] * levels)
        whole = torch.arange(1, self.cutoff + 1, device=draw.device, dtype=torch.float32)
        self._squares = whole[:, None] ** 2 + whole**2
        self._down, self._across = (
            torch.sin(math.pi * whole[:, None] * torch.linspace(0, 1, side, device=draw.device))
            for side in shape[1:]
        )

    def mixtures(self, images: Tensor, views: int) -> Tensor:
        with torch.autocast(images.device.type, enabled=False):  # half a precision is too coarse
            return self._mixtures(images, views)

    def _mixtures(self, images: Tensor, views: int) -> Tensor:
        count, pixels = len(images), to_pixels(images)
        shape = (views, CHAINS, count)
        depths = self.draw.integers(DEEPEST, *shape).flatten() + 1
        chains = pixels.expand(*shape[:2], -1, -1, -1, -1).flatten(0, 2)
        change = self.distort if count == self.batch else distort
        for step in range(DEEPEST):
            kinds = self.draw.integers(2 + self.warp, *shape).flatten()
            kinds = torch.where(step < depths, kinds, -1)
            filters, curves = self.filters(len(kinds)), self.curves(len(kinds))
            warps = self.warps(len(kinds)) if self.warp else None
            chains = change(chains, kinds, filters, curves, warps)
        return mix_chains(self.draw, pixels, chains.unflatten(0, shape))

    def filters(self, count: int) -> Tensor:
        """(N, 3, 3)."""
        middle = (torch.arange(9, device=self.draw.device) == 4).view(3, 3)
        sigma = self.sigma * self.draw.uniform(count, 1, 1)
        return middle + sigma * self.draw.normal(count, 3, 3)

    def curves(self, count: int) -> Tensor:
        """(N, 3, points): what is added to a level."""
        highest = 1 + self.draw.integers(self.waves, count, 1, 1)
        strength = (self.temperature * self.draw.uniform(count, 1, 1)).sqrt()
        weights = strength * self.draw.normal(count, 3, self.waves)
        kept = torch.arange(1, self.waves + 1, device=self.draw.device) <= highest
        return torch.matmul(weights * kept, self._waves)

    def warps(self, count: int) -> Tensor:
        """(N, 2, H, W): how far away a pixel comes from, across and down, in pixels."""
        longer = max(self._down.shape[1], self._across.shape[1])
        cutoff, temperature = self.draw_warp(count, longer)
        kept = self._squares < (cutoff + 0.5)[:, None, None, None] ** 2
        drawn = self.draw.normal(count, 2, self.cutoff, self.cutoff)
        weights = torch.where(kept, drawn * self._squares.rsqrt(), 0.0)
        field = self._down.mT @ weights @ self._across
        return temperature.sqrt()[:, None, None, None] * longer * field

    def draw_warp(self, count: int, side: int) -> tuple[Tensor, Tensor]:
        """q and T for each image."""
        highest = _LOWEST_CUTOFF + self.draw.integers(self.cutoff - _LOWEST_CUTOFF + 1, count)
        cutoff = 2 + ((highest - 1) * self.arcsine(count)).floor()
        log = cutoff.log()
        least = 1 / (math.pi * side**2 * log)
        most = 4 / (math.pi**3 * cutoff**2 * log)
        return cutoff, torch.lerp(least, torch.maximum(least, most), self.arcsine(count))

    def arcsine(self, count: int) -> Tensor:
        """Beta(½, ½), by the inverse of its distribution function."""
        return torch.sin(math.pi / 2 * self.draw.uniform(count)) ** 2


def distort(
    pixels: Tensor, kinds: Tensor, kernels: Tensor, curves: Tensor, warps: Tensor | None
) -> Tensor:
    """Each image by its kind: `FILTER`, `COLOUR`, `WARP` where there are any, or none of them."""
    kinds = kinds[:, None, None, None]
    changed = torch.where(kinds == COLOUR, coloured(pixels, curves), pixels)
    if warps is not None:
        changed = torch.where(kinds == WARP, warped(pixels, warps), changed)
    return torch.where(kinds == FILTER, filtered(pixels, kernels), changed)


def filtered(pixels: Tensor, kernels: Tensor) -> Tensor:
    height, width = pixels.shape[2:]
    padded, total = functional.pad(pixels, (1, 1, 1, 1)), torch.zeros_like(pixels)
    for down in range(3):
        for across in range(3):
            tap = kernels[:, down, across, None, None, None]
            total = total + tap * padded[:, :, down : down + height, across : across + width]
    return total.clamp(0, 1)


def coloured(pixels: Tensor, curves: Tensor) -> Tensor:
    flat = pixels.flatten(2)
    place = flat * (curves.shape[2] - 1)
    below = place.long().clamp(max=curves.shape[2] - 2)
    added = torch.lerp(curves.gather(2, below), curves.gather(2, below + 1), place - below)
    return (flat + added).clamp(0, 1).view_as(pixels)


def warped(pixels: Tensor, warps: Tensor) -> Tensor:
    height, width = pixels.shape[2:]
    across = torch.arange(width, device=pixels.device) + warps[:, 0]
    down = torch.arange(height, device=pixels.device)[:, None] + warps[:, 1]
    # From pixels to -1..1, between the middles of the outermost ones.
    places = (2 * across / max(width - 1, 1) - 1, 2 * down / max(height - 1, 1) - 1)
    grid = torch.stack(places, 3)
    return functional.grid_sample(pixels, grid, padding_mode="border", align_corners=True)
