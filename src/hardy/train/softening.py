"""A batch before the method sees it: augmented and mixed images, softened targets; its parts."""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from hardy.train.autoaugment import AutoAugment
from hardy.train.hyperparameters import Hyperparameters
from hardy.train.method import Draw, as_shares
from hardy.train.teacher import Teacher


class Softening:
    """What options make of each batch: AutoAugment, a teacher's answers, label smoothing, mixup."""

    def __init__(
        self, hyper: Hyperparameters, classes: int, draw: Draw, teacher: Teacher | None
    ) -> None:
        self.hyper, self.classes, self.draw, self.teacher = hyper, classes, draw, teacher
        policy = hyper.autoaugment
        self._augment = None if policy is None else AutoAugment(policy, draw, hyper.batch)

    @property
    def seen(self) -> tuple[str, ...]:
        """The corruptions that AutoAugment shows, or that a teacher's answers may tell of."""
        shown = () if self._augment is None else self._augment.seen
        return (*shown, *(() if self.teacher is None else self.teacher.seen))

    def record(self) -> dict[str, Any]:
        """What `run.json` says beside the recipe."""
        return {} if self.teacher is None else {"teacher": self.teacher.record()}

    def __call__(self, images: Tensor, labels: Tensor, step: int) -> tuple[Tensor, Tensor]:
        """The batch of step 0, 1, ... as the method gets it."""
        hyper = self.hyper
        taught = None if self.teacher is None else self.teacher.answers(images)
        if self._augment is not None:
            images = self._augment(images)
        if not (hyper.label_smoothing or hyper.mixup) and taught is None:
            return images, labels
        shares = as_shares(labels, self.classes, hyper.label_smoothing)
        if taught is not None:
            shares = shares + taught
        if not hyper.mixup:
            return images, shares
        if hyper.mixup_each:
            return mix_neighbours(images, shares, self.draw.betas(hyper.mixup, step, len(images)))
        return mix_neighbours(images, shares, self.draw.beta(hyper.mixup, step))


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
