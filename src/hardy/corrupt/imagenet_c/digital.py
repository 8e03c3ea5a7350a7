"""Digital and colour changes: contrast, elastic, pixelate, JPEG, saturate."""

from hardy.corrupt.corruption import Fields, Size, corruption, formula
from hardy.engine.ops import Array, Ops
from hardy.engine.rng import Draws


@formula
def stretch(ops: Ops, images: Array, means: Array, gain: float) -> Array:
    """(x - mean) c + mean, per channel."""
    x, centre = ops.unit(images, "float64"), means[:, None, None, :]
    return ops.to_bytes((x - centre) * gain + centre)


@corruption("digital")
def contrast(ops: Ops, images: Array, fields: Fields, *, gain: float) -> Array:
    """Each channel drawn towards its own mean over the image."""
    return stretch(ops, images, ops.channel_means(images), float(gain))


def _draw_warp(draws: Draws, size: Size, *, base: float, affine: float, **_: float) -> Fields:
    jitter = base * affine
    return {
        "corners": draws.uniform("corners", (3, 2), -jitter, jitter),
        "along": draws.uniform("along", size, -1.0, 1.0),
        "down": draws.uniform("down", size, -1.0, 1.0),
    }


def _inverse_map(ops: Ops, corners: Array, size: Size) -> Array:
    """(N, 2, 3): from output to input, of the affine map that moves three corners.

    The corners, as (x, y) about the centre c with q a third of the shorter side: c + (q, q),
    c + (q, -q), c - (q, q); moved in float32, solved in float64.
    """
    cx, cy, q = size[1] // 2, size[0] // 2, min(size) // 3
    corner = ops.cast(ops.host([[cx + q, cy + q], [cx + q, cy - q], [cx - q, cy - q]]), "float32")
    moved = ops.cast(corner + ops.cast(corners, "float32"), "float64")
    p0, p1, p2 = moved[:, 0], moved[:, 1], moved[:, 2]
    apart = ops.float64(2.0 * q)
    right, below = (p1 - p2) / apart, (p0 - p1) / apart
    offset = p2 - right * (cx - q) - below * (cy - q)
    a, b, e = right[:, 0], below[:, 0], offset[:, 0]
    c, d, f = right[:, 1], below[:, 1], offset[:, 1]
    scale = 1.0 / (a * d - b * c)
    ia, ib, ic, id_ = d * scale, -b * scale, -c * scale, a * scale
    rows = [ia, ib, -ia * e - ib * f, ic, id_, -ic * e - id_ * f]
    return ops.stack(rows).reshape((-1, 2, 3))


@corruption("digital", draw=_draw_warp, moves="pixels")
def elastic_transform(
    ops: Ops,
    images: Array,
    fields: Fields,
    *,
    base: float,
    alpha: float,
    sigma: float,
    affine: float,
) -> Array:
    """A random affine warp, then displacement by smoothed noise; all lengths times `base`."""
    inverse = _inverse_map(ops, fields["corners"], images.shape[1:3])
    along, down = (
        ops.cast(ops.smooth(fields[axis], base * sigma, 3.0, "reflect") * (base * alpha), "float32")
        for axis in ("along", "down")
    )
    return ops.elastic(images, inverse, down, along)


@corruption("digital")
def pixelate(ops: Ops, images: Array, fields: Fields, *, scale: float) -> Array:
    """Box-resized to `scale` of the side and back."""
    return ops.pixelate(images, (int(images.shape[1] * scale), int(images.shape[2] * scale)))


@corruption("digital")
def jpeg_compression(ops: Ops, images: Array, fields: Fields, *, quality: float) -> Array:
    """A JPEG round trip at `quality`, 4:2:0."""
    return ops.jpeg(images, int(quality))


@formula
def recolour(ops: Ops, images: Array, shift: float, gain: float, offset: float) -> Array:
    """Through HSV and back in float64: value + shift, saturation * gain + offset.

    The detour hue / 6 * 6 is the reference's, and its rounding decides bytes.
    """
    x = ops.unit(images, "float64")
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    high, low = ops.maximum(ops.maximum(r, g), b), ops.minimum(ops.minimum(r, g), b)
    spread = high - low
    grey = spread == 0
    safe = ops.where(grey, 1.0, spread)
    hue = ops.where(g == high, 2.0 + (b - r) / safe, (g - b) / safe)
    hue = ops.where(b == high, 4.0 + (r - g) / safe, hue) / ops.float64(6.0)
    hue = ops.where(grey, 0.0, ops.where(hue < 0, hue + 1.0, hue))
    saturation = spread / ops.where(grey, 1.0, high)
    v = ops.minimum(ops.maximum(high + shift, 0.0), 1.0)
    s = ops.minimum(ops.maximum(saturation * gain + offset, 0.0), 1.0)
    sector = ops.floor(hue * 6.0)
    f = hue * 6.0 - sector
    p, q, t = v * (1.0 - s), v * (1.0 - f * s), v * (1.0 - (1.0 - f) * s)

    def by_sector(*choices: Array) -> Array:
        picked = choices[5]
        for k in range(5):
            picked = ops.where(sector == k, choices[k], picked)
        return picked

    sectors = ((v, q, p, p, t, v), (t, v, v, q, p, p), (p, p, t, v, v, q))
    return ops.to_bytes(ops.stack([by_sector(*choices) for choices in sectors]))


@corruption("digital")
def saturate(ops: Ops, images: Array, fields: Fields, *, gain: float, offset: float) -> Array:
    """HSV saturation times gain plus offset; grey has hue 0, so an offset tints it red."""
    return recolour(ops, images, 0.0, float(gain), float(offset))
