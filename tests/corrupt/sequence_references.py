"""The perturbations again, from named calls of Pillow, OpenCV, SciPy, scikit-image and NumPy.

A reference makes frame i of one base image, from the parameters and the fields that were drawn; the
window is cut out of it afterwards. The noises are checked by their law instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import cv2
import numpy as np
from PIL import Image
from scipy import ndimage, signal

from tests.corrupt.references import brightness as brightened
from tests.corrupt.references import relief, smeared, to_bytes, zoomed
from tests.exact import exact_exp

Array = np.ndarray
Fields = Mapping[str, Array]


def affine(image: Array, angle: float = 0.0, scale: float = 1.0, shear: float = 0.0) -> Array:
    """Pillow's transform with the inverse matrix of torchvision 0.2."""
    a, p = math.radians(angle), math.radians(shear)
    height, width, _ = image.shape
    cx, cy = width * 0.5 + 0.5, height * 0.5 + 0.5
    matrix = [math.cos(a + p), math.sin(a + p), 0, -math.sin(a), math.cos(a), 0]
    matrix = [1.0 / (scale * math.cos(p)) * entry for entry in matrix]
    matrix[2] = (matrix[0] * -cx + matrix[1] * -cy) + cx
    matrix[5] = (matrix[3] * -cx + matrix[4] * -cy) + cy
    moved = Image.fromarray(image).transform(
        (width, height), Image.Transform.AFFINE, matrix, Image.Resampling.BILINEAR
    )
    return np.asarray(moved)


def motion_blur(
    image: Array, fields: Fields, i: int, *, radius: float, sigma: float, step: float, zero: float
) -> Array:
    return smeared(image, step * (i - zero), radius, sigma)


def zoom_blur(image: Array, fields: Fields, i: int, *, step: float) -> Array:
    total = image.astype(np.float32) / np.float32(255)
    for j in range(1, i + 1):
        total += affine(image, scale=1 + step * j).astype(np.float32) / np.float32(255)
    return (total / np.float32(i + 1) * np.float32(255)).astype(np.uint8)


def snow(
    image: Array,
    fields: Fields,
    i: int,
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
) -> Array:
    # The layer is drawn as large as zooming reads it; around it may be anything.
    height, width, _ = image.shape
    layer = np.zeros((height, width))
    crop = fields["layer"].shape
    top, left = (height - crop[0]) // 2, (width - crop[1]) // 2
    layer[top : top + crop[0], left : left + crop[1]] = mean + sd * fields["layer"]
    layer = zoomed(layer, zoom)
    layer[layer < threshold] = 0
    flakes = smeared(to_bytes(layer), step * (i - zero), radius, sigma) / 255.0
    x = image / 255.0
    grey = cv2.cvtColor(x.astype(np.float32), cv2.COLOR_RGB2GRAY)[..., None]
    x = keep * x + (1 - keep) * np.maximum(x, grey * np.float32(1.5) + np.float32(0.5))
    return to_bytes(x + flakes[..., None] + np.rot90(flakes, 2)[..., None])


def brightness(image: Array, fields: Fields, i: int, *, step: float, zero: float) -> Array:
    return brightened(image, {}, shift=step * (i - zero))


def translate(image: Array, fields: Fields, i: int, *, step: float, zero: float) -> Array:
    data = (1, 0, -step * (i - zero), 0, 1, 0)
    moved = Image.fromarray(image).transform(
        image.shape[1::-1], Image.Transform.AFFINE, data, Image.Resampling.NEAREST
    )
    return np.asarray(moved)


def rotate(image: Array, fields: Fields, i: int, *, step: float, zero: float) -> Array:
    return affine(image, angle=step * (i - zero))


def tilt(image: Array, fields: Fields, i: int, *, step: float, zero: float) -> Array:
    """SciPy's exact bilinear sampling, black around; OpenCV 4's grid of 1/32 pixel is too coarse.

    The map is the product of a shift to the middle at depth 1, two turns, and a projection.
    """
    height, width, _ = image.shape
    f, u = math.hypot(width, height), math.radians(step * (i - zero))
    c, s = math.cos(u), math.sin(u)
    middle = np.array([[1, 0, -width / 2], [0, 1, -height / 2], [0, 0, 0], [0, 0, 1]])
    lift = np.eye(4) + np.array([[0] * 4, [0] * 4, [0, 0, 0, 1], [0] * 4])
    about_y = np.array([[c, 0, -s, 0], [0, 1, 0, 0], [s, 0, c, 0], [0, 0, 0, 1]])
    about_x = np.array([[1, 0, 0, 0], [0, c, -s, 0], [0, s, c, 0], [0, 0, 0, 1]])
    away = np.eye(4) + np.array([[0] * 4, [0] * 4, [0, 0, 0, f], [0] * 4])
    project = np.array([[f, 0, width / 2, 0], [0, f, height / 2, 0], [0, 0, 1, 0]])
    inverse = np.linalg.inv(project @ away @ about_x @ about_y @ lift @ middle)
    y, x = np.mgrid[:height, :width]
    sx, sy, depth = np.tensordot(inverse, np.stack([x, y, np.ones_like(x)]), 1)
    places = np.stack([sy / depth, sx / depth])
    channels = [
        ndimage.map_coordinates(image[..., k] * 1.0, places, order=1, mode="grid-constant")
        for k in range(3)
    ]
    return np.floor(np.stack(channels, -1) + 0.5).astype(np.uint8)


def scale(image: Array, fields: Fields, i: int, *, start: float, step: float) -> Array:
    return affine(image, scale=(start + step * i) / 100)


def gaussian_blur(
    image: Array, fields: Fields, i: int, *, start: float, step: float, truncate: float
) -> Array:
    """ndimage.gaussian_filter by the calls it makes, with correctly rounded weights."""
    sigma = start + step * i
    radius = int(truncate * sigma + 0.5)
    bell = np.array(
        [exact_exp(-0.5 / (sigma * sigma) * (k * k)) for k in range(-radius, radius + 1)]
    )
    x = image / 255.0
    for axis in (0, 1):
        x = ndimage.correlate1d(x, bell / bell.sum(), axis, mode="nearest")
    return to_bytes(x)


def spatter(
    image: Array,
    fields: Fields,
    i: int,
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
) -> Array:
    layer = ndimage.gaussian_filter(mean + sd * fields["layer"], sigma, mode="nearest")
    layer[layer < threshold] = 0
    # A convolution moves what its later taps weigh downwards.
    kernel = np.array([[below], [here], [above], [above2]])
    for _ in range(i):
        layer = signal.convolve2d(layer, kernel, mode="full")[1 : 1 + len(layer)]
    liquid = (255 * layer).astype(np.int32).astype(np.uint8)
    shine = liquid.astype(np.float32) * relief(liquid).astype(np.float32)
    shine = shine / max(shine.max(), np.float32(1)) * np.float32(strength)
    colour = np.float32([175 / 255.0, 238 / 255.0, 238 / 255.0])
    x = image.astype(np.float32) / np.float32(255) + shine[..., None] * colour
    return to_bytes(x)


def shear(image: Array, fields: Fields, i: int, *, step: float, zero: float) -> Array:
    return affine(image, shear=step * (i - zero))


REFERENCES = {
    reference.__name__: reference
    for reference in (
        *(motion_blur, zoom_blur, snow, brightness, translate, rotate, tilt, scale),
        *(gaussian_blur, spatter, shear),
    )
}
