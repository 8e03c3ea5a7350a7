"""The nine operations of AugMix work on bytes, for a batch on any device, each image with its own.

They give what Pillow gives, to one level. Four are tables of 256 levels for each channel, five are
affine maps: so a batch takes one look-up and one bilinear gather, whatever its operations are, and
the host never waits to sort the images by operation.
"""

import torch
from torch import Tensor

OPERATIONS = (
    *("autocontrast", "equalize", "posterize", "solarize"),
    *("rotate", "shear_x", "shear_y", "translate_x", "translate_y"),
)
NOTHING = -1
_NUMBER = {name: number for number, name in enumerate(OPERATIONS)}


def operate(images: Tensor, operations: Tensor, levels: Tensor, signs: Tensor) -> Tensor:
    """uint8 (N, 3, H, W) to the same: one of `OPERATIONS` by number, or `NOTHING`, for each image;
    its level; and the sign, ±1, of rotations, shears and translations."""
    height, width = images.shape[2:]
    looked_up = tables(images, operations, levels).gather(2, images.flatten(2).long())
    matrices = _affine_matrices(operations, levels, signs, height, width)
    return affine(looked_up.view_as(images), matrices)


def tables(images: Tensor, operations: Tensor, levels: Tensor) -> Tensor:
    """uint8 (N, 3, 256): what each level becomes."""
    same = torch.arange(256, device=images.device).expand(len(images), 3, 256)
    # Posterising keeps the highest 4 − ⌊0.4 ℓ⌋ bits, solarising inverts from 256 − ⌊25.6 ℓ⌋ on.
    dropped = 4 + (levels * 4 / 10).long()[:, None, None]
    threshold = 256 - (levels * 256 / 10).long()[:, None, None]
    made = (
        _autocontrast(images, same),
        _equalize(images, same),
        (same >> dropped) << dropped,
        torch.where(same < threshold, same, 255 - same),
    )
    chosen = same
    for number, table in enumerate(made):
        chosen = torch.where((operations == number)[:, None, None], table, chosen)
    return chosen.to(torch.uint8)


def _autocontrast(images: Tensor, same: Tensor) -> Tensor:
    """The darkest level goes to 0, the brightest to 255; in float64 and truncated, as Pillow's."""
    flat = images.flatten(2)
    low, high = (edge[..., None].double() for edge in (flat.amin(2), flat.amax(2)))
    # A number over a tensor would be the number times the reciprocal, which is not Pillow's.
    scale = torch.full_like(high, 255.0) / (high - low).clamp(min=1)
    stretched = (same * scale - low * scale).clamp(0, 255).long()
    return torch.where(high > low, stretched, same)


def _equalize(images: Tensor, same: Tensor) -> Tensor:
    """Level i goes to ⌊(step/2 + pixels below i) / step⌋, where 255 steps hold all pixels but those
    of the brightest level."""
    levels = images.flatten(2).long()
    counts = torch.zeros_like(same).scatter_add_(2, levels, torch.ones_like(levels))
    brightest = counts.gather(2, levels.amax(2, keepdim=True))
    step = (counts.sum(2, keepdim=True) - brightest) // 255
    below = counts.cumsum(2) - counts
    equal = ((step // 2 + below) // step.clamp(min=1)).clamp(max=255)
    return torch.where(step > 0, equal, same)


def _affine_matrices(
    operations: Tensor, levels: Tensor, signs: Tensor, height: int, width: int
) -> Tensor:
    """float64 (N, 2, 3): a pixel (x, y) comes from M · (x, y, 1). Rotations are by ⌊3 ℓ⌋ degrees
    about the centre, shears by 0.03 ℓ, translations by ⌊ℓ · side / 30⌋ pixels."""
    levels, signs = levels.double(), signs.double()

    def amount(name: str, figure: Tensor) -> Tensor:
        return torch.where(operations == _NUMBER[name], signs * figure, 0.0)

    angle = torch.deg2rad(amount("rotate", (levels * 30 / 10).floor()))
    cosine, sine = angle.cos(), angle.sin()
    shear_x, shear_y = (amount(name, levels * 0.3 / 10) for name in ("shear_x", "shear_y"))
    move_x, move_y = (
        amount(name, (levels * (side / 3) / 10).floor())
        for name, side in (("translate_x", width), ("translate_y", height))
    )
    x, y = width / 2, height / 2
    across = (cosine + 0.0, shear_x - sine, move_x + x - cosine * x + sine * y)
    down = (shear_y + sine, cosine + 0.0, move_y + y - sine * x - cosine * y)
    return torch.stack([torch.stack(across, 1), torch.stack(down, 1)], 1)


def affine(images: Tensor, matrices: Tensor) -> Tensor:
    """Bilinear between pixel centres, the edge pixel repeated within half a pixel, black outside,
    truncated. Coordinates are float64: one of them decides between a pixel and black."""
    count, channels, height, width = images.shape
    xs = torch.arange(width, device=images.device, dtype=torch.float64) + 0.5
    ys = torch.arange(height, device=images.device, dtype=torch.float64) + 0.5
    terms = matrices[:, :, :, None, None]
    from_x, from_y = (
        terms[:, row, 0] * xs + terms[:, row, 1] * ys[:, None] + terms[:, row, 2] for row in (0, 1)
    )
    inside = (from_x >= 0) & (from_x < width) & (from_y >= 0) & (from_y < height)
    left, top = (from_x - 0.5).floor(), (from_y - 0.5).floor()
    right_share = (from_x - 0.5 - left).float().flatten(1)[:, None]
    lower_share = (from_y - 0.5 - top).float().flatten(1)[:, None]
    flat = images.flatten(2)

    def pixel(x: Tensor, y: Tensor) -> Tensor:
        place = y.clamp(0, height - 1).long() * width + x.clamp(0, width - 1).long()
        return flat.gather(2, place.flatten(1)[:, None].expand(-1, channels, -1)).float()

    upper = torch.lerp(pixel(left, top), pixel(left + 1, top), right_share)
    lower = torch.lerp(pixel(left, top + 1), pixel(left + 1, top + 1), right_share)
    mixed = torch.lerp(upper, lower, lower_share) * inside.flatten(1)[:, None]
    return mixed.to(torch.uint8).view(count, channels, height, width)
