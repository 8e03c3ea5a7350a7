"""ImageNet-NOC's blurs: repeated box mean, thumbnail, pixelate."""

from hardy.corrupt.corruption import Fields, Size, corruption, formula
from hardy.corrupt.noc.strengths import draw_real, draw_whole, pixels
from hardy.engine.ops import Array, Ops
from hardy.engine.tables.noc_shapes import scaled

PASSES = 5  # each reaches one pixel further: at other sizes their number is a length
_SMALLEST_BLOCK = 2  # one of a single pixel would change nothing


@formula
def mix(ops: Ops, images: Array, sums: Array, divisor: float, weight: Array) -> Array:
    """x + w (mean - x), which keeps flat areas to the byte."""
    x = ops.cast(images, "float64")
    mean = sums / ops.float64(divisor)
    return ops.to_levels(x + weight[:, None, None, None] * (mean - x))


@corruption("blur", draw=draw_real)
def noc_blur(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """(1 - w) x + w times the 3 x 3 mean of the 3 x 3 mean ..., five times, zeros outside."""
    passes = scaled(PASSES, min(images.shape[1:3]))
    sums = ops.box_sums(images, passes)
    return mix(ops, images, sums, float(9**passes), fields["strength"])


def shrunk(side: int, factor: float) -> int:
    return max(int(side / factor), 1)


@corruption("blur", draw=draw_real)
def noc_thumbnail_resize(
    ops: Ops, images: Array, fields: Fields, *, low: float, high: float
) -> Array:
    """Resized to floor(side / f) and back, both by Pillow's bilinear filter, which antialiases."""
    size: Size = images.shape[1:3]
    f = fields["strength"]
    f = ops.where(f >= 1.0, f, 1.0)  # a replayed draw may be anything
    sides = [ops.maximum(ops.floor(ops.float64(side) / f), 1.0) for side in size]
    small = ops.cast(ops.stack(sides), "int64")
    corner = small * 0
    full = corner + ops.host(list(size))
    most = max(side / shrunk(side, high) for side in size)
    return ops.resample(ops.resample(images, corner, full, small, most), corner, small, full, 1.0)


@corruption("blur", draw=draw_whole, looked_up=("strength",))
def noc_pixelate(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """Means of squares; where they do not fill the image, reflected at its border."""
    size = images.shape[1:3]
    return ops.blocks(images, pixels(ops, fields, low, high, size, _SMALLEST_BLOCK))
