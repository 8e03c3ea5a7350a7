"""Bilinear sampling in the torch engine: zooms, affine and perspective maps, displacement fields.

Places are float64, images float32 and mixed as a + t (b - a), which keeps flat areas exact; warps
of sequences mix in float64. See cpu.warps and cpu.frames.
"""

from collections.abc import Sequence

import torch
from torch import Tensor

from hardy.engine.ops import Window
from hardy.engine.tables import filter_weights as tables
from hardy.engine.torch.constants import constant
from hardy.engine.torch.filters import quotient, to_bytes


def _zoomed(side: int, factor: float, device: torch.device) -> tuple[int, Tensor, Tensor]:
    """One axis of a clipped zoom: the crop's start; first taps from there; second weights."""
    plan = tables.clipped_zoom(side, factor)
    return plan.top, constant(plan.first, device), constant(plan.weight, device)


def _mixed(a: Tensor, b: Tensor, t: Tensor) -> Tensor:
    """a + t (b - a), each step rounded."""
    return (b - a).mul_(t).add_(a)


def zoom_mean(images: Tensor, factors: Sequence[float]) -> Tensor:
    """Summed in float32 in list order; the first zoom, the image itself, counts twice."""
    unit = quotient(images.float(), 255.0)
    total = unit.clone()
    for factor in factors[1:]:
        (top, row, u), (left, column, t) = (
            _zoomed(side, factor, images.device) for side in images.shape[1:3]
        )
        row, column = row + top, column + left
        t, u = t.float()[:, None], u.float()[:, None, None]
        rows = _mixed(unit.index_select(1, row), unit.index_select(1, row + 1), u)
        total += _mixed(rows.index_select(2, column), rows.index_select(2, column + 1), t)
    return to_bytes(quotient(total.add_(unit), len(factors) + 1))


def zoom(fields: Tensor, factor: float, size: tuple[int, int]) -> Tensor:
    """Products and sums are taken in SciPy's order."""
    if factor == 1:
        return fields
    (_, row, below), (_, column, right) = (_zoomed(side, factor, fields.device) for side in size)
    below = below[:, None]
    above, left = 1.0 - below, 1.0 - right
    top, bottom = fields.index_select(1, row) * above, fields.index_select(1, row + 1) * below
    total = top.index_select(2, column) * left
    total += top.index_select(2, column + 1) * right
    total += bottom.index_select(2, column) * left
    total += bottom.index_select(2, column + 1) * right
    return total


def _taps(place: Tensor, side: int, first: float) -> tuple[Tensor, Tensor, Tensor]:
    """Indices of both pixels about a coordinate (N, H, W) of one axis, and the fraction.

    Outside, an index is reflected: with first = 0 about the edge pixel's centre (reflect-101),
    with first = -1 about its outer edge. A row of which any place reaches beyond one reflection is
    shifted by whole periods, all of it: that rounds the others' fractions too.
    """
    last = 2.0 * side - 2.0 - first
    period = 2.0 * (side - 1 - first)
    before = place.floor()
    far = ((before < -side) | (before >= last)).any(-1, keepdim=True)
    shifted = place - quotient(before - first, period).floor_().mul_(period)
    place = torch.where(far, shifted, place)
    before = place.floor()
    fraction = (place - before).float()

    def folded(index: Tensor) -> Tensor:
        index = torch.maximum(index, first - index)
        # Clamped once more: a coordinate that is no number must not read outside the image.
        return torch.minimum(index, last - index).long().clamp_(0, side - 1)

    return folded(before), folded(before + 1.0), fraction


def _sampled(images: Tensor, down: Tensor, along: Tensor, first: float) -> Tensor:
    """Bilinear samples of float32 images at places (N, H, W), as float32."""
    n, height, width, _ = images.shape
    top, bottom, u = _taps(down, height, first)
    left, right, t = _taps(along, width, first)
    t, u = t[..., None], u[..., None]
    image = torch.arange(n, device=images.device)[:, None, None]
    upper = _mixed(images[image, top, left], images[image, top, right], t)
    lower = _mixed(images[image, bottom, left], images[image, bottom, right], t)
    return _mixed(upper, lower, u)


def elastic(images: Tensor, inverses: Tensor, down: Tensor, along: Tensor) -> Tensor:
    """Both steps are exact bilinear and stored as float32."""
    y, x = _grid(0.0, 0.0, images.shape[1], images.shape[2], images.device)
    m = inverses[:, :, :, None, None]
    at_x = (m[:, 0, 0] * x + m[:, 0, 1] * y) + m[:, 0, 2]
    at_y = (m[:, 1, 0] * x + m[:, 1, 1] * y) + m[:, 1, 2]
    warped = _sampled(quotient(images.float(), 255.0), at_y, at_x, 0.0)
    return to_bytes(_sampled(warped, y + down.double(), x + along.double(), -1.0))


def _grid(
    top: float, left: float, height: int, width: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Rows (H, 1) and columns (W) from (top, left) on, in float64."""
    y = torch.arange(height, dtype=torch.float64, device=device)[:, None]
    x = torch.arange(width, dtype=torch.float64, device=device)
    return y + top, x + left


def canvas(images: Tensor) -> Tensor:
    """The images with a ring of black: what lies outside is just another pixel."""
    n, height, width, channels = images.shape
    out = images.new_zeros((n, height + 2, width + 2, channels))
    out[:, 1:-1, 1:-1] = images
    return out


def _mixed_from(
    canvas: Tensor,
    rows: tuple[Tensor, Tensor],
    columns: tuple[Tensor, Tensor],
    t: Tensor,
    u: Tensor,
) -> Tensor:
    """Bilinear samples of a canvas in float64; places (H, W) are the same for all images."""
    pixels, stride = canvas.flatten(1, 2), canvas.shape[2]

    def pixel(row: Tensor, column: Tensor) -> Tensor:
        place = (row * stride + column).long()
        picked = pixels.index_select(1, place.flatten())
        return picked.unflatten(1, place.shape).double()

    (top, bottom), (left, right) = rows, columns
    upper = _mixed(pixel(top, left), pixel(top, right), t[..., None])
    lower = _mixed(pixel(bottom, left), pixel(bottom, right), t[..., None])
    return _mixed(upper, lower, u[..., None])


def affine(canvas: Tensor, inverse: Sequence[float], window: Window) -> Tensor:
    top, left, height, width = window
    tall, wide = canvas.shape[1] - 2, canvas.shape[2] - 2
    a, b, c, d, e, f = inverse
    y, x = _grid(top + 0.5, left + 0.5, height, width, canvas.device)
    sx, sy = (x * a + y * b) + c, (x * d + y * e) + f
    inside = (sx >= 0.0) & (sx < wide) & (sy >= 0.0) & (sy < tall)
    sx, sy = sx - 0.5, sy - 0.5
    fx, fy = sx.floor(), sy.floor()

    def placed(index: Tensor, side: int) -> Tensor:
        """The index in the canvas, whose first pixel is the black corner."""
        return torch.where(inside, index.clamp(0, side - 1) + 1, 0.0)

    rows = placed(fy, tall), placed(fy + 1, tall)
    columns = placed(fx, wide), placed(fx + 1, wide)
    return _mixed_from(canvas, rows, columns, sx - fx, sy - fy).to(torch.uint8)


def perspective(canvas: Tensor, inverse: Sequence[float], window: Window) -> Tensor:
    top, left, height, width = window
    tall, wide = canvas.shape[1] - 1, canvas.shape[2] - 1
    a, b, c, d, e, f, g, h, k = inverse
    y, x = _grid(top, left, height, width, canvas.device)
    depth = (x * g + y * h) + k
    sx, sy = ((x * a + y * b) + c) / depth, ((x * d + y * e) + f) / depth
    fx, fy = sx.floor(), sy.floor()
    rows = (fy + 1).clamp(0, tall), (fy + 2).clamp(0, tall)
    columns = (fx + 1).clamp(0, wide), (fx + 2).clamp(0, wide)
    mixed = _mixed_from(canvas, rows, columns, sx - fx, sy - fy)
    return mixed.add_(0.5).to(torch.uint8)


def slide(images: Tensor, right: int, window: Window) -> Tensor:
    top, left, height, width = window
    out = images.new_zeros((len(images), height, width, images.shape[3]))
    shift = left - right
    first = min(max(-shift, 0), width)
    last = max(min(images.shape[2] - shift, width), first)
    out[:, :, first:last] = images[:, top : top + height, first + shift : last + shift]
    return out
