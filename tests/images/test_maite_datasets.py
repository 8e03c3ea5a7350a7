"""Data sets of the MAITE protocols, and augmentations for them, without that library's help."""

from __future__ import annotations

import pickle
import re
from typing import Any

import numpy as np
import pytest
import torch

import hardy
from hardy.images.dataset_objects import source_of_dataset
from tests.photos import random_images

IMAGES = random_images(20, 32, 24)
LABELS = [n % 10 for n in range(20)]
NAMES = {n: f"class {n}" for n in range(10)}


def channels_first(image: Any) -> Any:
    return np.moveaxis(image, 2, 0)


class Items:
    """A data set of MAITE's kind; `make` is what becomes of an image (H, W, 3)."""

    pixels = IMAGES

    def __init__(self, make: Any = channels_first, **facts: Any) -> None:
        self.metadata = {"id": "some digits", "index2label": NAMES, **facts}
        self.make, self.targets = make, np.eye(10)[LABELS]
        self.ids: list[Any] = [f"photo {place}" for place in range(20)]
        self.length = 20

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, place: int, /) -> Any:
        return self.make(self.pixels[place]), self.targets[place], {"id": self.ids[place]}


class ByField(Items):
    """One that can be asked for targets and metadata alone; counts how often images are made."""

    asked = 0

    def __getitem__(self, place: int, /) -> Any:
        type(self).asked += 1
        return super().__getitem__(place)

    def get_input(self, place: int, /) -> Any:
        return self[place][0]

    def get_target(self, place: int, /) -> Any:
        return self.targets[place]

    def get_metadata(self, place: int, /) -> Any:
        return {"id": self.ids[place]}


KINDS = {
    "bytes": channels_first,
    "tensor": lambda image: torch.tensor(image).permute(2, 0, 1),
    "floats": lambda image: torch.tensor(image).permute(2, 0, 1) / 255,
    "float64": lambda image: np.moveaxis(image, 2, 0) / 255,
}


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_read_as_it_is(kind: str) -> None:
    source = source_of_dataset(Items(KINDS[kind]))
    assert source.describe() == "20 images of 10 classes, MAITE data set some digits"
    assert source.classes == tuple(NAMES.values())
    assert source.labels is not None
    assert source.labels.tolist() == LABELS
    assert list(source.ids) == [f"photo {place}" for place in range(20)]
    for index in (0, 7, -1):
        np.testing.assert_array_equal(source.read(index), IMAGES[index])


def test_floats_are_rounded_halves_to_even() -> None:
    values = np.array([0, 0.5 / 255, 1.5 / 255, 0.999, 1])
    levels = np.broadcast_to(values.repeat(2), (3, 10, 10))
    source = source_of_dataset(Items(lambda image: levels))
    assert source.read(0)[0, ::2, 0].tolist() == [0, 0, 2, 255, 255]


def test_it_travels_to_other_processes() -> None:
    pickled = pickle.loads(pickle.dumps(source_of_dataset(Items())))
    np.testing.assert_array_equal(pickled.read(3), IMAGES[3])


def test_classes_without_names_are_as_many_as_targets_have() -> None:
    some = Items(index2label=None)
    some.targets = np.eye(40)[LABELS]
    assert source_of_dataset(some).describe().startswith("20 images of 40 classes")


def test_three_pixels_are_no_channels() -> None:
    """An image (3, H, 3) has its channels first, whatever its width."""
    narrow = np.arange(3 * 10 * 3, dtype=np.uint8).reshape(3, 10, 3)
    source = source_of_dataset(Items(lambda image: narrow))
    np.testing.assert_array_equal(source.read(0), narrow.transpose(1, 2, 0))


def test_images_are_not_made_to_list_labels() -> None:
    source = source_of_dataset(ByField())
    assert ByField.asked == 1  # the first, to be checked
    assert source.labels is not None
    assert source.labels.tolist() == LABELS


def changed(**parts: Any) -> Items:
    items = Items()
    vars(items).update(parts)
    return items


@pytest.mark.parametrize(
    ("dataset", "message"),
    [
        (changed(ids=[3] * 20), "some digits: expected an id of its own for each image, got 3"),
        (changed(ids=[3, "4"] * 10), "expected ids that are all numbers, or all text, got both"),
        (changed(ids=range(-1, 19)), "expected ids from 0 to 2**63 - 1, got -1; text will do"),
        (changed(ids=range(10**30, 10**30 + 20)), f"from 0 to 2**63 - 1, got {10**30}; text"),
        (changed(ids=range(10**5000, 10**5000 + 20)), "got a number of too many digits; text"),
        (changed(ids=[None] * 20), 'expected metadata with an "id" that is a number or a text'),
        (changed(targets=LABELS), "item 0 of some digits: expected a target with one number for"),
        (changed(targets=np.ones((20, 3))), "expected a target of one class, got [1.0, 1.0, 1.0]"),
        (Items(lambda image: image), "expected an RGB image (3, H, W), got uint8 (32, 24, 3)"),
        (Items(lambda i: i.transpose(2, 0, 1) / 9.0), "floats from 0 to 1, got float64 from 0"),
        (Items(lambda i: i.transpose(2, 0, 1) * np.nan), "leave normalising to the model"),
        (Items(lambda i: i.transpose(2, 0, 1).astype(int)), "expected uint8, or floats from 0"),
        (Items(lambda image: 1 / 0), "cannot read item 0 of some digits: ZeroDivisionError"),
        (Items(index2label={1: "one"}), 'expected "index2label" to name the classes 0 to 0'),
        (
            Items(index2label={0: "a"}),
            'expected "index2label" to name all classes, got a target of',
        ),
        (changed(length=-1), "cannot read the length of some digits: ValueError: __len__() should"),
    ],
)
def test_what_is_refused(dataset: Items, message: str) -> None:
    with pytest.raises(hardy.InputError, match=re.escape(message)):
        source_of_dataset(dataset)


def test_items_are_of_three_parts() -> None:
    class Pairs(Items):
        def __getitem__(self, place: int, /) -> Any:
            return super().__getitem__(place)[:2]

    wanted = "expected (image, target, metadata), as MAITE has it, got a tuple of 2"
    with pytest.raises(hardy.InputError, match=re.escape(wanted)):
        source_of_dataset(Pairs())
