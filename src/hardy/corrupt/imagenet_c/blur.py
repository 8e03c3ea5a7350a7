"""Blurs: Gaussian, defocus, frosted glass, motion, zoom."""

from hardy.corrupt.corruption import Fields, Size, corruption
from hardy.engine.ops import Array, Ops
from hardy.engine.portable import cos_sin_degrees
from hardy.engine.rng import Draws
from hardy.engine.tables.filter_weights import trail_weights, zoom_factors


@corruption("blur")
def defocus_blur(ops: Ops, images: Array, fields: Fields, *, radius: float, alias: float) -> Array:
    """Correlation with an antialiased disk whose sum is left above 1 where it touches its grid."""
    return ops.disk(images, radius, alias)


def _draw_moves(draws: Draws, size: Size, *, reach: float, passes: float, **_: float) -> Fields:
    span = 2 * int(reach)
    targets = max(size[0] - span, 0) * max(size[1] - span, 0)
    return {"moves": draws.integers("moves", (int(passes), targets), span * span)}


@corruption("blur", draw=_draw_moves, moves="pixels")
def glass_blur(
    ops: Ops, images: Array, fields: Fields, *, sigma: float, reach: float, passes: float
) -> Array:
    """Blur, let pixels copy a neighbour within `reach` (-reach .. reach-1), blur again.

    The reference means to swap; both sides being views of one array, it copies. A move is
    (dy + reach) * 2 reach + (dx + reach), one per target in the descending scan.
    """
    return ops.blur(ops.shuffle(ops.blur(images, sigma), fields["moves"], int(reach)), sigma)


def _draw_angle(draws: Draws, size: Size, **_: float) -> Fields:
    return {"angle": draws.uniform("angle", (1,), -45.0, 45.0)}


def trail(ops: Ops, images: Array, angle: Array, radius: float, sigma: float) -> Array:
    """ImageMagick's motion blur: a one-sided half Gaussian along `angle`, at whole pixels.

    Tap i lies at (ceil(i cos - 1/2), ceil(i sin - 1/2)), y pointing down; angle is (N, 1).
    """
    weights = trail_weights(radius, sigma)
    cosine, sine = cos_sin_degrees(angle)
    taps = ops.cast(ops.host(list(range(len(weights)))), "float64")
    columns, rows = ops.ceil(taps * cosine - 0.5), ops.ceil(taps * sine - 0.5)
    return ops.trail(images, weights, ops.cast(rows, "int64"), ops.cast(columns, "int64"))


@corruption("blur", draw=_draw_angle, moves="pixels")
def motion_blur(ops: Ops, images: Array, fields: Fields, *, radius: float, sigma: float) -> Array:
    """A smear of 2 ceil(radius) + 1 taps to one side, at an angle within 45 degrees."""
    return trail(ops, images, fields["angle"], radius, sigma)


@corruption("blur", moves="pixels")
def zoom_blur(ops: Ops, images: Array, fields: Fields, *, stop: float, step: float) -> Array:
    """Mean of the image and its zooms by 1, 1 + step, ... below stop: the image counts twice."""
    return ops.zoom_mean(images, zoom_factors(stop, step))


@corruption("blur")
def gaussian_blur(ops: Ops, images: Array, fields: Fields, *, sigma: float) -> Array:
    """Gaussian filter, edges replicated, cut at four sigma."""
    return ops.blur(images, sigma)
