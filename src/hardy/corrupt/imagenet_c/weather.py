"""Weather: snow, frost, fog, brightness, spatter."""

from hardy.corrupt.corruption import Fields, Size, corruption, formula
from hardy.corrupt.imagenet_c.blur import trail
from hardy.corrupt.imagenet_c.digital import recolour
from hardy.engine import textures
from hardy.engine.ops import Array, Ops
from hardy.engine.rng import Draws
from hardy.engine.tables.filter_weights import clipped_zoom
from hardy.errors import InputError

WATER = (175 / 255.0, 238 / 255.0, 238 / 255.0)  # pale turquoise
MUD = (63 / 255.0, 42 / 255.0, 20 / 255.0)
_LARGEST_PLASMA = 16384


def draw_flakes(draws: Draws, size: Size, zoom: float) -> Array:
    """Zooming in reads the middle of the layer only, so only that is drawn."""
    return draws.normal("layer", tuple(clipped_zoom(side, zoom).crop for side in size))


def _draw_snow(draws: Draws, size: Size, *, zoom: float, **_: float) -> Fields:
    angle = draws.uniform("angle", (1,), -135.0, -45.0)
    return {"layer": draw_flakes(draws, size, zoom), "angle": angle}


def whitest(ops: Ops, single: Array) -> Array:
    """1.5 grey + 0.5 of an image in float32, (N, H, W, 1)."""
    red, green, blue = (
        single[..., channel] * ops.float32(weight)
        for channel, weight in enumerate((0.299, 0.587, 0.114))
    )
    return (ops.float32(1.5) * ((green + red) + blue) + ops.float32(0.5))[..., None]


def snowed(ops: Ops, x: Array, layer: Array) -> Array:
    """x, the flakes, and the flakes turned by 180 degrees; layer holds bytes (N, H, W)."""
    flakes = ops.unit(layer, "float64")
    return ops.to_bytes((x + flakes[..., None]) + ops.half_turn(flakes)[..., None])


@formula
def whiten(ops: Ops, images: Array, layer: Array, keep: float) -> Array:
    """b x + (1 - b) max(x, 1.5 grey + 0.5) in float32, then the flakes in float64."""
    x = ops.unit(images, "float32")
    x = ops.float32(keep) * x + ops.float32(1 - keep) * ops.maximum(x, whitest(ops, x))
    return snowed(ops, x, layer)


@formula
def flakes(ops: Ops, layer: Array, threshold: float) -> Array:
    """The layer's bytes, black below the threshold."""
    return ops.to_bytes(layer) * (layer >= threshold)


def flake_layer(
    ops: Ops, layer: Array, size: Size, mean: float, sd: float, zoom: float, threshold: float
) -> Array:
    """Normal noise, zoomed and cut off below a threshold: bytes (N, H, W, 1)."""
    return flakes(ops, ops.zoom(mean + sd * layer, zoom, size), float(threshold))[..., None]


@corruption("weather", draw=_draw_snow)
def snow(
    ops: Ops,
    images: Array,
    fields: Fields,
    *,
    mean: float,
    sd: float,
    zoom: float,
    threshold: float,
    radius: float,
    sigma: float,
    keep: float,
) -> Array:
    """Thresholded, zoomed normal noise, blown by motion blur, over a whitened image."""
    layer = flake_layer(ops, fields["layer"], images.shape[1:3], mean, sd, zoom, threshold)
    blown = trail(ops, layer, fields["angle"], radius, sigma)[..., 0]
    return whiten(ops, images, blown, keep)


def _draw_frost(draws: Draws, size: Size, *, texture_scale: float, **_: float) -> Fields:
    """One of five photographs, then a window; the last offset of each axis is never drawn."""
    room = [(h - size[0], w - size[1]) for h, w in textures.size_for(texture_scale, *size)]
    which = draws.integers("texture", (), len(room))
    return {
        "texture": which,
        "row": draws.integers("row", (), draws.host([h for h, _ in room])[which]),
        "column": draws.integers("column", (), draws.host([w for _, w in room])[which]),
    }


@formula
def frosted(
    ops: Ops, images: Array, texture: Array, image_weight: float, frost_weight: float
) -> Array:
    """a I + b F on levels 0..255."""
    levels, frost = ops.cast(images, "float64"), ops.cast(texture, "float64")
    return ops.to_levels(image_weight * levels + frost_weight * frost)


@corruption("weather", draw=_draw_frost)
def frost(
    ops: Ops,
    images: Array,
    fields: Fields,
    *,
    image_weight: float,
    frost_weight: float,
    texture_scale: float,
) -> Array:
    """A window of one of five photographs of frost, added to the weakened image."""
    size = images.shape[1:3]
    sources = textures.enlarged(texture_scale, *size)
    crops = ops.crops(sources, fields["texture"], fields["row"], fields["column"], size)
    return frosted(ops, images, crops, float(image_weight), float(frost_weight))


def _plasma_side(size: Size) -> int:
    side = 1 << (max(size) - 1).bit_length()
    if side > _LARGEST_PLASMA:
        raise InputError(
            f"fog is a square cloud over the longer side, here {max(size)} pixels, and beyond "
            f"{_LARGEST_PLASMA} it would fill the memory; crop the image"
        )
    return side


def _draw_fog(draws: Draws, size: Size, **_: float) -> Fields:
    return {"steps": draws.uniform("steps", (_plasma_side(size) ** 2 - 1,), 0.0, 1.0)}


@formula
def haze(ops: Ops, images: Array, cloud: Array, amount: float) -> Array:
    """(x + c P) m / (m + c), m the brightest value of the image: black stays black."""
    x = ops.unit(images, "float64")
    m = ops.largest(x)
    height, width = images.shape[1:3]
    return ops.to_bytes(((x + (amount * cloud[:, :height, :width])[..., None]) * m) / (m + amount))


@corruption("weather", draw=_draw_fog)
def fog(ops: Ops, images: Array, fields: Fields, *, amount: float, decay: float) -> Array:
    """A plasma fractal, normalised before it is cropped, under the image's own maximum."""
    cloud = ops.plasma(fields["steps"], decay, _plasma_side(images.shape[1:3]))
    return haze(ops, images, cloud, float(amount))


@corruption("weather")
def brightness(ops: Ops, images: Array, fields: Fields, *, shift: float) -> Array:
    """HSV value raised by `shift`."""
    return recolour(ops, images, float(shift), 1.0, 0.0)


def draw_layer(draws: Draws, size: Size, **_: float) -> Fields:
    return {"layer": draws.normal("layer", size)}


@formula
def splash(ops: Ops, images: Array, amount: Array, colour: Array) -> Array:
    """x + m colour in float32: water lightens."""
    return ops.to_bytes(ops.unit(images, "float32") + amount[..., None] * colour)


@formula
def cover(ops: Ops, images: Array, amount: Array, colour: Array) -> Array:
    """x (1 - m) + m colour in float32: mud hides."""
    x, m = ops.unit(images, "float32"), amount[..., None]
    return ops.to_bytes(x * (ops.float32(1) - m) + m * colour)


@formula
def glisten(ops: Ops, liquid: Array, relief: Array, strength: float) -> Array:
    """Drops times their relief, of which the brightest becomes `strength`, in float32."""
    shining = ops.cast(liquid, "float32") * ops.cast(relief, "float32")
    peak = ops.largest(shining)
    # A layer without drops has no peak to divide by; the image then stays as it is.
    return shining / ops.where(peak > 0, peak, ops.float32(1)) * ops.float32(strength)


def water(ops: Ops, images: Array, layer: Array, strength: float) -> Array:
    """Embossed, shining drops where the layer is not 0."""
    # Beyond 1 the cast to a byte wraps, as in the reference: frequent in the small editions.
    liquid = ops.cast(ops.cast(255 * layer, "int32") & 255, "uint8")
    amount = glisten(ops, liquid, ops.relief(liquid), float(strength))
    return splash(ops, images, amount, ops.cast(ops.host(WATER), "float32"))


@corruption("weather", draw=draw_layer)
def spatter(
    ops: Ops,
    images: Array,
    fields: Fields,
    *,
    mean: float,
    sd: float,
    sigma: float,
    threshold: float,
    strength: float,
    mud: float,
) -> Array:
    """Blobs of smoothed noise: embossed drops of water, or opaque mud."""
    layer = ops.smooth(mean + sd * fields["layer"], sigma, 4.0, "nearest")
    layer = ops.where(layer < threshold, 0.0, layer)
    if mud:
        mask = ops.cast(layer > threshold, "float64")
        mask = ops.smooth(mask, strength, 4.0, "nearest")
        mask = ops.cast(ops.where(mask < 0.8, 0.0, mask), "float32")
        return cover(ops, images, mask, ops.cast(ops.host(MUD), "float32"))
    return water(ops, images, layer, strength)
