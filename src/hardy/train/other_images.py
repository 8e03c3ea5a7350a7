"""Images beside the training images: stylised ones in a part of each batch, as in ANT+SIN (Rusak et
al., 2020), and validation images."""

from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from hardy.errors import InputError
from hardy.images import open_images
from hardy.images.datasets import DATA_SETS
from hardy.train.method import Method, as_shares, to_pixels
from hardy.train.training_data import Data, TrainingSet, crop_and_flip

_STYLISED_SHARE = 15 / 70  # of a batch


class TakesStylised(Method):
    """A method whose batches may end with stylised images."""

    stylised: Data | None = None

    def with_stylised(self, pixels: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        """The last 15 of 70 images and labels of an assembled batch are replaced, if there are
        stylised ones, by any of those, cropped and flipped like the others."""
        if self.stylised is None:
            return pixels, labels
        kept = len(labels) - round(len(labels) * _STYLISED_SHARE)
        rows = self.draw.integers(len(self.stylised.images), len(labels) - kept)
        drawn = crop_and_flip(self.stylised.images[rows], self.draw)
        theirs = self.stylised.labels[rows]
        if labels.ndim > 1:
            theirs = as_shares(theirs, labels.shape[1])
        return torch.cat([pixels[:kept], to_pixels(drawn)]), torch.cat([labels[:kept], theirs])


def check_stylised(method: Method, where: str | Path | None) -> None:
    """Refuse stylised images that the method does not take, or that come without labels: the
    training images' `labels` are not theirs."""
    if where is None:
        return
    need_taker(method)
    check_labelled(where, "stylised")


def check_labelled(where: str | Path, kind: str) -> None:
    """Refuse images beside the training images that come without labels."""
    if where not in DATA_SETS and open_images(where).labels is None:
        raise InputError(
            f"{where}: expected {kind} images with their labels, got none; put them into one "
            "folder per class, or labels beside images in the .npz"
        )


def need_taker(method: Method) -> TakesStylised:
    if isinstance(method, TakesStylised):
        return method
    raise InputError(
        f"expected a method that takes stylised images, such as ant, got {type(method).__name__}"
    )


def give_stylised(method: Method, stylised: Data, data: TrainingSet, device: torch.device) -> None:
    """Hand stylised images to a method that trains on `data`, if they are of its kind."""
    taker = need_taker(method)
    _check_alike(stylised, data, "stylised")
    if stylised.images.device.type != device.type:
        raise InputError(
            f"expected stylised images that fit on the {device.type} device beside the others, got "
            f"{stylised.images.nbytes / 1e9:.1f} GB; bring fewer, or smaller ones"
        )
    taker.stylised = stylised


def _check_alike(others: TrainingSet, data: TrainingSet, kind: str) -> None:
    """Refuse images beside the training images that are not of their kind."""
    for what in ("classes", "shape", "input"):
        wanted, came = getattr(data, what), getattr(others, what)
        if wanted != came:
            raise InputError(
                f"expected {kind} images of the {what} of the others, {wanted}, got {came}"
            )
    # Classes of other names, whose numbers would fit as well.
    for number, (its, ours) in enumerate(zip(others.names or (), data.names or (), strict=False)):
        if its != ours:
            raise InputError(
                f"expected {kind} images of the classes of the others, by the same names and in "
                f"their order: label {number} is {ours!r}, got {its!r}; name the classes alike, or "
                "bring an array with the numbers of the others as labels"
            )


def held_out(validation: TrainingSet, data: TrainingSet) -> TrainingSet:
    """Validation images, if they are of the kind of the training images. Of an array the highest
    label tells the classes, and a few images may lack it."""
    if validation.names is None and validation.classes < data.classes:
        validation = replace(validation, classes=data.classes)
    _check_alike(validation, data, "validation")
    return validation
