"""Which class number a label means to the model: ImageNet's and CIFAR's by name, others by order.

Class folders are numbered in sorted order. For ImageNet that is the models' own order only where
all 1,000 folders are there; so they are told by their WordNet names, and a part of them will do.
The same goes for CIFAR: ten folders of other things have nothing to do with its models.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError, printable
from hardy.images.datasets import CLASSES
from hardy.suites.suite import Suite

IMAGENET = 1000  # classes


class Classes(NamedTuple):
    labels: npt.NDArray[np.int32]  # -1 where the images have none
    names: tuple[str, ...] | None
    width: int  # how many classes the model must tell apart


@cache
def imagenet_classes() -> tuple[str, ...]:
    """The WordNet names, in the order every ImageNet model has."""
    text = Path(__file__).with_name("imagenet_classes.txt").read_text(encoding="ascii")
    return tuple(text.split())


@cache
def cifar_classes(count: int) -> tuple[str, ...]:
    """The names of CIFAR-10 or CIFAR-100, in the order of their authors."""
    if count == len(CLASSES):
        return CLASSES
    return tuple(Path(__file__).with_name("cifar100_classes.txt").read_text("ascii").split())


def classes_of(
    suite: Suite,
    labels: npt.NDArray[np.int64] | None,
    names: tuple[str, ...] | None,
    count: int,
    *,
    own: bool = False,
) -> Classes:
    """The labels of `count` images as the models of a suite number them.

    `own`: the classes are those of the images, not the suite's.
    """
    if labels is None:
        if suite.kind == "corruptions" or own:
            raise InputError(
                "expected labels, got images without any; put them into one folder per class, or "
                "name a file with --labels"
            )
        return Classes(np.full(count, -1, np.int32), None, suite.classes)
    width = suite.classes
    if own:
        width = len(names) if names else int(labels.max()) + 1
    elif names is not None and (known := _known_classes(suite)):
        _check_range(labels, len(names), "these images")
        labels, names = _by_name(labels, names, known), known.names
    elif names is not None and len(names) != suite.classes:
        raise InputError(
            f"expected the {suite.classes:,} classes of {suite.name}, got {len(names):,} "
            f"({_some(names)}); if the model tells just these apart, say --own-classes"
        )
    _check_range(labels, width, "these images" if own else suite.name)
    return Classes(labels.astype(np.int32), names, width)


def check_trained_on(
    trained: tuple[str, ...] | None, names: tuple[str, ...] | None, model: str, *, own: bool
) -> str | None:
    """Refuse images whose classes have other numbers than the model was trained with, as far as
    both have names; return a warning where only the names differ.

    A net knows classes by their number alone, and a set that lacks one class numbers the rest anew.
    """
    if trained is None or names is None or trained == names:
        return None
    number = {name: place for place, name in enumerate(trained)}
    moved = [(name, place) for place, name in enumerate(names) if number.get(name, place) != place]
    if not moved and len(names) == len(trained):
        here, there = next((a, b) for a, b in zip(names, trained, strict=True) if a != b)
        return (
            f'{model} was trained on classes of other names, "{there}" where these images '
            f'have "{here}": if they are not the same classes in the same order, its scores mean '
            "nothing"
        )
    what = f"on {len(trained):,} classes, and these images have {len(names):,}"
    if moved:
        name, place = moved[0]
        what = f'with "{name}" as number {number[name]}, which is {place} here'
    todo = "bring images of all these classes and no others, or labels that are numbers"
    raise InputError(
        f"expected images of the classes that {model} was trained on, but it was trained "
        f"{what}; {todo if own else 'if these are its own classes, say --own-classes'}"
    )


class _Known(NamedTuple):
    expected: str
    names: tuple[str, ...]


def _known_classes(suite: Suite) -> _Known | None:
    """The class names of a suite whose data set has some."""
    if suite.classes == IMAGENET:
        return _Known("class folders with ImageNet's WordNet names", imagenet_classes())
    title = f"CIFAR-{suite.classes}"
    # Suites made out of these have the same images; others may well have ten classes, too.
    if title in ("CIFAR-10", "CIFAR-100") and title in suite.images:
        return _Known(f"the names of {title}'s classes", cifar_classes(suite.classes))
    return None


def _by_name(
    labels: npt.NDArray[np.int64], names: tuple[str, ...], known: _Known
) -> npt.NDArray[np.int64]:
    number = {name: index for index, name in enumerate(known.names)}
    strange = [name for name in names if name not in number]
    if strange:
        raise InputError(
            f"expected {known.expected}, such as {known.names[0]}, got {len(strange):,} others "
            f"({_some(strange)}); rename them, or, if the model has classes of its own in the "
            "order of these, as one that was trained on them has, say --own-classes"
        )
    return np.array([number[name] for name in names], np.int64)[labels]


def _check_range(labels: npt.NDArray[np.int64], width: int, whose: str) -> None:
    outside = np.flatnonzero((labels < 0) | (labels >= width))
    if len(outside):
        raise InputError(
            f"expected labels from 0 to {width - 1}, the classes of {whose}, got "
            f"{labels[outside[0]]} for image {outside[0]:,} and {len(outside):,} such in all; are "
            "they numbered from 1, or of another data set?"
        )


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(printable(name[:40]) for name in names[:3])
    return f"{shown}, …" if len(names) > 3 else shown
