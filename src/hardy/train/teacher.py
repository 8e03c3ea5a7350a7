"""Knowledge distillation (Hinton et al., 2015) as in Assemble-ResNet (Lee et al., 2020): the net
learns from a teacher's answers beside the labels.

    loss = CE(net, y) + w · T² · CE(net / T, softmax(teacher / T)),   T = 1, w = 1

At T = 1 the teacher's shares are a target like any other, so that the sum is one cross-entropy, of
the target y + w · softmax(teacher). Every method takes such targets, mixes them where it mixes
images, and leaves those of other images alone.

The teacher is asked in each step, and sees the images as they are cropped and flipped, before
AutoAugment and mixup, by which its answers are then mixed too. (Assemble-ResNet's was asked once,
for images without any of this.)
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from hardy.errors import InputError
from hardy.models import load_model
from hardy.models.model import Model, facts_of
from hardy.train.training_data import TrainingSet


class Teacher:
    """A model whose answers count `weight` times as much as the labels."""

    def __init__(self, model: Model, weight: float = 1.0) -> None:
        if not 0 < weight < float("inf"):
            raise InputError(f"expected `teacher_weight` above 0, got {weight}")
        self.model, self.weight = model, weight
        self._facts = facts_of(model)

    @property
    def seen(self) -> tuple[str, ...]:
        """Corruptions that its answers may tell of, as far as is known."""
        return self._facts.seen_corruptions or ()

    def record(self) -> dict[str, Any]:
        """What `run.json` says of it."""
        return {"model": self.model.name, "sha256": self.model.identity, "weight": self.weight}

    def check_fits(self, data: TrainingSet, device: torch.device) -> None:
        """Refuse a teacher of other classes than those of the training images."""
        blank = torch.zeros(1, *data.shape, dtype=torch.uint8, device=device)
        outputs = self.answers(blank).shape[1]
        if outputs != data.classes:
            raise InputError(
                f"expected a `teacher` of the {data.classes} classes of the images, got "
                f"{self.model.name}, which tells {outputs} apart; fine-tune one on these images"
            )
        its = self._facts.class_names
        if its is not None and data.names is not None and tuple(its) != tuple(data.names):
            number = next(n for n in range(outputs) if its[n] != data.names[n])
            raise InputError(
                f"expected a `teacher` of the classes of the images, in their order: class "
                f"{number} is {data.names[number]!r}, got {its[number]!r} of {self.model.name}"
            )

    def answers(self, images: Tensor) -> Tensor:
        """Shares of the classes, times the weight, float32 (N, classes), for images uint8
        (N, 3, H, W)."""
        shown: Any = images.permute(0, 2, 3, 1).contiguous()
        if self._facts.takes_tensors:
            logits = self.model.logits(shown)
        else:
            logits = self.model.logits(shown.cpu().numpy())
        return self.weight * torch.as_tensor(logits).to(images.device).float().softmax(1)


def load_teacher(name: str, weight: float, device: torch.device, precision: str) -> Teacher:
    """A teacher by the name of a model, such as "hardy:DIR" or "zoo:resnet50"."""
    return Teacher(load_model(name, device=str(device), precision=precision), weight)
