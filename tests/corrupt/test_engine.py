"""A batch is worked on in parts, and in smaller ones where the device is full."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hardy.arrays.ops import cpu_ops
from hardy.corrupt import engine
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
