"""A batch is worked on in parts, and in smaller ones where the device is full."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from hardy.corrupt import CORRUPTIONS, Corruption
from hardy.corrupt import passes as engine
from hardy.engine.ops import cpu_ops, ops_for
from hardy.suites import edition, editions
from tests.photos import random_images


class Full:
    """Work that has room for so many images at a time."""

    def __init__(self, room: int) -> None:
        self.images = random_images(21, 8, 8)
        self.room = room
        self.sizes: list[int] = []

    def __call__(self, some: slice) -> np.ndarray:
        part = self.images[some]
        self.sizes.append(len(part))
        if len(part) > self.room:
            raise torch.OutOfMemoryError
        return part


@pytest.mark.parametrize(
    ("room", "part", "sizes"),
    [
        (100, 100, [21]),
        (100, 8, [8, 8, 5]),
        (7, 100, [21, 10, 5, 5, 5, 5, 1]),
        (1, 2, [2, *[1] * 21]),
        (100, 0, [1] * 21),
    ],
)
def test_what_does_not_fit_is_halved(room: int, part: int, sizes: list[int]) -> None:
    work = Full(room)
    np.testing.assert_array_equal(engine.in_parts(cpu_ops(), work, 21, part), work.images)
    assert work.sizes == sizes


def test_one_image_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(torch.OutOfMemoryError):
        engine.in_parts(cpu_ops(), Full(0), 21, 8)


def test_other_errors_are_not_tried_again() -> None:
    seen = []

    def work(some: slice) -> np.ndarray:
        seen.append(some)
        raise RuntimeError("something else")

    with pytest.raises(RuntimeError, match="something else"):
        engine.in_parts(cpu_ops(), work, 21, 8)
    assert len(seen) == 1


ON_GPU = 1024  # images of 224 x 224, as Triton's kernels take them
NATIVE = 224 * 224


def sizes_of_parts(corruption: Corruption, images: torch.Tensor) -> tuple[list[int], np.ndarray]:
    """How many images it is given at a time, and what comes of them all."""
    sizes = []

    def apply(ops, some, fields, **params):
        sizes.append(len(some))
        return corruption.apply(ops, some, fields, **params)

    params = edition(editions(corruption.name)[0]).params(corruption.name, 1)
    ids = np.arange(len(images), dtype=np.uint64)
    made = engine.run_pass(replace(corruption, apply=apply), images, params, key=3, ids=ids)
    return sizes, made.numpy()


@pytest.mark.parametrize(
    ("name", "room", "part"),
    [
        ("brightness", ON_GPU, 1024),
        ("perlin_noise", ON_GPU, 1024),
        ("noc_hue", ON_GPU, 256),
        ("noc_pixelate", ON_GPU, 256),
        ("noc_hue", 64, 64),
        ("noc_hue", 2, 2),
    ],
)
def test_plain_steps_are_given_a_quarter_of_what_kernels_are(name, room, part, monkeypatch) -> None:
    images = torch.from_numpy(random_images(1, 224, 224))
    asked = []
    monkeypatch.setattr(ops_for(images), "pixels_at_once", room * NATIVE)
    monkeypatch.setattr(ops_for(images), "kernels", frozenset({"recolour", "cloud"}))
    monkeypatch.setattr(engine, "in_parts", lambda ops, work, count, size: asked.append(size))
    engine.run_pass(CORRUPTIONS[name], images, {}, key=0, ids=np.zeros(1, np.uint64))
    assert asked == [part]


@pytest.mark.parametrize("name", [name for name in CORRUPTIONS.names() if "noc_" in name])
def test_smaller_parts_give_the_same_bytes(name, monkeypatch) -> None:
    images = torch.from_numpy(random_images(5, 32, 32))
    monkeypatch.setattr(ops_for(images), "pixels_at_once", ON_GPU * NATIVE)
    sizes, whole = sizes_of_parts(CORRUPTIONS[name], images)
    assert sizes == [5]
    monkeypatch.setattr(engine, "PIXELS_IN_STEPS", 2 * 32 * 32)
    sizes, parts = sizes_of_parts(CORRUPTIONS[name], images)
    assert sizes == [2, 2, 1]
    np.testing.assert_array_equal(parts, whole)
