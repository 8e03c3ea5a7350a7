"""ImageNet-NOC's artifacts and obstructions: what is drawn over an image."""

from hardy.corrupt.corruption import Fields, Size, corruption
from hardy.corrupt.noc.strengths import grey, integers, pixels, whole_strength
from hardy.engine.ops import Array, Ops
from hardy.engine.rng import Draws
from hardy.engine.tables.noc_shapes import MARGIN, dash, disc, dots, lengths, rhombus, scaled

# Where the two trails of a line begin, in columns from its middle at 224.
AHEAD, BEHIND = 6, -10


def used(ops: Ops, fields: Fields, most: float) -> Array:
    """(N, most): which of the places that were drawn an image uses."""
    return ops.host(list(range(int(most)))) < fields["strength"][:, None]


def painted(ops: Ops, images: Array, where: Array, level: Array) -> Array:
    """One grey in all channels where a mask (N, H, W) is true; level (N, ...) broadcasts to it."""
    return ops.where(where[..., None], ops.cast(level, "uint8")[..., None], images)


def lines(draws: Draws, size: Size, reach: tuple[int, int], low: float, high: float) -> Fields:
    """Places of the middle dash, whole in the image, and whether there are trails: in 6 of 7."""
    most, (rows, columns) = int(high), size
    return {
        **whole_strength(draws, low, high),
        **grey(draws),
        "row": reach[0] + integers(draws, "row", (most,), rows - 2 * reach[0]),
        "column": reach[1] + integers(draws, "column", (most,), columns - 2 * reach[1]),
        "trail": integers(draws, "trail", (most,), 7),
    }


def _draw_obstructing_lines(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    down, along = dash(min(size))[-1].tolist()
    return lines(draws, size, (down, along), low, high)


def _draw_upright_lines(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    down, along = dash(min(size), True)[-1].tolist()
    return lines(draws, size, (down, along), low, high)


def artifacts(ops: Ops, images: Array, fields: Fields, most: float, upright: bool) -> Array:
    """Dashes of one grey, most of them with dots ahead and behind where these fit in."""
    size = images.shape[1:3]
    side, axis = min(size), 0 if upright else 1
    ahead, behind = dots(AHEAD, side, upright), dots(BEHIND, side, upright)
    there = used(ops, fields, most)
    trail, place = there & (fields["trail"] > 0), fields["row" if upright else "column"]
    line, fore, aft = (
        ops.last_stamp(fields["row"], fields["column"], drawn, stamp, size) > 0
        for stamp, drawn in (
            (dash(side, upright), there),
            (ahead, trail & (place < size[axis] - int(ahead[:, axis].max()))),
            (behind, trail & (place >= -int(behind[:, axis].min()))),
        )
    )
    return painted(ops, images, line | fore | aft, fields["grey"][:, None, None])


@corruption("artifact", draw=_draw_obstructing_lines)
def noc_artifacts(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """Horizontal dashed lines of one grey.

    The reference draws m of 0..6 trails, each from the same dash: any m from 1 on is the same.
    """
    return artifacts(ops, images, fields, high, False)


@corruption("artifact", draw=_draw_upright_lines)
def noc_vertical_artifacts(
    ops: Ops, images: Array, fields: Fields, *, low: float, high: float
) -> Array:
    """Vertical dashed lines of one grey."""
    return artifacts(ops, images, fields, high, True)


def _draw_centres(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    most, margin = int(high), scaled(MARGIN, min(size))
    row, column = (
        margin + integers(draws, name, (most,), side - 2 * margin + 1)
        for name, side in zip(("row", "column"), size, strict=True)
    )
    return {**whole_strength(draws, low, high), "row": row, "column": column}


def _draw_grey_centres(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    return {**_draw_centres(draws, size, low=low, high=high), **grey(draws, int(high))}


def filled(ops: Ops, images: Array, fields: Fields, most: float, stamp: Array) -> Array:
    """Stamps of a grey each; later ones lie over earlier ones."""
    size, there = images.shape[1:3], used(ops, fields, most)
    last = ops.last_stamp(fields["row"], fields["column"], there, stamp, size)
    image = ops.host(list(range(len(images))))[:, None, None]
    level = fields["grey"][image, ops.maximum(last - 1, 0)]
    return painted(ops, images, last > 0, level)


@corruption("artifact", draw=_draw_grey_centres)
def noc_rhombus(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """Rhombi, each of a grey of its own."""
    return filled(ops, images, fields, high, rhombus(min(images.shape[1:3])))


@corruption("artifact", draw=_draw_centres)
def noc_rain(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """Discs within which x becomes (1 + x) / 2, once more for every disc that overlaps.

    In whole numbers: from eight discs on, all that is not white is one level off it.
    """
    size, there = images.shape[1:3], used(ops, fields, high)
    hits = ops.stamp_counts(fields["row"], fields["column"], there, disc(min(size)), size)
    halvings = ops.cast(ops.minimum(hits, 8), "int32")[..., None]
    dark = 255 - ops.cast(images, "int32")
    return ops.cast(255 - ((dark + ((1 << halvings) - 1)) >> halvings), "uint8")


@corruption("artifact", draw=_draw_grey_centres)
def noc_circle(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """Discs, each of a grey of its own."""
    return filled(ops, images, fields, high, disc(min(images.shape[1:3])))


def _draw_square(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    drawn = whole_strength(draws, low, high)
    table = draws.host(lengths(int(low), int(high), min(size)))
    side = table[drawn["strength"] - int(low)]
    return {
        **drawn,
        **grey(draws),
        "row": integers(draws, "row", (), size[0] + 1 - side),
        "column": integers(draws, "column", (), size[1] + 1 - side),
    }


@corruption("obstruction", draw=_draw_square, looked_up=("strength",))
def noc_obstruction(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """A square of one grey."""
    height, width = images.shape[1:3]
    side = pixels(ops, fields, low, high, (height, width))[:, None, None]
    y, x = ops.host(list(range(height)))[:, None], ops.host(list(range(width)))
    top, left = (fields[name][:, None, None] for name in ("row", "column"))
    inside = (y >= top) & (y < top + side) & (x >= left) & (x < left + side)
    return painted(ops, images, inside, fields["grey"][:, None, None])


def _draw_frame(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    return {**whole_strength(draws, low, high), **grey(draws)}


@corruption("obstruction", draw=_draw_frame, looked_up=("strength",))
def noc_border(ops: Ops, images: Array, fields: Fields, *, low: float, high: float) -> Array:
    """A frame of one grey."""
    height, width = images.shape[1:3]
    thick = pixels(ops, fields, low, high, (height, width))[:, None, None]
    y, x = ops.host(list(range(height)))[:, None], ops.host(list(range(width)))
    frame = (y < thick) | (y >= height - thick) | (x < thick) | (x >= width - thick)
    return painted(ops, images, frame, fields["grey"][:, None, None])
