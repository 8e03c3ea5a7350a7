"""A batch before the method sees it: softened targets, mixed images; and its parts."""

from collections.abc import Iterator

import torch
from torch import Tensor

from hardy.train.hyperparameters import Hyperparameters
from hardy.train.method import Draw, as_shares


def softened(
    images: Tensor, labels: Tensor, classes: int, hyper: Hyperparameters, draw: Draw, step: int
) -> tuple[Tensor, Tensor]:
    """The batch of a step by label smoothing and mixup, if they are asked for."""
    if not (hyper.label_smoothing or hyper.mixup):
        return images, labels
    shares = as_shares(labels, classes, hyper.label_smoothing)
    if not hyper.mixup:
        return images, shares
    if hyper.mixup_each:
        return mix_neighbours(images, shares, draw.betas(hyper.mixup, step, len(images)))
    return mix_neighbours(images, shares, draw.beta(hyper.mixup, step))


def mix_neighbours(images: Tensor, shares: Tensor, part: float | Tensor) -> tuple[Tensor, Tensor]:
    """`part` of each image and of its shares of the classes, and for the rest those of the next one
    in the batch, whose order is random (mixup: Zhang et al., 2018). Bytes are rounded.

    With a part t for each image, the loss is mean(t · CE(y)) + mean((1 − t) · CE(y of the other)).
    """
    of_image = part.view(-1, 1, 1, 1) if isinstance(part, Tensor) else part
    of_share = part.view(-1, 1) if isinstance(part, Tensor) else part
    others = images.roll(1, 0)
    mixed = torch.lerp(others.float(), images.float(), of_image).round().to(images.dtype)
    return mixed, torch.lerp(shares.roll(1, 0), shares, of_share)


def batch_parts(images: Tensor, labels: Tensor, count: int) -> Iterator[tuple[Tensor, Tensor]]:
    """A batch in so many parts, of which none is empty."""
    pairs = zip(images.tensor_split(count), labels.tensor_split(count), strict=True)
    return ((some, theirs) for some, theirs in pairs if len(some))
