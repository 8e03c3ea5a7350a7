"""What a run trains with, beside its method and data, and how the learning rate falls."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hardy.engine.keys import check_seed
from hardy.errors import InputError
from hardy.registry import unknown

SCHEDULES = ("cosine", "step")
PRECISIONS = ("float32", "bfloat16")
LOWEST_LR = 1e-6
MOST = 1_000_000  # epochs, or images in a batch
LARGEST = (2 - 2.0**-23) * 2.0**127  # in float32, as weights and their steps are


@dataclass(frozen=True)
class Recipe:
    """The defaults are AugMix's for CIFAR and WRN-40-2. The learning rate falls along a cosine, in
    each step, or to a tenth after each third of the epochs."""

    net: str = "wrn_40_2"
    antialias: int = 1
    blur_after_conv: bool = False
    epochs: int = 100
    batch: int = 128
    lr: float = 0.1
    schedule: str = "cosine"
    momentum: float = 0.9
    weight_decay: float = 5e-4
    precision: str = "float32"
    deterministic: bool = False
    seed: int = 0

    def __post_init__(self) -> None:
        check_seed(self.seed)
        for name in ("epochs", "batch"):
            if not 1 <= getattr(self, name) <= MOST:
                raise InputError(f"expected {name} from 1 to {MOST:,}, got {getattr(self, name)}")
        if not self.lr > 0:  # also no number
            raise InputError(f"expected a learning rate above 0, got {self.lr}")
        if not 0 < self.momentum < 1:  # Nesterov's needs some
            raise InputError(f"expected a momentum between 0 and 1, got {self.momentum}")
        if not self.weight_decay >= 0:
            raise InputError(f"expected a weight decay of at least 0, got {self.weight_decay}")
        for name, figure in (("learning rate", self.lr), ("weight decay", self.weight_decay)):
            if figure > LARGEST:
                raise InputError(
                    f"expected a {name} of at most {LARGEST:.2g}, float32's largest, got {figure:g}"
                )
        for kind, value, known in (
            ("schedule", self.schedule, SCHEDULES),
            ("precision", self.precision, PRECISIONS),
        ):
            if value not in known:
                raise unknown(kind, value, known)


def learning_rate(recipe: Recipe, step: int, steps: int) -> float:
    """In step 0, 1, ... of so many in all."""
    if recipe.schedule == "cosine":
        low = min(LOWEST_LR, recipe.lr)
        return low + (recipe.lr - low) * (1 + math.cos(math.pi * step / steps)) / 2
    return recipe.lr * 0.1 ** (3 * step // steps)
