"""Distinct crops of real colour photographs out of the scikit-learn and scikit-image wheels."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

# (package, file); each at least 300 pixels high, so that its 224 crops differ.
PHOTOS = (
    ("sklearn", "datasets/images/china.jpg"),
    ("sklearn", "datasets/images/flower.jpg"),
    ("skimage", "data/astronaut.png"),
    ("skimage", "data/chelsea.png"),
    ("skimage", "data/coffee.png"),
    ("skimage", "data/motorcycle_left.png"),
    ("skimage", "data/rocket.jpg"),
)
CROP = 224
CIFAR = 32
# Fractional parts of k * a and k * b (a, b from the plastic number) cover the unit square evenly.
STEP_Y, STEP_X = 0.7548776662466927, 0.5698402909980532


def folder(package: str) -> Path:
    """Where an installed package lies, found without importing it (memory is measured)."""
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"the bench needs the package {package}: install hardy's dev requirements")
    return Path(spec.submodule_search_locations[0])


def _photo(package: str, name: str) -> NDArray[np.uint8]:
    with Image.open(folder(package) / name) as image:
        return np.asarray(image.convert("RGB"))


def crops(count: int, side: int = CROP) -> NDArray[np.uint8]:
    """The first `count` crops, always the same, as (count, side, side, 3).

    Side 224 is cut out; side 32 is such a crop shrunk by 7, because a bare 32 x 32 cut of a photo
    is mostly flat, unlike a CIFAR picture.
    """
    if side not in (CROP, CIFAR):
        raise ValueError(f"side must be {CROP} or {CIFAR}, got {side}")
    photos = [_photo(package, name) for package, name in PHOTOS]
    seen: set[tuple[int, int, int]] = set()
    out = np.empty((count, side, side, 3), np.uint8)
    k = 0
    while len(seen) < count:
        which = k % len(photos)
        height, width, _ = photos[which].shape
        top = int((k * STEP_Y) % 1 * (height - CROP + 1))
        left = int((k * STEP_X) % 1 * (width - CROP + 1))
        k += 1
        if (which, top, left) in seen:
            continue
        crop = photos[which][top : top + CROP, left : left + CROP]
        if side == CIFAR:
            crop = np.asarray(Image.fromarray(crop).reduce(CROP // CIFAR))
        out[len(seen)] = crop
        seen.add((which, top, left))
    return out


def photographs(count: int, width: int, height: int) -> list[NDArray[np.uint8]]:
    """Distinct views of the photographs, each enlarged to cover a fifth more than it must."""
    photos = [_photo(package, name) for package, name in PHOTOS]
    made = []
    for k in range(count):
        image = Image.fromarray(photos[k % len(photos)])
        scale = 1.2 * max(width / image.width, height / image.height)
        image = image.resize((round(scale * image.width), round(scale * image.height)))
        left = int((k * STEP_X) % 1 * (image.width - width + 1))
        top = int((k * STEP_Y) % 1 * (image.height - height + 1))
        made.append(np.asarray(image.crop((left, top, left + width, top + height))))
    return made
