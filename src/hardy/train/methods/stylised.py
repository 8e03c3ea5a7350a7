"""Stylised images in a batch, as in ANT+SIN (Rusak et al., 2020)."""

from __future__ import annotations

import torch
from torch import Tensor

from hardy.errors import InputError
from hardy.train.method import Method, to_pixels
from hardy.train.training_data import Data, crop_and_flip

SHARE = 15 / 70


class TakesStylised(Method):
    """A method whose batches may end with stylised images."""

    stylised: Data | None = None

    def with_stylised(self, pixels: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The last 15 of 70 images and labels of an assembled batch are replaced, if there are
        stylised ones, by any of those, cropped and flipped like the others."""
        if self.stylised is None:
            return pixels, labels
        kept = len(labels) - round(len(labels) * SHARE)
        rows = self.draw.integers(len(self.stylised.images), len(labels) - kept)
        drawn = crop_and_flip(self.stylised.images[rows], self.draw)
        return (
            torch.cat([pixels[:kept], to_pixels(drawn)]),
            torch.cat([labels[:kept], self.stylised.labels[rows]]),
        )


def need_taker(method: Method) -> TakesStylised:
    if isinstance(method, TakesStylised):
        return method
    raise InputError(
        f"expected a method that takes stylised images, ant or ant3x3, got {type(method).__name__}"
    )


def give_stylised(method: Method, stylised: Data, data: Data, device: torch.device) -> None:
    """To a method that trains on `data`."""
    taker = need_taker(method)
    for what, wanted, came in (
        ("classes", data.classes, stylised.classes),
        ("shape", data.shape, stylised.shape),
        ("input", data.input, stylised.input),
    ):
        if wanted != came:
            raise InputError(
                f"expected stylised images of the {what} of the others, {wanted}, got {came}"
            )
    _check_names(stylised.names, data.names)
    if stylised.images.device.type != device.type:
        raise InputError(
            f"expected stylised images that fit on the {device.type} device beside the others, got "
            f"{stylised.images.nbytes / 1e9:.1f} GB; bring fewer, or smaller ones"
        )
    taker.stylised = stylised


def _check_names(came: tuple[str, ...] | None, wanted: tuple[str, ...] | None) -> None:
    """Where both have names: labels are numbers, and those of other classes would fit as well."""
    for number, (its, ours) in enumerate(zip(came or (), wanted or (), strict=False)):
        if its != ours:
            raise InputError(
                "expected stylised images of the classes of the others, by the same names and in "
                f"their order: label {number} is {ours!r}, got {its!r}; name the classes alike, or "
                "bring an array with the numbers of the others as labels"
            )
