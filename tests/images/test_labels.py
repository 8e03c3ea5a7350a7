"""Labels: ImageNet's and CIFAR's are told by name, others by order; nothing passes unchecked."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from hardy.errors import InputError
from hardy.images.datasets import CLASSES
from hardy.images.labels import cifar_classes, classes_of, imagenet_classes
from hardy.suites import load
from hardy.suites import suite_names as suites


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
    with pytest.raises(
        InputError, match=r"200 classes of tiny_imagenet_c, got 2 \(a, b\).*`own_classes=True`"
    ):
        of("tiny_imagenet_c", [0, 1], ("a", "b"))
    assert of("tiny_imagenet_c", [0, 199], tuple(map(str, range(200)))).width == 200


WORDNET = imagenet_classes()[:3]
# Superclasses have their own way to tell classes (tests/run/test_superclasses.py).
CIFAR = [name for name in suites() if name.startswith("cifar") and load(name).shift is None]


@pytest.mark.parametrize("name", CIFAR)
def test_classes_of_cifar_are_told_by_name_in_any_order(name: str) -> None:
    known = cifar_classes(load(name).classes)
    last, *others = reversed(known)
    got = of(name, [0, 1, 2], (*others[:2], last))
    assert got.labels.tolist() == [len(known) - 2, len(known) - 3, len(known) - 1]
    assert (got.names, got.width) == (known, len(known))
    assert of(name, [0, len(known) - 1]).names is None


@pytest.mark.parametrize("name", CIFAR)
def test_other_folders_are_refused_for_cifar(name: str) -> None:
    """As many as there are classes, too: their order says nothing."""
    known = cifar_classes(load(name).classes)
    strange = ("pig", "zebra", *known[2:])
    title = f"CIFAR-{len(known)}"
    with pytest.raises(
        InputError,
        match=rf"names of {title}'s classes, such as {known[0]}, got 2 others "
        r"\(pig, zebra\).*say `own_classes=True`",
    ):
        of(name, [0, 1], strange)
    assert of(name, [0, 1], strange, own=True).labels.tolist() == [0, 1]


def test_cifars_classes() -> None:
    """The order of the authors is that of the alphabet."""
    assert cifar_classes(10) == CLASSES
    for count in (10, 100):
        names = cifar_classes(count)
        assert len(set(names)) == count
        assert list(names) == sorted(names)
    assert [cifar_classes(100).index(name) for name in ("apple", "cup", "worm")] == [0, 28, 99]


def test_a_suite_of_ones_own_with_ten_classes_is_not_cifars() -> None:
    suite = replace(load("cifar10_c"), images="ten kinds of screws", toml="")
    got = classes_of(suite, np.array([0, 9]), tuple("abcdefghij"), 2)
    assert got.labels.tolist() == [0, 9]


@pytest.mark.parametrize("bad", [-1, 10])
def test_labels_outside_the_range(bad: int) -> None:
    with pytest.raises(InputError, match=rf"from 0 to 9.*got {bad} for image 1 and 1 such"):
        of("cifar10_c", [0, bad, 3])


@pytest.mark.parametrize(("suite", "names"), [("cifar10_c", CLASSES[:3]), ("imagenet_c", WORDNET)])
@pytest.mark.parametrize("bad", [-1, 3])
def test_labels_that_have_no_name(suite: str, names: tuple[str, ...], bad: int) -> None:
    with pytest.raises(InputError, match=rf"from 0 to 2, the classes of these images, got {bad}"):
        of(suite, [0, bad], names)


def test_images_without_labels_are_for_sequences_only() -> None:
    with pytest.raises(InputError, match="expected labels, got images without any"):
        of("cifar10_c", None)
    got = of("cifar10_p", None)
    assert got.labels.tolist() == [-1, -1]
    assert got.width == 10


def test_own_classes_may_be_more_than_images_show() -> None:
    labels = np.array([0, 4])
    assert classes_of(load("imagenet_c"), labels, None, 2, own=True, classes=7).width == 7
    with pytest.raises(InputError, match="expected labels from 0 to 2, the classes of these"):
        classes_of(load("imagenet_c"), labels, None, 2, own=True, classes=3)
    with pytest.raises(InputError, match=r"numbers for 3 classes, got 2 names \(cats, dogs\)"):
        classes_of(load("imagenet_c"), labels % 2, ("cats", "dogs"), 2, own=True, classes=3)
