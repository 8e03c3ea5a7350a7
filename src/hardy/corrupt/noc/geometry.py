"""ImageNet-NOC's geometry: translation, shear, a stretch that it calls elastic, rotation.

All go through 8 bits, which a byte does not notice; nearest neighbours, black outside.
"""

from hardy.corrupt.corruption import Fields, Size, corruption
from hardy.corrupt.noc.strengths import integers, pixels, sign, signed, whole_strength
from hardy.engine.ops import Array, Ops
from hardy.engine.rng import Draws
from hardy.engine.tables.noc_shapes import lengths, shears, turns

ONE = 1 << 16  # in the fixed point of the maps


def _draw_shifts(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    """Each axis has a length and a sign of its own."""
    first, span = int(low), int(high) - int(low) + 1
    return {
        "right": first + integers(draws, "right", (), span),
        "down": first + integers(draws, "down", (), span),
        **sign(draws, "left"),
        **sign(draws, "up"),
    }


@corruption("geometry", draw=_draw_shifts, looked_up=("right", "down"), moves="objects")
def noc_translation(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """Moved along both axes, by different lengths."""
    table = ops.host(lengths(int(low), int(high), min(images.shape[1:3])))
    right, down = (
        signed(ops, table[fields[name] - int(low)], fields[negative])
        for name, negative in (("right", "left"), ("down", "up"))
    )
    zero = right * 0
    maps = [zero + ONE, zero, ONE // 2 - right * ONE, zero, zero + ONE, ONE // 2 - down * ONE]
    return ops.nearest(images, ops.stack(maps))


def _draw_turn(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    return {**whole_strength(draws, low, high), **sign(draws)}


def chosen(fields: Fields, low: float, high: float) -> Array:
    """The place of the angle in a table of positive angles, then negative ones."""
    count = int(high) - int(low) + 1
    return fields["strength"] - int(low) + fields["negative"] * count


@corruption("geometry", draw=_draw_turn, looked_up=("strength", "negative"), moves="objects")
def noc_shear(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """Sheared along the rows by whole degrees, about half a pixel past the middle."""
    maps = ops.host(shears(int(low), int(high), *images.shape[1:3]))
    return ops.nearest(images, maps[chosen(fields, low, high)])


@corruption("geometry", draw=_draw_turn, looked_up=("strength", "negative"), moves="objects")
def noc_rotation(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """Rotated by whole degrees about half a pixel past the middle."""
    maps = ops.host(turns(int(low), int(high), *images.shape[1:3]))
    return ops.nearest(images, maps[chosen(fields, low, high)])


def _draw_cut(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    return {**whole_strength(draws, low, high), "axis": integers(draws, "axis", (), 2)}


@corruption("geometry", draw=_draw_cut, looked_up=("strength",), moves="objects")
def noc_elastic(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """The upper or the left part is cut off and the rest stretched to fill the image."""
    size: Size = images.shape[1:3]
    cut = pixels(ops, fields, low, high, size)
    down = fields["axis"] == 0
    first = ops.stack([ops.where(down, cut, 0), ops.where(down, 0, cut)])
    full = first * 0 + ops.host(list(size))
    return ops.resample(images, first, full - first, full, 1.0)
