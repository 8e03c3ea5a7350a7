"""Noises of ImageNet-C-bar: waves of random phase, plasma, Perlin's turbulence.

The formulas are those of Mintun, Kirillov & Xie (2021). N stands for the shorter side of an image:
lengths go with it, where the original has square images only. Values are kept in float64 up to the
end, then clipped and truncated.
"""

from hardy.corrupt.corruption import Fields, Size, corruption, formula
from hardy.engine.ops import Array, Ops
from hardy.engine.portable import PI, cosine, sine
from hardy.engine.rng import Draws
from hardy.engine.tables.c_bar_waves import wave_plan

_PLASMA_ROUNDS = (4, 5, 6)
_PERLIN_TABLE = 256
_PERLIN_OCTAVES = (1.0, 2.0, 4.0, 8.0, 16.0)
_PERLIN_CELLS = 7.0  # of the coarsest octave along N: squares of 32 pixels at 224


def grid(ops: Ops, images: Array) -> tuple[Array, Array]:
    """Rows (H, 1) and columns (W), in float64."""
    height, width = images.shape[1:3]
    rows, columns = (ops.cast(ops.host(list(range(n))), "float64") for n in (height, width))
    return rows.reshape((height, 1)), columns


def of_each(values: Array) -> Array:
    """One number per image, to go with pixels."""
    return values[:, None, None]


def _draw_phases(draws: Draws, size: Size, colours: int) -> Fields:
    shape = (colours, size[0], -(-size[1] // 2))
    return {"phases": draws.uniform("phases", shape, 0.0, 2.0 * PI)}


def _draw_one_noise(draws: Draws, size: Size, **_: float) -> Fields:
    return _draw_phases(draws, size, 1)


def _draw_three_noises(draws: Draws, size: Size, **_: float) -> Fields:
    return _draw_phases(draws, size, 3)


@formula
def blacken(ops: Ops, images: Array, noise: Array, threshold: float) -> Array:
    """Black where the noise (N, H, W) is at most `threshold`."""
    return ops.cast(ops.where((noise <= threshold)[..., None], 0, images), "uint8")


@corruption("noise", draw=_draw_one_noise)
def blue_noise_sample(ops: Ops, images: Array, fields: Fields, *, threshold: float) -> Array:
    """Single pixels go black, evenly spread: where blue noise is low."""
    plan = wave_plan("blue", *images.shape[1:3])
    noise = ops.wave_noise(fields["phases"], plan, images.shape[2])
    return blacken(ops, images, noise[:, 0], float(threshold))


@formula
def add_noises(ops: Ops, images: Array, noise: Array, strength: float) -> Array:
    """v + I n, noise (N, 3, H, W)."""
    colours = ops.stack([noise[:, 0], noise[:, 1], noise[:, 2]])
    return ops.to_levels(ops.cast(images, "float64") + strength * colours)


@corruption("noise", draw=_draw_three_noises)
def brownish_noise(ops: Ops, images: Array, fields: Fields, *, strength: float) -> Array:
    """Noise of mostly low frequencies, another in each channel."""
    plan = wave_plan("brownish", *images.shape[1:3])
    noise = ops.wave_noise(fields["phases"], plan, images.shape[2])
    return add_noises(ops, images, noise, float(strength))


def _draw_plasma(draws: Draws, size: Size, **_: float) -> Fields:
    side = min(size)
    return {
        "time": draws.uniform("time", (), 0.0, 6.0 * PI),
        "rounds": draws.integers("rounds", (), len(_PLASMA_ROUNDS)),
        "sharpness": draws.uniform("sharpness", (), 0.5, 1.0),
        "scale": draws.uniform("scale", (), 0.075 * side, 0.2 * side),
    }


@formula
def stir(
    ops: Ops,
    images: Array,
    time: Array,
    rounds: Array,
    sharpness: Array,
    scale: Array,
    strength: float,
) -> Array:
    """(1 - I/255) v + I n, where n are sines of places that waves have carried about.

    All but the strength are one number per image: each round adds to (X, Y) a finer and weaker
    wave, turned a little. `rounds` are whole numbers, 4 to 6.
    """
    rows, columns = grid(ops, images)
    t, fall = of_each(time), of_each(2.25 - sharpness)
    x, y = columns / of_each(scale), rows / of_each(scale)
    finer, slower, weaker = 1.0, 1.0, fall * 0.0 + 1.0
    for k in range(_PLASMA_ROUNDS[-1]):
        phase = t / ops.float64(slower)
        one = cosine(finer * y + phase) / weaker
        two = sine(finer * x + phase) / weaker
        still = of_each(rounds) > k
        x = ops.where(still, x + (one - 0.3 * two), x)
        y = ops.where(still, y + (two + 0.3 * one), y)
        finer, slower, weaker = finer * 1.93, slower * 1.15, weaker * fall
    noise = ops.stack([sine(x - t), sine(((x + y) + sine(t)) * 0.5), sine(y + t)])
    keep = 1.0 - strength / 255.0
    return ops.to_levels(keep * ops.cast(images, "float64") + strength * noise)


@corruption("noise", draw=_draw_plasma)
def plasma_noise(ops: Ops, images: Array, fields: Fields, *, strength: float) -> Array:
    """A veil of swirling colours."""
    rounds = ops.cast(fields["rounds"], "int64") + _PLASMA_ROUNDS[0]
    time, sharpness, scale = fields["time"], fields["sharpness"], fields["scale"]
    return stir(ops, images, time, rounds, sharpness, scale, float(strength))


def _draw_perlin(draws: Draws, size: Size, **_: float) -> Fields:
    return {
        "order": draws.permutation("order", (_PERLIN_TABLE,)),
        "gradients": draws.integers("gradients", (_PERLIN_TABLE, 2), 2 * _PERLIN_TABLE),
    }


@formula
def cloud(ops: Ops, images: Array, order: Array, gradients: Array, weight: float) -> Array:
    """(1 - a) v + 255 a n, n = min(1/2 + T/2, 1), T the sum of |noise(k p)| / k over octaves k.

    Classic gradient noise: order (N, 256) is a permutation, gradients (N, 256, 2) have length 1;
    the first coordinate is the row.
    """
    height, width = images.shape[1:3]
    rows, columns = grid(ops, images)
    first = (
        ops.cast(ops.host(list(range(len(images)))), "int64").reshape((-1, 1, 1)) * _PERLIN_TABLE
    )
    flat = order.reshape((-1,))
    down, along = gradients[..., 0].reshape((-1,)), gradients[..., 1].reshape((-1,))

    def hashed(number: Array) -> Array:
        return flat[first + (number & (_PERLIN_TABLE - 1))] & (_PERLIN_TABLE - 1)

    def slope(row: Array, column: Array, dy: Array, dx: Array) -> Array:
        place = first + hashed(row + column)
        return dy * down[place] + dx * along[place]

    turbulence = 0.0
    for octave in _PERLIN_OCTAVES:
        step = octave * _PERLIN_CELLS / min(height, width)
        y, x = rows * step, columns * step
        top, left = ops.floor(y), ops.floor(x)
        i, j = ops.cast(top, "int64"), ops.cast(left, "int64")
        y, x = y - top, x - left
        upper, lower = hashed(i), hashed(i + 1)
        u = y * y * (3.0 - 2.0 * y)
        t = x * x * (3.0 - 2.0 * x)
        a, b = slope(upper, j, y, x), slope(lower, j, y - 1.0, x)
        left_side = a + u * (b - a)
        a, b = slope(upper, j + 1, y, x - 1.0), slope(lower, j + 1, y - 1.0, x - 1.0)
        right_side = a + u * (b - a)
        noise = 1.5 * (left_side + t * (right_side - left_side))
        turbulence = turbulence + ops.maximum(noise, -noise) * (1.0 / octave)
    grey = ops.minimum(0.5 * turbulence + 0.5, 1.0)
    veil = ((255.0 * weight) * grey)[..., None]
    return ops.to_levels((1.0 - weight) * ops.cast(images, "float64") + veil)


@corruption("noise", draw=_draw_perlin)
def perlin_noise(ops: Ops, images: Array, fields: Fields, *, weight: float) -> Array:
    """A grey veil of cloudy turbulence, brighter than the middle everywhere."""
    arrows = ops.cast(fields["gradients"], "float64") - float(_PERLIN_TABLE)
    down, along = arrows[..., 0], arrows[..., 1]
    length = ops.sqrt(down * down + along * along)
    # An arrow of no length has no direction and stays.
    length = ops.where(length > 0, length, 1.0)
    gradients = ops.stack([down / length, along / length])
    return cloud(ops, images, ops.cast(fields["order"], "int64"), gradients, float(weight))
