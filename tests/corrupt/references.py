"""Every corruption but the noises, again, from named calls of SciPy, OpenCV, Pillow and NumPy.

Nothing here calls Hardy's arithmetic: a reference takes one image, the parameters of a severity and
the fields that `hardy.draw` made for the image, and works step by step as the recipe does,
slowly. (The noises are checked by their law instead, the HSV pair also on all colours.)
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from math import ceil

import cv2
import numpy as np
from PIL import Image
from scipy import ndimage
from skimage import color

from hardy.engine import textures
from tests.exact import exact_exp
from tests.oracle.formulas import plasma

Array = np.ndarray
Fields = Mapping[str, Array]


def to_bytes(unit: Array) -> Array:
    return (np.clip(unit, 0, 1) * 255).astype(np.uint8)


def blurred(x: Array, sigma: float) -> Array:
    """ndimage.gaussian_filter by the calls it makes, but with correctly rounded weights.

    SciPy takes them from NumPy's exp. On AVX-512 machines that is off by a last bit, and at sigma
    4.5 the bit turns flat 255 into 254.
    """
    radius = int(4.0 * sigma + 0.5)
    bell = np.array(
        [exact_exp(-0.5 / (sigma * sigma) * (i * i)) for i in range(-radius, radius + 1)]
    )
    for axis in (0, 1):
        x = ndimage.correlate1d(x, bell / bell.sum(), axis, mode="nearest")
    return x


def gaussian_blur(image: Array, fields: Fields, *, sigma: float) -> Array:
    return to_bytes(blurred(image / 255.0, sigma))


def defocus_blur(image: Array, fields: Fields, *, radius: float, alias: float) -> Array:
    reach, window = (8, 3) if radius <= 8 else (radius, 5)
    grid = np.arange(-reach, reach + 1)
    disk = (grid[:, None] ** 2 + grid**2 <= radius**2).astype(np.float32)
    disk /= disk.sum()
    kernel = cv2.GaussianBlur(disk, (window, window), sigmaX=alias)
    return to_bytes(cv2.filter2D(image / 255.0, -1, kernel))


def swapped(image: Array, moves: Array, reach: int) -> Array:
    """The published exchange of two pixels, views and all: it copies."""
    a = image.copy()
    height, width, _ = a.shape
    for scan in moves:
        step = iter(scan.tolist())
        for h in range(height - reach, reach, -1):
            for w in range(width - reach, reach, -1):
                dy, dx = divmod(next(step), 2 * reach)
                there = h + dy - reach, w + dx - reach
                a[h, w], a[there] = a[there], a[h, w]
    return a


def glass_blur(image: Array, fields: Fields, *, sigma: float, reach: float, passes: float) -> Array:
    moved = swapped(to_bytes(blurred(image / 255.0, sigma)), fields["moves"], int(reach))
    assert len(fields["moves"]) == passes
    return to_bytes(blurred(moved / 255.0, sigma))


def smeared(image: Array, angle: float, radius: float, sigma: float) -> Array:
    """ImageMagick's motion blur as a correlation; 16-bit quanta, then the nearest byte."""
    taps = np.arange(2 * ceil(radius) + 1)
    weights = np.exp(-(taps**2) / (2 * sigma**2))
    weights /= weights.sum()
    reach = len(taps) - 1
    kernel = np.zeros((2 * reach + 1, 2 * reach + 1))
    # Multiplied by the number of taps and divided by the length again, which moves a last bit.
    along, down = len(taps) * np.cos(np.deg2rad(angle)), len(taps) * np.sin(np.deg2rad(angle))
    dx = np.ceil(taps * along / np.hypot(along, down) - 0.5).astype(int)
    dy = np.ceil(taps * down / np.hypot(along, down) - 0.5).astype(int)
    np.add.at(kernel, (reach + dy, reach + dx), weights)
    quanta = np.floor(
        cv2.filter2D(image * 257.0, -1, kernel, borderType=cv2.BORDER_REPLICATE) + 0.5
    )
    return np.rint(quanta / 257).astype(np.uint8)


def motion_blur(image: Array, fields: Fields, *, radius: float, sigma: float) -> Array:
    return smeared(image, fields["angle"][0], radius, sigma)


def zoomed(image: Array, factor: float) -> Array:
    """Crop about the middle, spline zoom of order 1, trim; each axis by its own length."""
    crops, goals = [], []
    for side in image.shape[:2]:
        crop = ceil(side / factor)
        top = (side - crop) // 2
        crops.append(slice(top, top + crop))
        trim = (round(crop * factor) - side) // 2
        goals.append(slice(trim, trim + side))
    factors = (factor, factor, *[1] * (image.ndim - 2))
    return ndimage.zoom(image[tuple(crops)], factors, order=1)[tuple(goals)]


def zoom_blur(image: Array, fields: Fields, *, stop: float, step: float) -> Array:
    x = (image / 255.0).astype(np.float32)
    factors = np.arange(1, stop, step)
    out = np.zeros_like(x)
    for factor in factors:
        out += zoomed(x, factor)
    return to_bytes((x + out) / (len(factors) + 1))


def snow(
    image: Array, fields: Fields, *, mean: float, sd: float, zoom: float, threshold: float,
    radius: float, sigma: float, keep: float,
) -> Array:  # fmt: skip
    height, width = image.shape[:2]
    # Only the part of the layer that the zoom reads is drawn.
    layer = ndimage.zoom(mean + sd * fields["layer"], zoom, order=1)
    top, left = (layer.shape[0] - height) // 2, (layer.shape[1] - width) // 2
    layer = layer[top : top + height, left : left + width].copy()
    layer[layer < threshold] = 0
    layer = smeared(to_bytes(layer), fields["angle"][0], radius, sigma) / 255.0
    x = image.astype(np.float32) / 255.0
    grey = cv2.cvtColor(x, cv2.COLOR_RGB2GRAY)[..., None]
    x = keep * x + (1 - keep) * np.maximum(x, grey * 1.5 + 0.5)
    return to_bytes(x + layer[..., None] + np.rot90(layer, 2)[..., None])


def frost(
    image: Array, fields: Fields, *, image_weight: float, frost_weight: float, texture_scale: float
) -> Array:
    height, width = image.shape[:2]
    texture = textures.TEXTURES[int(fields["texture"])]
    photo = cv2.imread(str(textures.texture_folder() / texture.file))
    if texture_scale != 1:
        photo = cv2.resize(photo, (0, 0), fx=texture_scale, fy=texture_scale)
    y, x = int(fields["row"]), int(fields["column"])
    crop = photo[y : y + height, x : x + width, ::-1]
    mixture = np.clip(image_weight * image.astype(float) + frost_weight * crop, 0, 255)
    return mixture.astype(np.uint8)


def fog(image: Array, fields: Fields, *, amount: float, decay: float) -> Array:
    height, width = image.shape[:2]
    x = image / 255.0
    m = x.max()
    cloud = plasma(fields["steps"], decay)[:height, :width, None]
    return to_bytes((x + amount * cloud) * m / (m + amount))


def brightness(image: Array, fields: Fields, *, shift: float) -> Array:
    hsv = color.rgb2hsv(image / 255.0)
    hsv[..., 2] = np.clip(hsv[..., 2] + shift, 0, 1)
    return to_bytes(color.hsv2rgb(hsv))


def saturate(image: Array, fields: Fields, *, gain: float, offset: float) -> Array:
    hsv = color.rgb2hsv(image / 255.0)
    hsv[..., 1] = np.clip(hsv[..., 1] * gain + offset, 0, 1)
    return to_bytes(color.hsv2rgb(hsv))


def contrast(image: Array, fields: Fields, *, gain: float) -> Array:
    x = image / 255.0
    means = np.mean(x, axis=(0, 1), keepdims=True)
    return to_bytes((x - means) * gain + means)


def elastic_transform(
    image: Array, fields: Fields, *, base: float, alpha: float, sigma: float, affine: float
) -> Array:
    height, width = image.shape[:2]
    cx, cy, q = width // 2, height // 2, min(height, width) // 3
    corners = np.float32([[cx + q, cy + q], [cx + q, cy - q], [cx - q, cy - q]])
    moved = corners + fields["corners"].astype(np.float32)
    inverse = cv2.invertAffineTransform(cv2.getAffineTransform(corners, moved))
    y, x = np.mgrid[:height, :width].astype(float)
    sx, sy = (row[0] * x + row[1] * y + row[2] for row in inverse)
    warped = sampled(image.astype(np.float32) / 255, sy, sx, "mirror")
    dx, dy = (
        (ndimage.gaussian_filter(fields[field], base * sigma, mode="reflect", truncate=3)
         * (base * alpha)).astype(np.float32)
        for field in ("along", "down")
    )  # fmt: skip
    return to_bytes(sampled(warped, y + dy, x + dx, "reflect"))


def sampled(image: Array, y: Array, x: Array, border: str) -> Array:
    planes = [
        ndimage.map_coordinates(image[..., c], (y, x), order=1, mode=border) for c in range(3)
    ]
    return np.stack(planes, axis=-1)


def pixelate(image: Array, fields: Fields, *, scale: float) -> Array:
    height, width = image.shape[:2]
    small = Image.fromarray(image).resize(
        (int(width * scale), int(height * scale)), Image.Resampling.BOX
    )
    return np.asarray(small.resize((width, height), Image.Resampling.BOX))


def jpeg_compression(image: Array, fields: Fields, *, quality: float) -> Array:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, "JPEG", quality=int(quality))
    return np.asarray(Image.open(stream))


EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])


def distances(image: Array) -> Array:
    """OpenCV's own distance transform, in fixed point.

    Where its wheels hand the step to IPP, which adds in float32, five diagonals are 7.0 instead of
    6.9998: in four images of a hundred some values then differ, by up to 15 levels.
    """
    cv2.setUseOptimized(False)
    try:
        return cv2.distanceTransform(image, cv2.DIST_L2, 5)
    finally:
        cv2.setUseOptimized(True)


def relief(liquid: Array) -> Array:
    depth = distances(255 - cv2.Canny(liquid, 50, 150))
    _, depth = cv2.threshold(depth, 20, 20, cv2.THRESH_TRUNC)
    depth = cv2.equalizeHist(cv2.blur(depth, (3, 3)).astype(np.uint8))
    return cv2.blur(cv2.filter2D(depth, cv2.CV_8U, EMBOSS), (3, 3))


def spatter(
    image: Array, fields: Fields, *, mean: float, sd: float, sigma: float, threshold: float,
    strength: float, mud: float,
) -> Array:  # fmt: skip
    x = image.astype(np.float32) / 255
    layer = ndimage.gaussian_filter(mean + sd * fields["layer"], sigma, mode="nearest", truncate=4)
    layer[layer < threshold] = 0
    if mud:
        mask = np.where(layer > threshold, 1.0, 0.0)
        mask = ndimage.gaussian_filter(mask, strength, mode="nearest", truncate=4)
        mask = np.where(mask < 0.8, 0, mask).astype(np.float32)[..., None]
        return to_bytes(x * (1 - mask) + mask * np.float32([63 / 255, 42 / 255, 20 / 255]))
    liquid = ((255 * layer).astype(np.int64) % 256).astype(np.uint8)
    shine = liquid.astype(np.float32) * relief(liquid)
    shine = (shine / shine.max() * np.float32(strength))[..., None]
    return to_bytes(x + shine * np.float32([175 / 255, 238 / 255, 238 / 255]))


REFERENCES: dict[str, Callable[..., Array]] = {
    run.__name__: run
    for run in (
        *(defocus_blur, glass_blur, motion_blur, zoom_blur, snow, frost, fog, brightness, contrast),
        *(elastic_transform, pixelate, jpeg_compression, gaussian_blur, spatter, saturate),
    )
}
