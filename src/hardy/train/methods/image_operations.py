"""Operations of Pillow on bytes, for a batch on any device, each image with its own.

They give what Pillow gives, to one level. Some are tables of 256 levels for each channel, some are
affine maps, and some move an image towards a duller one: so a batch takes one look-up, one bilinear
gather and one blend, whatever its operations are, and the host never waits to sort the images by
operation.
"""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional

OPERATIONS = (
    *("autocontrast", "equalize", "posterize", "solarize"),
    *("rotate", "shear_x", "shear_y", "translate_x", "translate_y"),
)
ENHANCEMENTS = ("color", "contrast", "brightness", "sharpness")
NOTHING = -1
NUMBER = {name: number for number, name in enumerate(OPERATIONS + ENHANCEMENTS)}
# What their images show, even if weaker, of the benchmarks' corruptions.
SEEN_OPERATIONS: tuple[str, ...] = (
    *("noc_rotation", "noc_shear", "noc_translation", "noc_quantization"),
    *("rotate", "shear", "translate"),
)
SEEN_ENHANCEMENTS: tuple[str, ...] = (
    *("brightness", "contrast", "saturate", "gaussian_blur"),
    *("noc_brightness", "noc_contrast", "noc_gray_scale", "noc_blur"),
)


class Amounts(NamedTuple):
    """How much of it, for each image: what its operation does not need is not read."""

    dropped: Tensor  # lowest bits that posterising takes, int64
    threshold: Tensor  # level from which on solarising inverts, int64
    degrees: Tensor  # float64, as are the others
    shear: Tensor
    move: tuple[Tensor, Tensor]  # pixels, across and down


def change(images: Tensor, operations: Tensor, amounts: Amounts) -> Tensor:
    """uint8 (N, 3, H, W) to the same: one of `OPERATIONS` by number, or `NOTHING`, for each."""
    looked_up = _tables(images, operations, amounts).gather(2, images.flatten(2).long())
    matrices = _affine_matrices(operations, amounts, *images.shape[2:])
    return _affine(looked_up.view_as(images), matrices)


def enhance(images: Tensor, operations: Tensor, factors: Tensor) -> Tensor:
    """uint8 (N, 3, H, W) to the same: dull + factor · (image − dull), truncated, where the
    operation is one of `ENHANCEMENTS`. Dull is the grey image for color, its mean for contrast,
    black for brightness, and a smoothed image for sharpness."""
    whole = images.int()
    red, green, blue = whole.unbind(1)
    grey = ((19595 * red + 38470 * green + 7471 * blue + 32768) >> 16)[:, None]
    mean = (grey.double().mean((1, 2, 3), keepdim=True) + 0.5).floor().int()
    dull = (grey, mean, torch.zeros_like(mean), _smoothed(whole))
    chosen = whole
    for name, one in zip(ENHANCEMENTS, dull, strict=True):
        chosen = torch.where((operations == NUMBER[name])[:, None, None, None], one, chosen)
    factor = factors.float()[:, None, None, None]
    return (chosen + factor * (whole - chosen)).clamp(0, 255).to(torch.uint8)


def _smoothed(whole: Tensor) -> Tensor:
    """The mean over 3 x 3 pixels, of which the middle weighs 5; edges stay."""
    height, width = whole.shape[2:]
    padded = functional.pad(whole, (1, 1, 1, 1))
    rows = padded[:, :, :-2] + padded[:, :, 1:-1] + padded[:, :, 2:]
    total = rows[..., :-2] + rows[..., 1:-1] + rows[..., 2:] + 4 * whole
    inner = torch.zeros(height, width, dtype=torch.bool, device=whole.device)
    inner[1:-1, 1:-1] = True
    return torch.where(inner, (total / 13 + 0.5).int(), whole)


def _tables(images: Tensor, operations: Tensor, amounts: Amounts) -> Tensor:
    """uint8 (N, 3, 256): what each level becomes."""
    same = torch.arange(256, device=images.device).expand(len(images), 3, 256)
    dropped, threshold = amounts.dropped[:, None, None], amounts.threshold[:, None, None]
    made = {
        "autocontrast": _autocontrast(images, same),
        "equalize": _equalize(images, same),
        "posterize": (same >> dropped) << dropped,
        "solarize": torch.where(same < threshold, same, 255 - same),
    }
    chosen = same
    for name, table in made.items():
        chosen = torch.where((operations == NUMBER[name])[:, None, None], table, chosen)
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


def _affine_matrices(operations: Tensor, amounts: Amounts, height: int, width: int) -> Tensor:
    """float64 (N, 2, 3): a pixel (x, y) comes from M · (x, y, 1), turned about the
    centre."""

    def amount(name: str, figure: Tensor) -> Tensor:
        return torch.where(operations == NUMBER[name], figure, 0.0)

    angle = torch.deg2rad(amount("rotate", amounts.degrees))
    cosine, sine = angle.cos(), angle.sin()
    shear_x, shear_y = (amount(name, amounts.shear) for name in ("shear_x", "shear_y"))
    move_x, move_y = (
        amount(name, pixels)
        for name, pixels in zip(("translate_x", "translate_y"), amounts.move, strict=True)
    )
    x, y = width / 2, height / 2
    across = (cosine + 0.0, shear_x - sine, move_x + x - cosine * x + sine * y)
    down = (shear_y + sine, cosine + 0.0, move_y + y - sine * x - cosine * y)
    return torch.stack([torch.stack(across, 1), torch.stack(down, 1)], 1)


def _affine(images: Tensor, matrices: Tensor) -> Tensor:
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
