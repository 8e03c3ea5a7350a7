"""TrivialAugment (Müller and Hutter, 2021)."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from hardy.train.cuda_graphs import can_record
from hardy.train.method import Draw, Method, to_pixels
from hardy.train.methods.augmix_operations import draw_signs
from hardy.train.methods.image_operations import (
    ENHANCEMENTS,
    NOTHING,
    OPERATIONS,
    SEEN_ENHANCEMENTS,
    SEEN_OPERATIONS,
    Amounts,
    change,
    enhance,
)

LEVELS = 31
_STEEPEST, _FARTHEST, _WIDEST, _STRONGEST = 0.99, 32.0, 135.0, 0.99
_BITS, _FEWEST_BITS = 8, 2


@dataclass
class TrivialAugment(Method):
    """Each image passes one of 14 operations at one of 31 levels.

    Both are drawn uniformly, from the wide space: nothing, autocontrast, equalize, posterize to 8
    to 2 bits, solarize from level 255 to 0, rotate up to 135 degrees, shear up to 0.99, translate
    up to 32 pixels, and colour, contrast, brightness and sharpness times 1 ± up to 0.99.

    Decided here: what moves is interpolated between pixels, where the original takes the nearest.
    """

    seen = (*SEEN_OPERATIONS, *SEEN_ENHANCEMENTS)

    def begin(self, draw: Draw, shape: tuple[int, ...]) -> None:
        super().begin(draw, shape)
        self.apply = apply_levels
        if can_record(draw.device, draw.ranks):
            self.apply = torch.compile(apply_levels, dynamic=False)

    def loss(self, model: nn.Module, images: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(model(self.view(images)), labels)

    def view(self, images: Tensor) -> Tensor:
        count = len(images)
        operations = self.draw.integers(1 + len(OPERATIONS) + len(ENHANCEMENTS), count) + NOTHING
        levels, signs = self.draw.integers(LEVELS, count), draw_signs(self.draw, count)
        apply_all = self.apply if count == self.batch else apply_levels
        return to_pixels(apply_all(images, operations, levels, signs))


def apply_levels(images: Tensor, operations: Tensor, levels: Tensor, signs: Tensor) -> Tensor:
    """uint8 (N, 3, H, W) to the same, by numbers of operations and levels from 0 to 30."""
    share = levels.double() / (LEVELS - 1)
    signed = signs * share
    pixels = (signed * _FARTHEST).trunc()
    amounts = Amounts(
        dropped=(share * (_BITS - _FEWEST_BITS)).round().long(),
        threshold=(255 * (1 - share)).ceil().long(),
        degrees=signed * _WIDEST,
        shear=signed * _STEEPEST,
        move=(pixels, pixels),
    )
    return enhance(change(images, operations, amounts), operations, 1 + signed * _STRONGEST)
