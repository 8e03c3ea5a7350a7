"""The reference's own draws: NumPy's legacy generator, in the order its recipes call it.

Each function returns fields for `hardy.replay` as the reference would have drawn them from
`RandomState(0)` for one square image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from hardy.engine import textures
from hardy.engine.tables.filter_weights import clipped_zoom

Fields = dict[str, NDArray[np.generic]]
Params = Mapping[str, float]
Image = NDArray[np.uint8]
Draw = Callable[[np.random.RandomState, Image, Params], Fields]


def _normal(rng: np.random.RandomState, image: Image, params: Params) -> Fields:
    return {"normal": rng.standard_normal(image.shape)}


def _count(rng: np.random.RandomState, image: Image, params: Params) -> Fields:
    return {"count": rng.poisson(image / 255.0 * params["photons"])}


def _impulse(rng: np.random.RandomState, image: Image, params: Params) -> Fields:
    return {"hit": rng.random_sample(image.shape), "salt": rng.random_sample(image.shape)}


def _glass(rng: np.random.RandomState, image: Image, params: Params) -> Fields:
    reach, side = int(params["reach"]), len(image)
    moves = []
    for _ in range(int(params["passes"])):
        pairs = [rng.randint(-reach, reach, size=2) for _ in range((side - 2 * reach) ** 2)]
        moves.append([(dy + reach) * 2 * reach + dx + reach for dx, dy in pairs])
    return {"moves": np.array(moves, np.uint32)}


def _motion(rng: np.random.RandomState, image: Image, params: Params) -> Fields:
    return {"angle": np.array([rng.uniform(-45, 45)])}


def _snow(rng: np.random.RandomState, image: Image, params: Params) -> Fields:
    layer = rng.standard_normal(image.shape[:2])
    zoom = clipped_zoom(len(image), params["zoom"])
    middle = slice(zoom.top, zoom.top + zoom.crop)
    return {"layer": layer[middle, middle], "angle": np.array([rng.uniform(-135, -45)])}


def _frost(rng: np.random.RandomState, image: Image, params: Params) -> Fields:
    which = rng.randint(5)
    height, width = textures.size_for(params["texture_scale"], *image.shape[:2])[which]
    row, column = rng.randint(0, height - len(image)), rng.randint(0, width - len(image))
    return {"texture": np.array(which), "row": np.array(row), "column": np.array(column)}


def _fog(rng: np.random.RandomState, image: Image, params: Params) -> Fields:
    side = 1 << (len(image) - 1).bit_length()
    return {"steps": rng.random_sample(side * side - 1)}


def _elastic(rng: np.random.RandomState, image: Image, params: Params) -> Fields:
    jitter = params["base"] * params["affine"]
    return {
        "corners": rng.uniform(-jitter, jitter, size=(3, 2)),
        "along": rng.uniform(-1, 1, size=image.shape[:2]),
        "down": rng.uniform(-1, 1, size=image.shape[:2]),
    }


def _layer(rng: np.random.RandomState, image: Image, params: Params) -> Fields:
    return {"layer": rng.standard_normal(image.shape[:2])}


DRAWS: dict[str, Draw] = {
    "gaussian_noise": _normal,
    "speckle_noise": _normal,
    "shot_noise": _count,
    "impulse_noise": _impulse,
    "glass_blur": _glass,
    "motion_blur": _motion,
    "snow": _snow,
    "frost": _frost,
    "fog": _fog,
    "elastic_transform": _elastic,
    "spatter": _layer,
}


def legacy_fields(name: str, image: Image, params: Params) -> Fields:
    """The draws of seed 0, with a leading axis for the one image; none for fixed corruptions."""
    draw = DRAWS.get(name)
    fields = draw(np.random.RandomState(0), image, params) if draw else {}
    return {field: value[None] for field, value in fields.items()}
