"""Warps of ImageNet-C-bar: caustics, ripples, whirls, colour fringes, circular blur; see `waves`.

What lies outside of an image is black, tap by tap; the smoothing of caustics mirrors the edge, as
SciPy's does; a ripple draws wavelength and phase for each axis.
"""

from hardy.corrupt.c_bar.waves import grid, of_each
from hardy.corrupt.corruption import Fields, Size, corruption, formula
from hardy.engine.ops import Array, Ops
from hardy.engine.portable import PI, cosine, sine
from hardy.engine.rng import Draws
from hardy.engine.tables.c_bar_waves import fringe_taps, turn_table

_CAUSTIC_ROUNDS = 5
_CAUSTIC_SOFTNESS = 1.0
_REFRACTION = 0.25  # sin of the angle behind the surface over sin before it
FLAT = 0.999  # from this cosine on a slope refracts nothing
_NEARLY = 1e-9  # what a mixture of levels may lack of a whole one, and still be it


def sampled(ops: Ops, values: Array, rows: Array, columns: Array) -> Array:
    """Bilinear samples of (N, H, W, C) at float places (N, H, W); black outside, tap by tap."""
    n, height, width, channels = values.shape
    flat = values.reshape((-1, channels))
    first = ops.cast(ops.host(list(range(n))), "int64").reshape((-1, 1, 1)) * height
    top, left = ops.floor(rows), ops.floor(columns)
    u, t = (rows - top)[..., None], (columns - left)[..., None]

    def pixel(y: Array, x: Array) -> Array:
        inside = (y >= 0) & (y < height) & (x >= 0) & (x < width)
        row = ops.cast(ops.where(inside, y, 0.0), "int64")
        column = ops.cast(ops.where(inside, x, 0.0), "int64")
        return ops.where(inside[..., None], flat[(first + row) * width + column], 0.0)

    a, b = pixel(top, left), pixel(top, left + 1.0)
    c, d = pixel(top + 1.0, left), pixel(top + 1.0, left + 1.0)
    upper, lower = a + t * (b - a), c + t * (d - c)
    return upper + u * (lower - upper)


@formula
def displace(ops: Ops, images: Array, rows: Array, columns: Array, single: bool) -> Array:
    """Each pixel (N, H, W, C) from its place (N, H, W), truncated.

    What lacks next to nothing of a whole level has reached it: with `single`, as a float32.
    """
    values = sampled(ops, ops.cast(images, "float64"), rows, columns)
    return ops.to_levels(ops.cast(values, "float32") if single else values + _NEARLY)


def _draw_caustics(draws: Draws, size: Size, **_: float) -> Fields:
    side = min(size)
    return {
        "time": draws.uniform("time", (), 0.5, 2.0),
        "scale": draws.uniform("scale", (), 0.75 * side, 1.25 * side),
    }


@formula
def caustics(ops: Ops, images: Array, time: Array, scale: Array) -> Array:
    """The bright net on the ground of a pool, float64 (N, H, W) in 0..1, for images of this size.

    A place p is carried about five times; each time the brightness gains 1 / |(0.005 p_1 / sin,
    0.005 p_2 / cos)|, here with the fractions cleared, so that no sine is divided by.
    """
    rows, columns = grid(ops, images)
    y, x = rows / of_each(scale), columns / of_each(scale)
    p = (2.0 * PI) * (y - ops.floor(y)) - 250.0
    q = (2.0 * PI) * (x - ops.floor(x)) - 250.0
    i, j, bright = p, q, 1.0
    for k in range(_CAUSTIC_ROUNDS):
        t = of_each(time) * (1.0 - 3.5 / (k + 1))
        i, j = p + (cosine(t - i) + sine(t + j)), q + (sine(t - j) + cosine(t + i))
        s, c = sine(i + t), cosine(j + t)
        one, two = p * c, q * s
        product = s * c
        size = 0.005 * ops.sqrt(one * one + two * two)
        bright = bright + ops.maximum(product, -product) / size
    net = 1.17 - ops.power(bright * 0.2, 1.4)
    net = net * net
    net = net * net
    return ops.minimum(net * net, 1.0)


@formula
def refract(ops: Ops, images: Array, net: Array, lens: float, light: float) -> Array:
    """Seen through a surface with the slopes of `net` (N, H, W), and lit by them.

    The normal is (D_y, D_x, 1) over its length, D differences of both neighbours, 0 outside. With
    sin phi = sin theta / 4 a pixel comes from lens (cos phi - cos theta / 4) (n_1, n_2) further, in
    thousandths of a pixel; light (D_y - D_x) is added.
    """
    rows, columns = grid(ops, images)
    down = ops.shifted(net, -1, 0) - ops.shifted(net, 1, 0)
    along = ops.shifted(net, 0, -1) - ops.shifted(net, 0, 1)
    square = down * down + along * along
    length = ops.sqrt(square + 1.0)
    cos = ops.float64(1.0) / length
    sin_square = square / (square + 1.0)
    behind = ops.sqrt(1.0 - (_REFRACTION * _REFRACTION) * sin_square)
    bend = ops.where(cos >= FLAT, 0.0, lens * (behind - _REFRACTION * cos))
    thousand = ops.float64(1000.0)

    def moved(slope: Array) -> Array:
        return ops.floor((bend * (slope / length)) * 1000.0 + 0.5) / thousand

    seen = sampled(ops, ops.unit(images, "float64"), rows + moved(down), columns + moved(along))
    return ops.to_bytes(seen + (light * (down - along))[..., None])


@corruption("geometry", draw=_draw_caustics, moves="pixels")
def caustic_refraction(
    ops: Ops, images: Array, fields: Fields, *, lens: float, light: float
) -> Array:
    """Seen through moving water, with its net of light; `lens` is a length in sides."""
    net = ops.smooth(
        caustics(ops, images, fields["time"], fields["scale"]), _CAUSTIC_SOFTNESS, 4.0, "reflect"
    )
    return refract(ops, images, net, lens * min(images.shape[1:3]), float(light))


def _draw_ripples(draws: Draws, size: Size, **_: float) -> Fields:
    side = min(size)
    return {
        "wavelength": draws.uniform("wavelength", (2,), 0.1 * side, 0.3 * side),
        "phase": draws.uniform("phase", (2,), 0.0, 2.0 * PI),
    }


@corruption("geometry", draw=_draw_ripples, moves="pixels")
def ripple(ops: Ops, images: Array, fields: Fields, *, reach: float) -> Array:
    """Rows and columns pressed and stretched by a sine along their own axis, by `reach` sides."""
    amplitude = reach * min(images.shape[1:3])

    def pressed(places: Array, axis: int) -> Array:
        wavelength, phase = (
            of_each(fields["wavelength"][:, axis]),
            of_each(fields["phase"][:, axis]),
        )
        return places + amplitude * sine((2.0 * PI) * places / wavelength + phase)

    rows, columns = grid(ops, images)
    down, along = pressed(rows, 0), pressed(columns, 1)
    return displace(ops, images, down + along * 0.0, along + down * 0.0, False)


def _draw_whirls(draws: Draws, size: Size, *, tiles: float, **_: float) -> Fields:
    return {"turns": draws.integers("turns", (int(tiles), int(tiles)), 2)}


@corruption("geometry", draw=_draw_whirls, moves="pixels")
def pinch_and_twirl(
    ops: Ops, images: Array, fields: Fields, *, tiles: float, twirl: float, pinch: float
) -> Array:
    """A whirl in each of tiles x tiles discs, one way or the other, drawn towards its middle.

    At a relative radius d below 1 a pixel comes from sin(pi d / 2)^-pinch as far out, turned by
    `twirl` degrees (1 - d)^2. Tiles are side // tiles long, so rows and columns may be left over.
    A disc is about the pixel in the middle of its tile, or next after it, and reaches one pixel
    into the tiles that follow. The original whirls tile after tile in place; none reads what
    an earlier one wrote, so here all read the image.
    """
    count = int(tiles)

    def tiled(places: Array, side: int) -> tuple[Array, Array, Array, float]:
        """Tile and its middle, the place from there in halves of a tile, and that length."""
        half = 0.5 * (side // count)
        tile = ops.floor(places / ops.float64(2.0 * half))
        middle = (2.0 * tile + 1.0) * half
        return tile, middle, (places - middle) / ops.float64(half), half

    rows, columns = grid(ops, images)
    tile_y, middle_y, dy, half_height = tiled(rows, images.shape[1])
    tile_x, middle_x, dx, half_width = tiled(columns, images.shape[2])
    radius = ops.sqrt(dy * dy + dx * dx)
    touched = (radius > 0) & (radius < 1) & (tile_y < count) & (tile_x < count)
    d = ops.where(touched, radius, 1.0)
    further = ops.power(sine((0.5 * PI) * d), -float(pinch))
    place = ops.cast(ops.where(touched, tile_y * count + tile_x, 0.0), "int64")
    ways = 2.0 * ops.cast(fields["turns"], "float64").reshape((-1, count * count)) - 1.0
    angle = ways[:, place] * ((twirl * PI / 180.0) * ((1.0 - d) * (1.0 - d)))
    cos, sin = cosine(angle), sine(angle)
    down = middle_y + (further * (dy * cos - dx * sin)) * half_height
    along = middle_x + (further * (dx * cos + dy * sin)) * half_width
    down, along = ops.where(touched, down, rows), ops.where(touched, along, columns)
    return displace(ops, images, down, along, True)


def _draw_fringes(draws: Draws, size: Size, **_: float) -> Fields:
    return {"order": draws.permutation("order", (3,))}


@formula
def fringe(
    ops: Ops, images: Array, order: Array, down: Array, down_weights: Array, along: Array,
    along_weights: Array,
) -> Array:  # fmt: skip
    """Channel c under zoom order[:, c] of three, rounded: 16 taps a value, summed as SciPy does.

    Host tables (3, side, 4) have the places and the weights of each zoom's taps along an axis.
    """
    count, height, width = images.shape[:3]
    first = ops.cast(ops.host(list(range(count))), "int64").reshape((-1, 1, 1)) * height
    tables = [ops.host(table) for table in (down, down_weights, along, along_weights)]
    channels = []
    for channel in range(3):
        rows, row_weights, columns, column_weights = (t[order[:, channel]] for t in tables)
        flat = ops.cast(images[..., channel], "float64").reshape((-1,))
        total: Array = 0.0
        for a in range(4):
            line = (first + rows[:, :, a, None]) * width
            for b in range(4):
                values = flat[line + columns[:, None, :, b]]
                total = total + values * row_weights[:, :, a, None] * column_weights[:, None, :, b]
        channels.append(ops.to_levels(total + 0.5))
    return ops.stack(channels)


@corruption("geometry", draw=_draw_fringes, moves="pixels")
def transverse_chromatic_abberation(
    ops: Ops, images: Array, fields: Fields, *, spread: float
) -> Array:
    """Colour fringes: channels zoomed by 1, 1 + spread and 1 + 2 spread, in any order.

    Cubic B-splines weigh the levels themselves, not what a spline through them is made of. So all
    channels are blurred, also the one that keeps its size.
    """
    # A replayed order may be anything; none may read outside the tables.
    order = ops.minimum(ops.maximum(ops.cast(fields["order"], "int64"), 0), 2)
    taps = (fringe_taps(side, spread) for side in images.shape[1:3])
    return fringe(ops, images, order, *(table for axis in taps for table in axis))


def spline(ops: Ops, lines: list[Array]) -> Array:
    """What a cubic spline through the lines is made of, along a new last axis.

    (c[k-1] + 4 c[k] + c[k+1]) / 6 is line k, mirrored about the first and the last: solved from
    both ends.
    """
    last = len(lines) - 1
    carry, done = [0.5], [lines[0] * 1.5]
    for k in range(1, last):
        carry.append(1.0 / (4.0 - carry[-1]))
        done.append((lines[k] * 6.0 - done[-1]) * carry[-1])
    done.append((lines[last] * 6.0 - done[-1] * 2.0) * (1.0 / (4.0 - 2.0 * carry[-1])))
    for k in range(last - 1, -1, -1):
        done[k] = done[k] - carry[k] * done[k + 1]
    return ops.stack(done)


@formula
def spin(ops: Ops, images: Array, turns: Array) -> Array:
    """The weighted mean of turned images: turns (21, 3) are cosine, sine and weight of each.

    As SciPy turns them: cubic splines that mirror the edge, black beyond the outermost pixels.
    """
    height, width = images.shape[1:3]
    levels = ops.cast(images, "float64")
    knots = spline(ops, [levels[:, k] for k in range(height)])
    knots = spline(ops, [knots[:, k] for k in range(width)])  # (N, C, H, W)
    knots = knots.reshape((len(images), 3, height * width))
    rows, columns = grid(ops, images)
    dy, dx = rows - 0.5 * (height - 1), columns - 0.5 * (width - 1)

    def taps(place: Array, side: int) -> tuple[list[Array], list[Array]]:
        """Four indices and their weights."""
        first = ops.floor(place)
        t = place - first
        z = 1.0 - t
        near = (t * t * (t - 2.0) * 3.0 + 4.0) * (1.0 / 6.0)
        far = (z * z * (z - 2.0) * 3.0 + 4.0) * (1.0 / 6.0)
        indices = []
        for k in range(-1, 3):
            index = ops.maximum(first + float(k), -(first + float(k)))
            indices.append(ops.cast(ops.minimum(index, 2.0 * (side - 1) - index), "int64"))
        return indices, [z * z * z * (1.0 / 6.0), near, far, t * t * t * (1.0 / 6.0)]

    total: Array = 0.0
    for k in range(len(turns)):
        cos, sin, weight = turns[k].tolist()
        y, x = (cos * dy + sin * dx) + 0.5 * (height - 1), (cos * dx - sin * dy) + 0.5 * (width - 1)
        inside = (y >= 0) & (y <= height - 1) & (x >= 0) & (x <= width - 1)
        y, x = ops.where(inside, y, 0.0), ops.where(inside, x, 0.0)
        (down, down_weights), (along, along_weights) = taps(y, height), taps(x, width)
        value = 0.0
        for row, row_weight in zip(down, down_weights, strict=True):
            line = 0.0
            for column, column_weight in zip(along, along_weights, strict=True):
                line = line + knots[:, :, row * width + column] * column_weight
            value = value + line * row_weight
        total = total + ops.where(inside, weight * value, 0.0)
    return ops.to_levels(ops.stack([total[:, 0], total[:, 1], total[:, 2]]) + _NEARLY)


@corruption("blur")
def circular_motion_blur(ops: Ops, images: Array, fields: Fields, *, degrees: float) -> Array:
    """Turned about the middle while the shutter was open, by up to `degrees` either way."""
    return spin(ops, images, turn_table(degrees))
