"""Labels: ImageNet's folders are told by name, others by order; nothing passes unchecked."""

from __future__ import annotations

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.predictions.labels import classes_of, imagenet_classes
from hardy.suites import load


def of(suite: str, labels: list[int] | None, names=None, *, own: bool = False):
    array = None if labels is None else np.array(labels, np.int64)
    return classes_of(load(suite), array, names, len(labels or [0, 0]), own=own)


def test_imagenet_classes_are_the_thousand_in_sorted_order() -> None:
    names = imagenet_classes()
    assert len(set(names)) == 1000
    assert list(names) == sorted(names)
    # Tench, goldfish and the last one: toilet tissue.
    assert (names[0], names[1], names[999]) == ("n01440764", "n01443537", "n15075141")


def test_some_of_imagenets_folders_keep_their_numbers() -> None:
    got = of("imagenet_c", [0, 1, 1], ("n01443537", "n15075141"))
    assert got.labels.tolist() == [1, 999, 999]
    assert got.width == 1000
    assert got.names == imagenet_classes()


@pytest.mark.parametrize("kind", ["imagenet_c", "imagenet_p", "imagenet_c_299", "imagenet64_c"])
def test_other_folders_are_refused_for_imagenet(kind: str) -> None:
    with pytest.raises(InputError, match=r"WordNet names.*2 others \(cats, \[bold\]dogs\)"):
        of(kind, [0, 1, 2], ("cats", "[bold]dogs", "n01440764"))


def test_own_classes() -> None:
    got = of("imagenet_c", [0, 1, 2], ("cats", "dogs", "newts"), own=True)
    assert got.labels.tolist() == [0, 1, 2]
    assert (got.width, got.names) == (3, ("cats", "dogs", "newts"))
    assert of("imagenet_c", [0, 4], own=True).width == 5


def test_class_folders_of_a_small_suite_are_counted() -> None:
    with pytest.raises(InputError, match=r"10 classes of cifar10_c, got 2 \(a, b\).*--own-classes"):
        of("cifar10_c", [0, 1], ("a", "b"))
    assert of("cifar10_c", [0, 9], tuple("abcdefghij")).width == 10


@pytest.mark.parametrize("bad", [-1, 10])
def test_labels_outside_the_range(bad: int) -> None:
    with pytest.raises(InputError, match=rf"from 0 to 9.*got {bad} for image 1 and 1 such"):
        of("cifar10_c", [0, bad, 3])


def test_images_without_labels_are_for_sequences_only() -> None:
    with pytest.raises(InputError, match="expected labels, got images without any"):
        of("cifar10_c", None)
    got = of("cifar10_p", None)
    assert got.labels.tolist() == [-1, -1]
    assert got.width == 10
