"""Data sets of torch's and Hugging Face's kinds, given in Python, without either library's help."""

import pickle
from collections import UserDict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

import hardy
from hardy.errors import InputError
from hardy.images.dataset_objects import source_of_dataset
from hardy.images.labels import classes_of, imagenet_classes
from hardy.suites import load
from tests.photos import random_images

IMAGES = random_images(20, 32, 32)
LABELS = [n % 10 for n in range(20)]


class Pairs(torch.utils.data.Dataset):  # type: ignore[misc, type-arg]
    """Counts how often it is asked."""

    def __init__(self, make: Any = Image.fromarray, **facts: Any) -> None:
        self.make, self.asked = make, 0
        vars(self).update(facts)

    def __len__(self) -> int:
        return 20

    def __getitem__(self, place: int) -> tuple[Any, int]:
        self.asked += 1
        return self.make(IMAGES[place]), LABELS[place]


def columns(make: Any = Image.fromarray, names: Any = None) -> Any:
    """Like Hugging Face's Dataset: rows by number, columns by name, in a format that is set."""

    class Dataset(list):  # type: ignore[type-arg]
        @property
        def features(self) -> Any:
            return UserDict(image=None, label=SimpleNamespace(names=names))

        def with_format(self, kind: None) -> dict[str, Any]:
            return {"label": LABELS}

    return Dataset({"image": make(i), "label": n} for i, n in zip(IMAGES, LABELS, strict=True))


KINDS = {
    "pil": Image.fromarray,
    "array": lambda image: image,
    "tensor": lambda image: torch.tensor(image).permute(2, 0, 1),
    "tensor, channels last": torch.tensor,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("of", [Pairs, columns])
def test_images_and_labels_come_through(kind: str, of: Any) -> None:
    source = source_of_dataset(of(KINDS[kind]))
    assert source.labels is not None
    assert (source.labels.tolist(), list(source.ids)) == (LABELS, list(range(20)))
    for index in (0, 7, -1):
        np.testing.assert_array_equal(source.read(index), IMAGES[index])
    with pytest.raises(IndexError):
        source.read(20)


def test_it_is_evaluated_as_the_array_is(tmp_path: Path) -> None:
    few: Any = {"suite": "cifar10_c", "only": ["contrast"], "severities": 1}
    array = hardy.evaluate("fake:10", images=IMAGES, labels=LABELS, store=tmp_path / "a", **few)
    given = hardy.evaluate("fake:10", images=Pairs(), store=tmp_path / "b", **few)
    assert str(given.score()) == str(array.score())
    with pytest.raises(InputError, match="expected no `labels` with a data set"):
        hardy.evaluate("fake:10", images=Pairs(), labels=LABELS, store=tmp_path / "c", **few)


def test_labels_are_taken_from_where_they_are_kept() -> None:
    told = Pairs(targets=torch.tensor(LABELS), classes=list("abcdefghij"))
    assert source_of_dataset(told).classes == tuple("abcdefghij")
    assert told.asked == 1
    changed = Pairs(targets=[9] * 20, target_transform=lambda label: label)
    source = source_of_dataset(changed)
    assert source.labels is not None
    assert source.labels.tolist() == LABELS
    assert changed.asked == 21
    wrong = source_of_dataset(Pairs(targets=[9] * 20))
    with pytest.raises(InputError, match="item 3 of Pairs has the label 3, and had 9 when it was"):
        wrong.read(3)
    assert source_of_dataset(columns(names=list("ab"))).classes == ("a", "b")
    imagenet = Pairs(targets=LABELS, wnids=["n1"], classes=[("tench", "Tinca tinca")])
    assert source_of_dataset(imagenet).classes == ("n1",)


def test_it_goes_to_other_processes() -> None:
    again = pickle.loads(pickle.dumps(source_of_dataset(Pairs())))
    np.testing.assert_array_equal(again.read(3), IMAGES[3])
    assert again.describe() == "20 images of 10 classes, data set Pairs"


class Negative(Pairs):
    def __len__(self) -> int:
        return -1


@pytest.mark.parametrize(
    ("dataset", "reason"),
    [
        (
            Pairs(lambda image: torch.tensor(image).permute(2, 0, 1) / 255),
            r"item 0 of Pairs: expected .*got torch.float32 \(3, 32, 32\); leave out .*Normalize",
        ),
        (Pairs(lambda image: image / 255), r"got float64 \(32, 32, 3\); leave out"),
        (Pairs(lambda image: image[..., 0]), r"got uint8 \(32, 32\)"),
        (Pairs(lambda image: "a.png"), "expected a PIL image or uint8 pixels, got str"),
        (Pairs(lambda image: 1 / 0), r"cannot read item 0 of Pairs: ZeroDivisionError"),
        (list(IMAGES), "expected an image and its class number, .*got ndarray with the label None"),
        (Negative(), "cannot read the length of Negative: ValueError: .*; the data set raised it"),
        ([(IMAGES[0], "cat")], "got tuple with the label 'cat'"),
        ([{"pixels": IMAGES[0]}], "got pixels with the label None"),
        ({"train": [], "test": []}, r"got a dict of train, test; name one .*images\[\"test\"\]"),
    ],
)
def test_what_is_refused(dataset: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        source_of_dataset(dataset)


def test_an_empty_one(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="expected images to evaluate on, got none: 0 images"):
        hardy.evaluate("fake:10", suite="cifar10_c", images=[], store=tmp_path)


def test_imagenets_classes_in_words_keep_their_order() -> None:
    words = [f"thing {n}" for n in range(1000)]
    words[:3], words[999] = ["tench, Tinca tinca", "goldfish", "great white shark"], "toilet tissue"
    labels = np.array([999, 0, 500])
    got = classes_of(load("imagenet_c"), labels, tuple(words), 3)
    assert (got.labels.tolist(), got.names) == ([999, 0, 500], imagenet_classes())
    with pytest.raises(InputError, match="got 1,000 others"):
        classes_of(load("imagenet_c"), labels, tuple(sorted(words)), 3)


def test_an_image_folder_of_numbers_is_told_by_them() -> None:
    """Its classes are sorted as text."""
    names = tuple(sorted(map(str, range(12))))
    got = classes_of(load("imagenet_c"), np.array([2, 4]), names, 2)
    assert got.labels.tolist() == [10, 2]
