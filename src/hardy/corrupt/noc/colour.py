"""ImageNet-NOC's lighting and colour: backlight, brightness, contrast, one channel, grey, hue."""

from hardy.corrupt.corruption import Fields, Size, corruption, formula
from hardy.corrupt.noc.strengths import (
    draw_real,
    draw_signed,
    for_all_channels,
    integers,
    real,
    sign,
    signed,
    strength_levels,
)
from hardy.engine.ops import Array, Ops
from hardy.engine.rng import Draws


def _lightened(ops: Ops, amount: Array) -> Array:
    """Tables (N, 256): x + amount."""
    return ops.to_bytes(ops.unit(strength_levels(ops), "float64") + amount[:, None])


def _draw_light(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    """A split somewhere about the middle, from -ceil(side / 5) to side // 5 off it."""
    axis = integers(draws, "axis", (), 2)
    spans = draws.host([side // 5 + -(-side // 5) + 1 for side in size])
    return {
        **real(draws, low, high),
        **sign(draws),
        "axis": axis,
        "split": integers(draws, "split", (), spans[axis]),
    }


@corruption("lighting", draw=_draw_light, looked_up=("axis",))
def noc_backlight(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """The upper or the right part is made lighter and the rest darker, or the other way round."""
    height, width = images.shape[1:3]
    amount = signed(ops, fields["strength"], fields["negative"])
    starts = ops.host([side // 2 - -(-side // 5) for side in (height, width)])
    split = (starts[fields["axis"]] + fields["split"])[:, None, None]
    y, x = ops.host(list(range(height)))[:, None], ops.host(list(range(width)))
    lit = ops.where((fields["axis"] == 0)[:, None, None], y < split, x >= split)
    here, there = (
        for_all_channels(ops, images, _lightened(ops, change)) for change in (amount, -amount)
    )
    return ops.where(lit[..., None], here, there)


@corruption("lighting", draw=draw_signed)
def noc_brightness(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """x + b or x - b."""
    amount = signed(ops, fields["strength"], fields["negative"])
    return for_all_channels(ops, images, _lightened(ops, amount))


@corruption("lighting", draw=draw_real)
def noc_contrast(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """(1 - c) x + c times the mean of all pixels and channels."""
    height, width = images.shape[1:3]
    x = ops.cast(strength_levels(ops), "float64")
    sums = ops.cast(ops.level_sums(images), "float64")
    mean = (sums / ops.float64(3.0 * height * width))[:, None]
    weight = fields["strength"][:, None]
    return for_all_channels(ops, images, ops.to_levels(x + weight * (mean - x)))


def _draw_channel(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    return {**real(draws, low, high), "channel": integers(draws, "channel", (), 3)}


@corruption("colour", draw=_draw_channel)
def noc_color_disortion(
    ops: Ops, images: Array, fields: Fields, *, low: float, high: float
) -> Array:
    """One channel is made lighter (the spelling is the benchmark's)."""
    lighter = _lightened(ops, fields["strength"])
    same = ops.cast(strength_levels(ops), "uint8")
    channel = fields["channel"][:, None]
    tables = [ops.where(channel == c, lighter, same) for c in range(3)]
    return ops.look_up(images, ops.stack(tables))


@formula
def fade(ops: Ops, images: Array, weight: Array) -> Array:
    """x + w (L - x), L the luma in whole levels, as Pillow has it; greys stay to the byte."""
    whole = ops.cast(images, "int32")
    luma = whole[..., 0] * 19595 + whole[..., 1] * 38470 + whole[..., 2] * 7471 + 32768 >> 16
    x, grey = ops.cast(images, "float64"), ops.cast(luma, "float64")[..., None]
    return ops.to_levels(x + weight[:, None, None, None] * (grey - x))


@corruption("colour", draw=draw_real)
def noc_gray_scale(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """w L + (1 - w) x, L the luma: colours fade."""
    return fade(ops, images, fields["strength"])


@formula
def turn_hue(ops: Ops, images: Array, shifts: Array) -> Array:
    """Pillow's 8-bit HSV, the hue moved by whole 256ths, and back; its mixture of float32 and
    float64 decides bytes."""
    whole = ops.cast(images, "int32")
    r, g, b = whole[..., 0], whole[..., 1], whole[..., 2]
    high, low = ops.maximum(ops.maximum(r, g), b), ops.minimum(ops.minimum(r, g), b)
    flat = high == low
    spread = ops.cast(ops.where(flat, 1, high - low), "float32")
    v32 = ops.cast(ops.maximum(high, 1), "float32")
    saturation = ops.floor(ops.cast(spread / v32, "float64") * 255.0)
    saturation = ops.where(flat, 0.0, saturation)
    red, green, blue = (ops.cast(high - c, "float32") / spread for c in (r, g, b))
    red64, green64, blue64 = (ops.cast(c, "float64") for c in (red, green, blue))
    hue = ops.cast(4.0 + green64 - red64, "float32")
    hue = ops.where(g == high, ops.cast(2.0 + red64 - blue64, "float32"), hue)
    hue = ops.where(r == high, blue - green, hue)
    turn = ops.cast(hue, "float64") / ops.float64(6.0) + 1.0
    turn = ops.cast(ops.cast(turn - ops.floor(turn), "float32"), "float64")
    level = ops.cast(ops.floor(turn * 255.0), "int64") + shifts[:, None, None] & 255
    place = ops.cast(level, "float64") * 6.0 / ops.float64(255.0)
    sector = ops.floor(place)
    f = ops.cast(ops.cast(place - sector, "float32"), "float64")
    s = ops.cast(ops.cast(saturation / ops.float64(255.0), "float32"), "float64")
    v = ops.cast(high, "float64")
    p, q, t = v * (1.0 - s), v * (1.0 - s * f), v * (1.0 - s * (1.0 - f))

    def by_sector(*choices: Array) -> Array:
        picked = choices[0]  # of sector 6, which is 0 again
        for k in range(1, 6):
            picked = ops.where(sector == k, choices[k], picked)
        return ops.floor(ops.where(saturation == 0, v, picked) + 0.5)

    sectors = ((v, q, p, p, t, v), (t, v, v, q, p, p), (p, p, t, v, v, q))
    return ops.to_levels(ops.stack([by_sector(*choices) for choices in sectors]))


@corruption("colour", draw=draw_signed)
def noc_hue(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """The hue turned by a share of the circle, to the left or to the right."""
    steps = ops.cast(ops.floor(fields["strength"] * 255.0), "int64")
    return turn_hue(ops, images, signed(ops, steps, fields["negative"]))
