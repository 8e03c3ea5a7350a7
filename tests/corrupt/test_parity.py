"""A fused pass of the backend gives the bytes of the formula it stands for.

A formula is plain array arithmetic, written once; where the backend brings it as one compiled
pass, both must agree on every byte, for the parameters of every edition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from hardy.corrupt import FORMULAS
from hardy.corrupt.imagenet_c.weather import MUD, WATER
from hardy.engine.ops import cpu_ops
from hardy.suites import edition, editions
from tests.corrupt import c_bar_cases
from tests.photos import flat_images, photos, random_images

OPS = cpu_ops()
RNG = np.random.default_rng(3)
Arguments = tuple[Any, ...]


def rows(corruption: str) -> list[dict[str, float]]:
    every = [row for name in editions(corruption) for row in edition(name).corruptions[corruption]]
    return list({tuple(row.values()): row for row in every}.values())


def haze(images: np.ndarray) -> Iterator[Arguments]:
    # The cloud is a square of the next power of two; the formula crops it.
    cloud = RNG.random((len(images), 128, 128))
    cloud[:, :3] = 0.0
    for row in rows("fog"):
        yield cloud, float(row["amount"])


def whiten(images: np.ndarray) -> Iterator[Arguments]:
    layer = RNG.integers(0, 256, images.shape[:3], np.uint8)
    layer[:, ::2] = 0
    for row in rows("snow"):
        yield layer, row["keep"]


def blanket(images: np.ndarray) -> Iterator[Arguments]:
    layer = RNG.integers(0, 256, images.shape[:3], np.uint8)
    layer[:, ::2] = 0
    for keep in {edition(e).steps("snow").params(1)["keep"] for e in editions("snow")} | {0.5}:
        yield layer, keep


def flakes(layer: np.ndarray) -> Iterator[Arguments]:
    yield (float(layer.flat[0]),)
    for row in rows("snow"):
        yield (float(row["threshold"]),)


def frosted(images: np.ndarray) -> Iterator[Arguments]:
    texture = RNG.integers(0, 256, images.shape, np.uint8)
    for row in rows("frost"):
        yield texture, float(row["image_weight"]), float(row["frost_weight"])


def glisten(liquid: np.ndarray) -> Iterator[Arguments]:
    for strength in (0.6, 0.5):
        yield RNG.integers(0, 256, liquid.shape, np.uint8), strength
        yield np.zeros_like(liquid), strength


def splash(images: np.ndarray) -> Iterator[Arguments]:
    amount = RNG.random(images.shape[:3]).astype(np.float32)
    amount[:, :, ::3] = 0
    for row in rows("spatter"):
        if not row["mud"]:
            yield amount * np.float32(row["strength"]), np.float32(WATER)


def cover(images: np.ndarray) -> Iterator[Arguments]:
    amount = RNG.uniform(0.8, 1.0, images.shape[:3]).astype(np.float32)
    amount[:, :, ::3] = 0
    yield amount, np.float32(MUD)


def stretch(images: np.ndarray) -> Iterator[Arguments]:
    for row in rows("contrast"):
        yield OPS.channel_means(images), float(row["gain"])
        yield RNG.random((len(images), 3)), float(row["gain"])


def recolour(images: np.ndarray) -> Iterator[Arguments]:
    for row in rows("brightness"):
        yield float(row["shift"]), 1.0, 0.0
    for row in rows("saturate"):
        yield 0.0, float(row["gain"]), float(row["offset"])


def brighten(images: np.ndarray) -> Iterator[Arguments]:
    for sigma in (0.0, 0.05, 0.18, 3.0):
        yield RNG.standard_normal(images.shape), np.full(len(images), sigma)


def mix(images: np.ndarray) -> Iterator[Arguments]:
    for passes in (1, 5, 9):
        yield OPS.box_sums(images, passes), float(9**passes), RNG.uniform(0.4, 0.95, len(images))
    yield 9.0 * images, 9.0, RNG.uniform(0.4, 0.95, len(images))


def fade(images: np.ndarray) -> Iterator[Arguments]:
    for weight in (0.0, 0.49, 0.77, 1.0):
        yield (np.full(len(images), weight),)


def turn_hue(images: np.ndarray) -> Iterator[Arguments]:
    for shift in (0, 12, 127, -12, -127):
        yield (np.full(len(images), shift),)


CASES: dict[str, Callable[[np.ndarray], Iterator[Arguments]]] = {
    case.__name__: case
    for case in (
        *(haze, whiten, flakes, blanket, frosted, glisten, splash, cover, stretch, recolour),
        *(brighten, mix, fade, turn_hue),
    )
} | c_bar_cases.CASES

# What a formula is applied to, where that is a layer instead of the images.
LAYERS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "flakes": lambda images: RNG.normal(0.3, 0.5, images.shape[:3]),
    "glisten": lambda images: np.ascontiguousarray(images[..., 0]),
}


def test_every_formula_has_a_case():
    assert set(CASES) == set(FORMULAS)
    assert set(OPS.fused) <= set(FORMULAS)


@pytest.mark.parametrize("name", OPS.fused)
def test_fused_equals_plain(name):
    tried = 0
    for images in (
        photos(100, 83),
        random_images(3, 97, 128),
        random_images(2, 8, 8, seed=1),
        flat_images(8, 9),
    ):
        subject = LAYERS[name](images) if name in LAYERS else images
        for arguments in CASES[name](subject):
            fused = OPS.fused[name](subject, *arguments)
            plain = FORMULAS[name](OPS, subject, *arguments)
            assert fused.dtype == plain.dtype
            differing = np.count_nonzero(fused != plain)
            assert differing == 0, f"{arguments[1:]}: {differing} of {plain.size} differ"
            tried += 1
    assert tried >= 4
