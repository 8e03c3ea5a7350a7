"""Corruptions as augmentations of the MAITE protocols, without that library's help."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

import hardy
from tests.photos import random_images

IMAGES = random_images(6, 32, 32)
BATCH: Any = (
    [np.moveaxis(image, 2, 0) for image in IMAGES],
    list(np.eye(10)[[0, 1, 2, 3, 4, 5]]),
    [{"id": name, "hour": 9} for name in ("a", "b", 7, 8, "c", 2**40)],
)


@pytest.mark.parametrize("name", ["gaussian_noise", "fog", "elastic_transform"])
def test_the_bytes_of_hardy_corrupt(name: str) -> None:
    augment = hardy.MaiteCorruption(name, 3, seed=5)
    images, targets, facts = augment(BATCH)
    wanted = hardy.corrupt(IMAGES, name, 3, seed=5, ids=[one["id"] for one in BATCH[2]])
    for image, row in zip(images, wanted, strict=True):
        np.testing.assert_array_equal(image, np.moveaxis(row, 2, 0))
    assert targets is BATCH[1]
    assert facts is BATCH[2]


def test_neither_batches_nor_their_order_matter() -> None:
    augment = hardy.MaiteCorruption("gaussian_noise", 2)
    whole = augment(BATCH)[0]
    backwards = augment(tuple(part[::-1] for part in BATCH))[0]
    for place in range(6):
        (alone,) = augment(tuple([part[place]] for part in BATCH))[0]
        np.testing.assert_array_equal(alone, whole[place])
        np.testing.assert_array_equal(alone, backwards[5 - place])
    other = hardy.MaiteCorruption("gaussian_noise", 2, seed=1)(BATCH)[0]
    assert (np.asarray(other[0]) != whole[0]).any()


def test_floats_stay_floats_and_sizes_may_differ() -> None:
    small = torch.tensor(IMAGES[0][:16]).permute(2, 0, 1)
    mixed = ([BATCH[0][0] / np.float32(255), small, BATCH[0][1]], BATCH[1][:3], BATCH[2][:3])
    fog = hardy.MaiteCorruption("fog", 3)
    images: Any = fog(mixed)[0]
    assert [image.dtype for image in images] == [np.float32, np.uint8, np.uint8]
    assert [image.shape for image in images] == [(3, 32, 32), (3, 16, 32), (3, 32, 32)]
    np.testing.assert_array_equal(images[0] * 255, np.rint(images[0] * 255))
    np.testing.assert_array_equal(np.rint(images[0] * 255), np.asarray(fog(BATCH)[0][0]))


def test_it_says_what_it_is() -> None:
    made = hardy.MaiteCorruption("fog", 3, seed=4, edition="cifar")
    assert made.metadata["id"] == "hardy fog 3, edition cifar, seed 4"
    assert repr(made) == "MaiteCorruption('fog', 3, seed=4)"


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (BATCH[0], "expected a batch (images, targets, metadata), as many of each, got 6 of"),
        ((BATCH[0], BATCH[1], []), "as many of each, got 3 of the lengths 6, 6, 0"),
        (IMAGES, "expected a batch (images, targets, metadata), as many of each, got ndarray"),
        (([BATCH[0][0]], [0], [{}]), 'expected metadata with an "id" for each image'),
        (([IMAGES[0]], [0], [{"id": 1}]), "image 1: expected an RGB image (3, H, W), got uint8"),
    ],
)
def test_what_is_refused(batch: Any, message: str) -> None:
    with pytest.raises(hardy.InputError, match=re.escape(message)):
        hardy.MaiteCorruption("fog", 3)(batch)


def test_a_corruption_that_there_is_not() -> None:
    with pytest.raises(hardy.InputError, match='unknown corruption "fogg"'):
        hardy.MaiteCorruption("fogg", 3)
    with pytest.raises(hardy.InputError, match="expected a severity"):
        hardy.MaiteCorruption("fog", 6)
