"""JPEG, pixelate and frost's windows in Triton give the CPU engine's bytes."""

from __future__ import annotations

import numpy as np
import pytest

from tests.engine import triton_device  # noqa: F401, isort: skip

from hardy.engine.ops import cpu_ops
from hardy.engine.triton import boxes, jpeg
from hardy.errors import InputError
from tests.engine.torch_device import BATCHES, assert_same, moved
from tests.photos import random_images

CPU = cpu_ops()
every_batch = pytest.mark.parametrize("batch", BATCHES)


@pytest.mark.parametrize(
    ("batch", "quality"),
    [("photos", 10), ("random", 100), ("extremes", 1), ("smallest", 50), ("narrow", 85)],
)
def test_jpeg(batch, quality):
    images = BATCHES[batch]
    assert_same(jpeg.jpeg(moved(images), quality), CPU.jpeg(images, quality))


@pytest.mark.parametrize("size", [(9, 18), (10, 15), (17, 9), (15, 17)])
def test_jpeg_pads_what_is_no_multiple(size):
    images = random_images(1, *size)
    assert_same(jpeg.jpeg(moved(images), 75), CPU.jpeg(images, 75))


def test_jpeg_too_long():
    with pytest.raises(InputError, match="at most 65500"):
        jpeg.jpeg(moved(np.zeros((1, 8, 65501, 3), np.uint8)), 75)


@every_batch
@pytest.mark.parametrize("scale", [0.95, 0.6, 0.25])
def test_pixelate(batch, scale):
    images = BATCHES[batch]
    small = (int(images.shape[1] * scale), int(images.shape[2] * scale))
    assert_same(boxes.pixelate(moved(images), small), CPU.pixelate(images, small))


def test_crops():
    sources = [random_images(1, *side)[0] for side in ((30, 40), (12, 9), (25, 60))]
    places = [np.array([2, 0, 1, 1, 0]), np.array([13, 7, 0, 0, 18]), np.array([51, 0, 0, 0, 31])]
    result = boxes.crops(sources, *map(moved, places), (12, 9))
    assert_same(result, CPU.crops(sources, *places, (12, 9)))


def test_replayed_windows_stay_inside():
    sources = [random_images(1, 30, 40)[0], random_images(1, 12, 9)[0]]
    wild = [np.array([7, -3]), np.array([-5, 99]), np.array([99, 40])]
    tame = [np.array([1, 0]), np.array([0, 18]), np.array([0, 31])]
    result = boxes.crops(sources, *map(moved, wild), (12, 9))
    assert_same(result, CPU.crops(sources, *tame, (12, 9)))
