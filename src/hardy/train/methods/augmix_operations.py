"""AugMix's operations and the levels it gives them."""

from torch import Tensor

from hardy.train.method import Draw
from hardy.train.methods.image_operations import Amounts, change, enhance

LOWEST_LEVEL = 0.1


def operate(images: Tensor, operations: Tensor, levels: Tensor, signs: Tensor) -> Tensor:
    """uint8 (N, 3, H, W) to the same: one of `OPERATIONS` by number, or `NOTHING`, for each image;
    its level; and the sign, ±1, of rotations, shears and translations."""
    return change(images, operations, amounts_at(levels, signs, *images.shape[2:]))


def operate_or_enhance(images: Tensor, operations: Tensor, levels: Tensor, signs: Tensor) -> Tensor:
    """The same, of `OPERATIONS` and `ENHANCEMENTS`; these by the factor 0.1 + 0.18 ℓ."""
    changed = operate(images, operations, levels, signs)
    return enhance(changed, operations, 0.1 + 0.18 * levels)


def draw_levels(draw: Draw, highest: float, *shape: int) -> Tensor:
    return LOWEST_LEVEL + (highest - LOWEST_LEVEL) * draw.uniform(*shape)


def draw_signs(draw: Draw, *shape: int) -> Tensor:
    return 1 - 2 * draw.integers(2, *shape)


def amounts_at(levels: Tensor, signs: Tensor, height: int, width: int) -> Amounts:
    """Posterising keeps the highest 4 − ⌊0.4 ℓ⌋ bits, solarising inverts from 256 − ⌊25.6 ℓ⌋ on.
    Rotations are by ⌊3 ℓ⌋ degrees, shears by 0.03 ℓ, translations by ⌊ℓ · side / 30⌋ pixels."""
    wide, signed = levels.double(), signs.double()
    return Amounts(
        dropped=4 + (levels * 4 / 10).long(),
        threshold=256 - (levels * 256 / 10).long(),
        degrees=signed * (wide * 30 / 10).floor(),
        shear=signed * (wide * 0.3 / 10),
        move=(
            signed * (wide * (width / 3) / 10).floor(),
            signed * (wide * (height / 3) / 10).floor(),
        ),
    )
