"""The perturbations of ImageNet-P: ten that are tested, four for validation.

i counts the frames from 0. Noise sequences are a clean frame followed by independent noisy ones;
the others change from frame to frame. Hendrycks & Dietterich, ICLR 2019.
"""

from collections.abc import Callable, Iterator
from math import ceil, pi, radians, sqrt

from hardy.corrupt.corruption import Fields, Size, formula
from hardy.corrupt.imagenet_c import weather
from hardy.corrupt.imagenet_c.digital import recolour
from hardy.corrupt.perturbation import Scene, Wanted, perturbation
from hardy.engine.ops import Array, Ops
from hardy.engine.portable import cos_sin
from hardy.engine.rng import Draws
from hardy.engine.tables.filter_weights import trail_weights
from hardy.engine.tables.noise_laws import noise_table


def _one_word_per_frame_value(draws: Draws, size: Size, frame: int, **_: float) -> Fields:
    """A stream for every frame, so that each can be drawn without the others."""
    return {"word": draws.words(f"word {frame}", (*size, 3))}


def _noisy(ops: Ops, scene: Scene, wanted: Wanted, kind: str, strength: float) -> Iterator[Array]:
    table = noise_table(kind, strength)
    for i in wanted:
        if i == 0:
            yield ops.slide(scene.images, 0, scene.window)  # a copy
        else:
            yield ops.table_noise(scene.images, scene.fields(i)["word"], table)


@perturbation("noise", draw=_one_word_per_frame_value)
def gaussian_noise(ops: Ops, scene: Scene, wanted: Wanted, *, sigma: float) -> Iterator[Array]:
    """The clean image, then x + sigma Z anew in every frame."""
    return _noisy(ops, scene, wanted, "gaussian", sigma)


@perturbation("noise", draw=_one_word_per_frame_value)
def shot_noise(ops: Ops, scene: Scene, wanted: Wanted, *, photons: float) -> Iterator[Array]:
    """The clean image, then Poisson counts with mean c x, over c, anew in every frame."""
    return _noisy(ops, scene, wanted, "shot", photons)


def _trail(ops: Ops, images: Array, radius: float, sigma: float, degrees: float) -> Array:
    """ImageMagick's motion blur at a given angle; see corrupt.imagenet_c.blur.

    It multiplies a direction by the number of taps and divides by its length again, which leaves
    -1/2 a hair nearer to 0: at -30 and -150 degrees the hair decides where one tap lies.
    """
    weights = trail_weights(radius, sigma)
    taps = range(len(weights))
    cosine, sine = (len(taps) * part for part in cos_sin(pi * degrees / 180.0))
    length = sqrt(cosine * cosine + sine * sine)
    rows = ops.host([[ceil(k * sine / length - 0.5) for k in taps]] * len(images))
    columns = ops.host([[ceil(k * cosine / length - 0.5) for k in taps]] * len(images))
    return ops.trail(images, weights, rows, columns)


@perturbation("blur")
def motion_blur(
    ops: Ops, scene: Scene, wanted: Wanted, *, radius: float, sigma: float, step: float, zero: float
) -> Iterator[Array]:
    """The clean image smeared at the angle step (i - zero): the smear turns, no frame is clean."""
    for i in wanted:
        yield _trail(ops, scene.images, radius, sigma, step * (i - zero))


@perturbation("blur")
def zoom_blur(ops: Ops, scene: Scene, wanted: Wanted, *, step: float) -> Iterator[Array]:
    """Running mean of the image and its enlargements by 1 + step j, j = 1 .. i.

    Added up in float32, as the reference does: a flat area may lose a grey level.
    """
    canvas = ops.canvas(scene.images)
    total = ops.cast(0.0 * ops.slide(scene.images, 0, scene.window), "float32")
    places = [_affine(scene, scale=1.0 + step * i) for i in range(wanted[-1] + 1)]
    for i, sized in enumerate(ops.affines(canvas, places, scene.window)):
        mean, total = ops.running_mean(sized, total, i + 1)
        if i in wanted:
            yield mean


def _draw_falling_snow(draws: Draws, size: Size, frame: int, *, zoom: float, **_: float) -> Fields:
    return {"layer": weather.draw_flakes(draws, size, zoom)}


@formula
def blanket(ops: Ops, images: Array, layer: Array, keep: float) -> Array:
    """As imagenet_c.weather.whiten, but the image in float64; only the grey value is float32."""
    x, single = ops.unit(images, "float64"), ops.unit(images, "float32")
    x = keep * x + (1.0 - keep) * ops.maximum(x, ops.cast(weather.whitest(ops, single), "float64"))
    return weather.snowed(ops, x, layer)


@perturbation("weather", draw=_draw_falling_snow)
def snow(
    ops: Ops,
    scene: Scene,
    wanted: Wanted,
    *,
    mean: float,
    sd: float,
    zoom: float,
    threshold: float,
    radius: float,
    sigma: float,
    keep: float,
    step: float,
    zero: float,
) -> Iterator[Array]:
    """One layer of flakes over the whitened image, blown at the angle step (i - zero)."""
    size, drawn = scene.images.shape[1:3], scene.fields(0)["layer"]
    layer = weather.flake_layer(ops, drawn, size, mean, sd, zoom, threshold)
    for i in wanted:
        blown = _trail(ops, layer, radius, sigma, step * (i - zero))[..., 0]
        yield blanket(ops, scene.images, blown, keep)


@perturbation("weather")
def brightness(
    ops: Ops, scene: Scene, wanted: Wanted, *, step: float, zero: float
) -> Iterator[Array]:
    """HSV value shifted by step (i - zero), from dark to light."""
    for i in wanted:
        yield recolour(ops, scene.images, step * (i - zero), 1.0, 0.0)


@perturbation("digital")
def translate(
    ops: Ops, scene: Scene, wanted: Wanted, *, step: float, zero: float
) -> Iterator[Array]:
    """Moved by step (i - zero) whole pixels: the content goes from left to right."""
    yield from ops.slides(scene.images, [int(step * (i - zero)) for i in wanted], scene.window)


def _affine(
    scene: Scene, *, angle: float = 0.0, scale: float = 1.0, shear: float = 0.0
) -> tuple[float, ...]:
    """torchvision 0.2's affine map, from the centre of an output pixel to its place in the image.

    S = c + A (P - c), A = [[cos(a+p), sin(a+p)], [-sin a, cos a]] / (s cos p), about c half a
    pixel right of and below the middle.
    """
    turned, leant = radians(angle), radians(shear)
    (cosine, sine), (both, across) = cos_sin(turned), cos_sin(turned + leant)
    factor = 1.0 / (scale * cos_sin(leant)[0])
    a, b, d, e = factor * both, factor * across, -factor * sine, factor * cosine
    cx, cy = scene.images.shape[2] / 2 + 0.5, scene.images.shape[1] / 2 + 0.5
    return a, b, cx - (a * cx + b * cy), d, e, cy - (d * cx + e * cy)


def _warped(
    ops: Ops, scene: Scene, wanted: Wanted, place: Callable[[int], tuple[float, ...]]
) -> Iterator[Array]:
    places = [place(i) for i in wanted]
    yield from ops.affines(ops.canvas(scene.images), places, scene.window)


@perturbation("digital")
def rotate(ops: Ops, scene: Scene, wanted: Wanted, *, step: float, zero: float) -> Iterator[Array]:
    """Turned clockwise by step (i - zero) degrees."""
    return _warped(ops, scene, wanted, lambda i: _affine(scene, angle=step * (i - zero)))


@perturbation("digital")
def tilt(ops: Ops, scene: Scene, wanted: Wanted, *, step: float, zero: float) -> Iterator[Array]:
    """The picture plane turned about both axes by step (i - zero) degrees, seen in perspective."""
    places = [_inverse(tilt_map(scene, step * (i - zero))) for i in wanted]
    yield from ops.perspectives(ops.canvas(scene.images), places, scene.window)


def tilt_map(scene: Scene, degrees: float) -> tuple[float, ...]:
    """The 3 x 3 map from a pixel's index to where it goes.

    About the middle: X1 = X c - s, Z1 = X s + c, Y2 = Y c - Z1 s, Z2 = Y s + Z1 c; then divided by
    depth (Z2 + f) / f. The plane sits at depth 1, so even at 0 degrees it shrinks by f / (f + 1).
    """
    height, width = scene.images.shape[1:3]
    c, s = cos_sin(radians(degrees))
    f, mx, my = sqrt(width * width + height * height), width / 2, height / 2
    # Rows: f X1 + mx Z3, f Y2 + my Z3 and Z3 as functions of (X, Y, 1).
    z = (s * c, s, c * c + f)
    x = (f * c + mx * z[0], mx * z[1], mx * z[2] - f * s)
    y = (my * z[0] - f * s * s, f * c + my * z[1], my * z[2] - f * c * s)
    return tuple(
        value
        for p, q, r in (x, y, z)
        for value in (p, q, r - p * mx - q * my)  # X = x - mx, Y = y - my
    )


def _inverse(m: tuple[float, ...]) -> tuple[float, ...]:
    """The inverse of a 3 x 3 matrix up to a factor, which a perspective map does not notice."""
    a, b, c, d, e, f, g, h, k = m
    return (
        e * k - f * h, c * h - b * k, b * f - c * e,
        f * g - d * k, a * k - c * g, c * d - a * f,
        d * h - e * g, b * g - a * h, a * e - b * d,
    )  # fmt: skip


@perturbation("digital")
def scale(ops: Ops, scene: Scene, wanted: Wanted, *, start: float, step: float) -> Iterator[Array]:
    """Scaled to (start + step i) percent, with black around where it does not reach."""
    return _warped(ops, scene, wanted, lambda i: _affine(scene, scale=(start + step * i) / 100.0))


@perturbation("noise", draw=_one_word_per_frame_value)
def speckle_noise(ops: Ops, scene: Scene, wanted: Wanted, *, sigma: float) -> Iterator[Array]:
    """The clean image, then x + x sigma Z anew in every frame."""
    return _noisy(ops, scene, wanted, "speckle", sigma)


@perturbation("blur")
def gaussian_blur(
    ops: Ops, scene: Scene, wanted: Wanted, *, start: float, step: float, truncate: float
) -> Iterator[Array]:
    """Gaussian filter of growing width, start + step i."""
    for i in wanted:
        yield ops.blur(scene.images, start + step * i, truncate)


def _draw_drops(draws: Draws, size: Size, frame: int, **_: float) -> Fields:
    return weather.draw_layer(draws, size)


@perturbation("weather", draw=_draw_drops)
def spatter(
    ops: Ops,
    scene: Scene,
    wanted: Wanted,
    *,
    mean: float,
    sd: float,
    sigma: float,
    threshold: float,
    strength: float,
    below: float,
    here: float,
    above: float,
    above2: float,
) -> Iterator[Array]:
    """Drops of water that run down: after each frame a row becomes a mix of those around it."""
    layer = ops.smooth(mean + sd * scene.fields(0)["layer"], sigma, 4.0, "nearest")
    layer = ops.where(layer < threshold, 0.0, layer)
    for i in range(wanted[-1] + 1):
        if i:
            layer = ops.run_down(layer, (below, here, above, above2), 1)
        if i in wanted:
            yield weather.water(ops, scene.images, layer, strength)


@perturbation("digital")
def shear(ops: Ops, scene: Scene, wanted: Wanted, *, step: float, zero: float) -> Iterator[Array]:
    """Sheared by step (i - zero) degrees, and flattened by the cosine of that."""
    return _warped(ops, scene, wanted, lambda i: _affine(scene, shear=step * (i - zero)))
