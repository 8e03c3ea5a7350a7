"""What tests of runs are made with: few cells, and a model that counts."""

from __future__ import annotations

from typing import Any

from hardy.models import load_model as load_model
from hardy.scores.scoring import Run

FEW: dict[str, Any] = {"suite": "cifar10_c", "only": ["contrast", "brightness"]}


class Counting:
    """A model that counts the images it is shown."""

    preprocessing = None
    device = "cpu"
    precision = "float32"

    def __init__(self, name: str = "fake:10") -> None:
        self._model = load_model(name)
        self.name, self.identity = self._model.name, self._model.identity
        self.seen = 0

    def logits(self, images, preprocessing=None):
        self.seen += len(images)
        return self._model.logits(images)


def one(found: Run | list[Run]) -> Run:
    assert isinstance(found, Run)
    return found
