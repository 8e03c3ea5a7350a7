"""AutoAugment (Cubuk et al., 2019): learned policies, as an option of any method.

A policy has 25 pairs of operations. Each image passes one of them, drawn uniformly: each of its two
operations with its own probability, at its own level ℓ. Images are bytes, cropped and flipped,
before they are mixed and before the method sees them.

| at level ℓ       | "cifar", as its authors' code | "imagenet", as in Assemble-ResNet |
|------------------|-------------------------------|-----------------------------------|
| rotate           | ± ⌊3 ℓ⌋ degrees               | ± 3 ℓ degrees                     |
| shear            | ± 0.03 ℓ                      | ± 0.03 ℓ                          |
| translate        | ± ⌊ℓ · side / 30⌋ pixels      | in no pair                        |
| posterize        | 4 − ⌊0.4 ℓ⌋ bits are kept     | ⌊0.4 ℓ⌋ bits are kept             |
| solarize         | from 256 − ⌊25.6 ℓ⌋ on        | from ⌊25.6 ℓ⌋ on                  |
| colour, contrast, brightness, sharpness | 0.1 + 0.18 ℓ times | the same              |

Decided here: contrast moves away from the mean grey, as in Pillow, where Assemble-ResNet's code
takes a grey that hangs on the image's size; what moves is interpolated between pixels.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from hardy.train.cuda_graphs import can_record
from hardy.train.method import Draw
from hardy.train.methods.augmix_operations import amounts_at, draw_signs
from hardy.train.methods.image_operations import (
    NOTHING,
    NUMBER,
    SEEN_ENHANCEMENTS,
    SEEN_OPERATIONS,
    Amounts,
    change,
    enhance,
)

_NAMES = {
    "A": "autocontrast",
    "B": "brightness",
    "C": "color",
    "E": "equalize",
    "H": "sharpness",
    "I": "invert",
    "K": "contrast",
    "P": "posterize",
    "R": "rotate",
    "S": "solarize",
    "U": "translate_x",
    "V": "translate_y",
    "X": "shear_x",
    "Y": "shear_y",
}
# Pairs: an operation, its probability in tenths, its level.
_CIFAR = """
I1,7 K2,6  R7,2 U3,9  H8,1 H9,3  Y5,8 V7,9  A5,8 E9,2  Y2,7 P3,7  C4,3 B6,7  H3,9 B7,9  E6,5 E5,1
K6,7 H6,5  C7,7 U5,8  E3,7 A4,8  V4,3 H2,6  B9,6 C2,8  S5,2 I0,3  E2,0 A6,0  E2,8 E6,4  C9,9 E6,6
A8,4 S2,8  B1,3 C7,0  S4,5 A9,3  V9,9 V7,9  A9,2 S8,3  E8,8 I1,3  V7,9 A9,1
"""
_IMAGENET = """
P4,8 R6,9  S6,5 A6,5  E8,8 E6,3  P6,7 P6,6  E4,7 S2,4  E4,4 R8,8  S6,3 E6,7  P8,5 E10,2  R2,3 S6,8
E6,8 P4,6  R8,8 C4,0  R4,9 E6,2  E0,7 E8,8  I6,4 E10,8  C6,4 K10,8  R8,8 C10,2  C8,8 S8,7
H4,7 I6,8  X6,5 E10,9  C4,0 E6,3  E4,7 S2,4  S6,5 A6,5  I6,4 E10,8  C6,4 K10,8  E8,8 E6,3
"""
_TABLES = {"cifar": _CIFAR, "imagenet": _IMAGENET}
# Of the benchmarks' corruptions, those that a policy's operations show. ImageNet's has neither
# translations nor brightness, and only sharpens.
_NOT_OF_IMAGENET = (
    *("noc_translation", "translate", "brightness", "noc_brightness"),
    *("gaussian_blur", "noc_blur"),
)
_EVERY = (*SEEN_OPERATIONS, *SEEN_ENHANCEMENTS)
SEEN = {"cifar": _EVERY, "imagenet": tuple(one for one in _EVERY if one not in _NOT_OF_IMAGENET)}


class Step(NamedTuple):
    """One operation of a pair."""

    operation: str
    probability: float
    level: int


def policy(name: str) -> list[tuple[Step, Step]]:
    """The 25 pairs."""
    steps = []
    for word in _TABLES[name].split():
        tenths, level = word[1:].split(",")
        steps.append(Step(_NAMES[word[0]], int(tenths) / 10, int(level)))
    return list(zip(steps[::2], steps[1::2], strict=True))


class AutoAugment:
    """A policy, with the random numbers of a run."""

    def __init__(self, name: str, draw: Draw, batch: int) -> None:
        self.name, self.draw, self.batch, self.seen = name, draw, batch, SEEN[name]
        pairs = policy(name)

        def table(kind: int) -> Tensor:
            return torch.tensor([[step[kind] for step in pair] for pair in pairs]).to(draw.device)

        numbers = [[_number(step.operation) for step in pair] for pair in pairs]
        self.operations = torch.tensor(numbers).to(draw.device)
        self.inverts = torch.tensor(
            [[step.operation == "invert" for step in pair] for pair in pairs]
        ).to(draw.device)
        self.chances, self.levels = table(1), table(2)
        self._operate = operate_at
        if can_record(draw.device, draw.ranks):  # many small kernels become a few
            self._operate = torch.compile(operate_at, dynamic=False)

    def __call__(self, images: Tensor) -> Tensor:
        """uint8 (N, 3, H, W) to the same, each by its own pair."""
        count = len(images)
        chosen = self.draw.integers(len(self.chances), count)
        operate = self._operate if count == self.batch else operate_at
        for place in (0, 1):
            acts = self.draw.uniform(count) < self.chances[chosen, place]
            images = operate(
                images,
                torch.where(acts, self.operations[chosen, place], NOTHING),
                self.levels[chosen, place],
                draw_signs(self.draw, count),
                self.inverts[chosen, place],
                self.name == "imagenet",
            )
        return images


def operate_at(
    images: Tensor,
    operations: Tensor,
    levels: Tensor,
    signs: Tensor,
    inverts: Tensor,
    of_imagenet: bool,
) -> Tensor:
    """uint8 (N, 3, H, W) to the same, by numbers of operations and whole levels."""
    dropped, threshold, *others = amounts_at(levels.double(), signs, *images.shape[2:])
    if of_imagenet:
        dropped, threshold = 8 - (levels * 4) // 10, (levels * 256) // 10
    # To invert is to solarise from black on.
    amounts = Amounts(dropped, torch.where(inverts, 0, threshold), *others)
    return enhance(change(images, operations, amounts), operations, 0.1 + 0.18 * levels)


def _number(operation: str) -> int:
    return NUMBER["solarize" if operation == "invert" else operation]
