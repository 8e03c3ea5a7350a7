"""Photographs that scikit-learn and scikit-image ship inside their wheels, and plainer images."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Bytes = NDArray[np.uint8]

_FILES = {
    "sklearn": ("datasets/images/china.jpg", "datasets/images/flower.jpg"),
    "skimage": (
        *("data/astronaut.png", "data/chelsea.png", "data/coffee.png", "data/rocket.jpg"),
        *("data/hubble_deep_field.jpg", "data/ihc.png"),
    ),
}


def paths() -> list[Path]:
    found = []
    for package, files in _FILES.items():
        spec = find_spec(package)
        assert spec is not None
        assert spec.origin is not None
        found += [Path(spec.origin).parent / file for file in files]
    return found


@cache
def photos(height: int, width: int | None = None) -> Bytes:
    """Eight photographs (8, height, width, 3), shrunk to cover the size, then cropped; read-only.

    The second is partly overexposed: saturated areas are where a truncated last bit shows.
    """
    width = width or height
    images = []
    for number, path in enumerate(paths()):
        with Image.open(path) as file:
            photo = file.convert("RGB")
        scale = max(height / photo.height, width / photo.width) * 1.15
        size = (int(photo.width * scale + 0.5), int(photo.height * scale + 0.5))
        shrunk = np.asarray(photo.resize(size, Image.Resampling.BILINEAR))
        top, left = (size[1] - height) // 2, (size[0] - width) // 2
        crop = shrunk[top : top + height, left : left + width]
        if number == 1:
            crop = np.minimum(crop.astype(np.int32) * 3, 255).astype(np.uint8)
        images.append(crop)
    batch = np.stack(images)
    batch.setflags(write=False)
    return batch


def random_images(count: int, height: int, width: int, seed: int = 0) -> Bytes:
    return np.random.default_rng(seed).integers(0, 256, (count, height, width, 3), np.uint8)


def flat_images(height: int, width: int) -> Bytes:
    """All 256 grey levels, one image each."""
    levels = np.arange(256, dtype=np.uint8)[:, None, None, None]
    return np.ascontiguousarray(np.broadcast_to(levels, (256, height, width, 3)))


def codec_pictures(height: int, width: int) -> Bytes:
    """Two photographs, noise, a ramp, stripes and three flat areas."""
    y, x = np.mgrid[:height, :width]
    ramp = np.stack([x * 255 // (width - 1), y * 255 // (height - 1), (x + y) % 256], axis=-1)
    stripes = np.where((x[..., None] + np.arange(3)) % 2, 255, 0)
    flats = [np.full((height, width, 3), level) for level in (0, 255, (200, 30, 90))]
    made = np.stack([ramp, stripes, *flats]).astype(np.uint8)
    return np.concatenate([photos(height, width)[:2], random_images(1, height, width), made])
