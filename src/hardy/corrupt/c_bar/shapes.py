"""Drawn shapes of ImageNet-C-bar: chequers, rings, stripes, stars, lines; see `waves`.

A place is drawn over all of the image, each axis by its own length; lengths go by the shorter side.
"""

from hardy.corrupt.c_bar.waves import grid, of_each
from hardy.corrupt.corruption import Fields, Size, corruption, formula
from hardy.engine.ops import Array, Ops
from hardy.engine.portable import PI, arctan2, cosine, sine
from hardy.engine.rng import Draws

GREY = 128
_CHEQUERS = 40  # a side of the largest table of chequers
_STARS = 5
_RAYS = (50, 200)
_STAR_SPREAD = 0.25  # of the lengths of rays
_WINDOW_RADIUS = 0.25


def _draw_chequers(draws: Draws, size: Size, **_: float) -> Fields:
    side = min(size)
    return {
        "angle": draws.uniform("angle", (), 0.0, 2.0 * PI),
        "cell": draws.uniform("cell", (), 0.1 * side, 0.25 * side),
        "chances": draws.uniform("chances", (_CHEQUERS, _CHEQUERS), 0.0, 1.0),
    }


def _draw_place(draws: Draws, size: Size, shape: tuple[int, ...] = ()) -> dict[str, Array]:
    return {
        "row": draws.uniform("row", shape, 0.0, size[0]),
        "column": draws.uniform("column", shape, 0.0, size[1]),
    }


@formula
def chequer(
    ops: Ops, images: Array, angle: Array, cell: Array, chances: Array, share: float
) -> Array:
    """Grey where both of the turned coordinates p, q have even, or odd, floors and chance wills.

    Chance is the table's value below `share`, at (trunc p, trunc q) modulo its side 4N / cell: in
    square images that only wraps what is negative. chances is (N, 40, 40), its corner is used.
    """
    rows, columns = grid(ops, images)
    cos, sin, s = of_each(cosine(angle)), of_each(sine(angle)), of_each(cell)
    p = (rows * cos + columns * sin) / s
    q = (columns * cos - rows * sin) / s
    floor_p, floor_q = ops.floor(p), ops.floor(q)
    halves = (floor_p - floor_q) * 0.5
    side = ops.minimum(ops.floor(ops.float64(4.0 * min(images.shape[1:3])) / s), float(_CHEQUERS))

    def wrapped(place: Array, floor: Array) -> Array:
        place = ops.where(place < 0, ops.ceil(place), floor)
        index = ops.cast(place - side * ops.floor(place / side), "int64")
        # A replayed cell may be anything; none may read outside the table.
        return ops.minimum(ops.maximum(index, 0), _CHEQUERS - 1)

    first = ops.cast(ops.host(list(range(len(images)))), "int64").reshape((-1, 1, 1)) * _CHEQUERS
    place = (first + wrapped(p, floor_p)) * _CHEQUERS + wrapped(q, floor_q)
    hit = (chances.reshape((-1,))[place] < share) & (ops.floor(halves) == halves)
    return ops.cast(ops.where(hit[..., None], GREY, images), "uint8")


@corruption("pattern", draw=_draw_chequers)
def checkerboard_cutout(ops: Ops, images: Array, fields: Fields, *, share: float) -> Array:
    """Grey squares of a turned chequerboard, a random `share` of its dark ones."""
    cell = ops.maximum(fields["cell"], 1.0)
    return chequer(ops, images, fields["angle"], cell, fields["chances"], float(share))


def _draw_rings(draws: Draws, size: Size, **_: float) -> Fields:
    tenth = min(size) / 10.0
    return _draw_place(draws, size) | {
        "frequency": draws.uniform("frequency", (), 0.0, 10.0),
        "wobble": draws.uniform("wobble", (), 0.0, tenth),
        "width": draws.uniform("width", (), 0.0, tenth),
    }


@formula
def ring(
    ops: Ops,
    images: Array,
    row: Array,
    column: Array,
    frequency: Array,
    wobble: Array,
    width: Array,
    strength: float,
) -> Array:
    """v + I (s - floor(s) - 1/2), s = (r + A sin(f angle)) / w: a sawtooth along the radius."""
    rows, columns = grid(ops, images)
    dy, dx = rows - of_each(row), columns - of_each(column)
    radius = ops.sqrt(dy * dy + dx * dx)
    wave = of_each(wobble) * sine(of_each(frequency) * arctan2(ops, dx, dy))
    s = (radius + wave) / of_each(width)
    tooth = (s - ops.floor(s)) - 0.5
    return ops.to_levels(ops.cast(images, "float64") + (strength * tooth)[..., None])


@corruption("pattern", draw=_draw_rings)
def cocentric_sine_waves(ops: Ops, images: Array, fields: Fields, *, strength: float) -> Array:
    """Wavy rings about a point; their number of waves is not whole, which leaves a seam."""
    names = ("row", "column", "frequency", "wobble", "width")
    return ring(ops, images, *(fields[name] for name in names), float(strength))


def _draw_stripes(draws: Draws, size: Size, **_: float) -> Fields:
    return {
        "frequency": draws.uniform("frequency", (), -PI, PI),
        "ratio": draws.uniform("ratio", (), -1.0, 1.0),
        "swapped": draws.integers("swapped", (), 2),
        "phase": draws.uniform("phase", (), 0.0, 2.0 * PI),
    }


@formula
def stripe(
    ops: Ops, images: Array, across: Array, down: Array, phase: Array, strength: float
) -> Array:
    """v + I sin(f_x x + f_y y + phase)."""
    rows, columns = grid(ops, images)
    angle = (of_each(across) * columns + of_each(down) * rows) + of_each(phase)
    return ops.to_levels(ops.cast(images, "float64") + (strength * sine(angle))[..., None])


@corruption("pattern", draw=_draw_stripes)
def single_frequency_greyscale(
    ops: Ops, images: Array, fields: Fields, *, strength: float
) -> Array:
    """One plane wave, of any frequency and direction."""
    one = fields["frequency"]
    two = fields["ratio"] * ops.maximum(one, -one)
    swapped = ops.cast(fields["swapped"], "int64") > 0
    across, down = ops.where(swapped, two, one), ops.where(swapped, one, two)
    return stripe(ops, images, across, down, fields["phase"], float(strength))


def _draw_rays(draws: Draws, stars: int) -> dict[str, Array]:
    return {
        "rays": draws.integers("rays", (stars,), _RAYS[1] - _RAYS[0]),
        "lengths": draws.normal("lengths", (stars, _RAYS[1] - 1)),
    }


def _count_rays(ops: Ops, fields: Fields) -> Array:
    """The rays of each star, at most as many as there are lengths: a replayed draw may be more."""
    return ops.minimum(ops.cast(fields["rays"], "int64") + _RAYS[0], _RAYS[1] - 1)


def _draw_stars(draws: Draws, size: Size, **_: float) -> Fields:
    return _draw_place(draws, size, (_STARS,)) | _draw_rays(draws, _STARS)


def _draw_window(draws: Draws, size: Size, **_: float) -> Fields:
    row = draws.uniform("row", (1,), 0.25 * size[0], 0.75 * size[0])
    column = draws.uniform("column", (1,), 0.25 * size[1], 0.75 * size[1])
    return {"row": row, "column": column} | _draw_rays(draws, 1)


def shine(
    ops: Ops,
    images: Array,
    place: tuple[Array, Array],
    rays: Array,
    lengths: Array,
    exponent: float | None = None,
) -> Array:
    """How much a star covers: clip((1 - (f - 1/2)^2) g, 0, 1), g = (l^2 / (d^2 + 1e-4))^exponent.

    Of each image: the star's place, its number of rays, their lengths (N, 199). Between rays k and
    k + 1, f = 0..1 of the way, lengths are interpolated.
    """
    rows, columns = grid(ops, images)
    dy, dx = rows - of_each(place[0]), columns - of_each(place[1])
    count = of_each(rays)
    u = (arctan2(ops, dx, dy) + PI) * (ops.cast(count, "float64") * (0.5 / PI))
    whole = ops.floor(u)
    f = u - whole
    k = ops.cast(whole, "int64")
    # A turn is complete at the last ray; a place that is no number has no ray.
    k = ops.where((k >= count) | (k < 0), 0, k)
    after = ops.where(k + 1 >= count, 0, k + 1)
    limit = lengths.shape[1]
    first = ops.cast(ops.host(list(range(len(images)))), "int64").reshape((-1, 1, 1)) * limit
    flat = lengths.reshape((-1,))
    here, there = flat[first + k], flat[first + after]
    length = here + f * (there - here)
    g = (length * length) / ((dy * dy + dx * dx) + 1e-4)
    if exponent is not None:
        g = ops.power(ops.maximum(g, 2.0**-100), exponent)
    return ops.minimum((1.0 - (f - 0.5) * (f - 0.5)) * g, 1.0)


@formula
def sparkle(
    ops: Ops, images: Array, row: Array, column: Array, rays: Array, lengths: Array
) -> Array:
    """v + W (255 - v), star after star; row, column, rays (N, stars), lengths (N, stars, 199)."""
    levels = ops.cast(images, "float64")
    for k in range(row.shape[1]):
        weight = shine(ops, images, (row[:, k], column[:, k]), rays[:, k], lengths[:, k])
        levels = levels + weight[..., None] * (255.0 - levels)
    return ops.to_levels(levels)


@corruption("pattern", draw=_draw_stars)
def sparkles(ops: Ops, images: Array, fields: Fields, *, radius: float) -> Array:
    """Five white stars with rays of uneven lengths, about `radius` of the side."""
    rho = radius * min(images.shape[1:3])
    lengths = ops.maximum(rho * (1.0 + _STAR_SPREAD * fields["lengths"]), 1.0)
    return sparkle(ops, images, fields["row"], fields["column"], _count_rays(ops, fields), lengths)


@formula
def window(
    ops: Ops, images: Array, row: Array, column: Array, rays: Array, lengths: Array, exponent: float
) -> Array:
    """255 + W (v - 255), one star; row, column, rays (N), lengths (N, 199)."""
    weight = shine(ops, images, (row, column), rays, lengths, exponent)[..., None]
    return ops.to_levels(255.0 + weight * (ops.cast(images, "float64") - 255.0))


@corruption("pattern", draw=_draw_window)
def inverse_sparkles(ops: Ops, images: Array, fields: Fields, *, exponent: float) -> Array:
    """A white sheet with a star-shaped window, whose edge is the sharper the larger `exponent`."""
    rho = _WINDOW_RADIUS * min(images.shape[1:3])
    lengths = rho * (1.0 + _STAR_SPREAD * fields["lengths"][:, 0])
    rays = _count_rays(ops, fields)[:, 0]
    row, column = fields["row"][:, 0], fields["column"][:, 0]
    return window(ops, images, row, column, rays, lengths, float(exponent))


def _draw_lines(draws: Draws, size: Size, *, density: float, **_: float) -> Fields:
    count = max(1, int(density * min(size)))
    return _draw_place(draws, size, (count,)) | {
        "angle": draws.uniform("angle", (1,), 0.0, 2.0 * PI),
        "spread": draws.uniform("spread", (1,), 0.1, 1.0),
        "turn": draws.uniform("turn", (count,), -0.5, 0.5),
    }


@formula
def rule(ops: Ops, images: Array, ends: Array) -> Array:
    """(1 - W) v + 128 W, truncated, line after line; ends (N, lines, 4): two rows and columns.

    The lines of scikit-image's line_aa: W = 1 - the distance. Step k along the longer side, of
    `long`, has a pixel q = floor((k + 1/2) short / long) aside. Beside it lies one towards the end
    of the line, but at the last step, and one on the other side if q has just grown.
    """
    rows, columns = grid(ops, images)
    levels = ops.cast(images, "float64")
    for line in range(ends.shape[1]):
        top, left, bottom, right = (of_each(ends[:, line, k]) for k in range(4))
        down, along = bottom - top, right - left
        y = ops.where(down < 0, top - rows, rows - top)
        x = ops.where(along < 0, left - columns, columns - left)
        height, width = ops.maximum(down, -down), ops.maximum(along, -along)
        upright = height >= width
        k, q = ops.where(upright, y, x), ops.where(upright, x, y)
        long, short = ops.maximum(height, width), ops.minimum(height, width)
        step = 2.0 * ops.maximum(long, 1.0)
        here = ops.floor((2.0 * k + 1.0) * short / step)
        before = ops.floor((2.0 * k - 1.0) * short / step)
        drawn = (q == here) | ((q == here + 1.0) & (k < long))
        drawn = drawn | ((q == here - 1.0) & (q == before) & (k > 0))
        off = q * long - k * short
        length = ops.maximum(ops.sqrt(long * long + short * short), 1.0)
        cover = ops.maximum(1.0 - ops.maximum(off, -off) / length, 0.0)
        weight = ops.where(drawn & (k >= 0) & (k <= long), cover, 0.0)[..., None]
        levels = ops.floor((1.0 - weight) * levels + weight * float(GREY))
    return ops.to_levels(levels)


@corruption("pattern", draw=_draw_lines)
def lines(ops: Ops, images: Array, fields: Fields, *, density: float) -> Array:
    """Grey lines, `density` times N of them, more or less in one direction.

    A line goes through its place and ends N pixels from there on either side, at whole pixels.
    """
    angle = fields["angle"] + (2.0 * PI) * (fields["spread"] * fields["turn"])
    reach = float(min(images.shape[1:3]))
    down, along = reach * cosine(angle), reach * sine(angle)
    row, column = fields["row"], fields["column"]
    ends = ops.stack([row - down, column - along, row + down, column + along])
    return rule(ops, images, ops.where(ends < 0, ops.ceil(ends), ops.floor(ends)))
