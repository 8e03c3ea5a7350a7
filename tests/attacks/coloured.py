"""A model of ten classes by colour, images it is right about, and the run an attack leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch

from hardy.models import load_model
from hardy.store.reader import find_runs

QUICK: dict[str, Any] = {"suite": "cifar10_c", "steps": 2, "store": "runs"}


class ByColour(torch.nn.Module):
    """Ten classes by the mean colours."""

    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(3, 10)
        with torch.no_grad():
            draws = torch.Generator().manual_seed(0)
            self.head.weight.copy_(torch.randn(10, 3, generator=draws))
            self.head.bias.zero_()

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        return self.head(pixels.mean((2, 3)))


def coloured(count: int, seed: int) -> np.ndarray:
    """Each of a colour of its own, with some grain."""
    draws = np.random.default_rng(seed)
    colours = draws.integers(30, 220, (count, 1, 1, 3))
    return (colours + draws.integers(0, 30, (count, 32, 32, 3))).astype(np.uint8)


IMAGES = coloured(40, seed=2)
LABELS = load_model(ByColour()).logits(IMAGES).argmax(1)  # all are right


def made() -> torch.nn.Module:
    return ByColour()


def stored(store: str = "runs"):
    (run,) = find_runs(Path(store))
    return run
