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
_COMPARED = (0, 1, 2, 999)  # classes of which the first word is the same in every list
Names = tuple[str, ...]
Numbers = npt.NDArray[np.int64]


class Classes(NamedTuple):
    labels: npt.NDArray[np.int32]  # -1 where the images have none
    names: Names | None
    width: int  # how many classes the model must tell apart


def imagenet_classes() -> tuple[str, ...]:
    """The WordNet names, in the order every ImageNet model has."""
    return _listed("imagenet_classes.txt")


def spoken_class(name: str) -> str:
    """What people call a class: of a WordNet name the word, of any other the name itself."""
    return _spoken().get(name, name)


def cifar_classes(count: int) -> tuple[str, ...]:
    """The names of CIFAR-10 or CIFAR-100, in the order of their authors."""
    return CLASSES if count == len(CLASSES) else _listed("cifar100_classes.txt")


@cache
def _imagenet_words() -> tuple[str, ...]:
    """What people call ImageNet's classes, in the order of models."""
    words = Path(__file__).with_name("imagenet_words.txt").read_text("ascii")
    return tuple(words.splitlines())


@cache
def _spoken() -> dict[str, str]:
    return dict(zip(imagenet_classes(), _imagenet_words(), strict=True))


@cache
def _listed(file: str) -> tuple[str, ...]:
    return tuple(Path(__file__).with_name(file).read_text("ascii").split())


def classes_of(
    suite: Suite,
    labels: Numbers | None,
    names: Names | None,
    count: int,
    *,
    own: bool = False,
    classes: int | None = None,
) -> Classes:
    """The labels of `count` images as models number them: by the suite's classes, or by `own`, of
    which there may be more than images show: `classes`."""
    if classes is not None and not own:
        raise InputError("expected `classes` with `own_classes=True`: the suite has its own number")
    if labels is None:
        if suite.kind != "perturbations" or own:
            raise InputError(
                "expected labels, got images without any; put them into one folder per class, or "
                "name a file with `labels`"
            )
        return Classes(np.full(count, -1, np.int32), None, suite.classes)
    width = suite.classes
    if own:
        width = classes or (len(names) if names else int(labels.max()) + 1)
        if names and len(names) != width:
            raise InputError(
                f"expected labels that are numbers for {width:,} classes, got {len(names):,} names "
                f"({_some(names)}), which do not tell their numbers; name a file with `labels`"
            )
    elif names is not None and all(map(str.isdecimal, names)) and 0 in map(int, names):
        _check_range(labels, len(names), "these images")
        labels, names = np.array([int(name) for name in names], np.int64)[labels], None
    elif names is not None and (known := _known_classes(suite)):
        _check_range(labels, len(names), "these images")
        labels = labels if _are_imagenets(names) else _by_name(labels, names, *known)
        names = known[1]
    elif names is not None and len(names) != suite.classes:
        raise InputError(
            f"expected the {suite.classes:,} classes of {suite.name}, got {len(names):,} "
            f"({_some(names)}); if the model tells just these apart, say `own_classes=True`"
        )
    _check_range(labels, width, "these images" if own else suite.name)
    return Classes(labels.astype(np.int32), names, width)


def spellings(suite: Suite, classes: Classes, *, own: bool) -> tuple[tuple[str, ...], ...] | None:
    """The names that each class goes by, for models with a list of theirs; None: nobody knows."""
    known = None if own else _known_classes(suite)
    names = known[1] if known else classes.names
    if names is None:
        return None
    return tuple(tuple(dict.fromkeys((name, spoken_class(name)))) for name in names)


def doubt_order(names: Names | None) -> str | None:
    """What is to be said of classes that are called by numbers and sorted as text."""
    if names is None or not all(name.isdecimal() for name in names):
        return None
    by_number = sorted(names, key=int)
    if list(names) == by_number:
        return None
    return (
        f"the classes {_some(names)} are in the order of text, as by ImageFolder, since there is "
        f"no 0 that makes them class numbers: if the model has them as {_some(by_number)}, its "
        "scores mean nothing; then give it a label map"
    )


def advise_width(classes: Classes, suite: Suite, got: int) -> str:
    """What may be wrong where a model tells another number of classes apart than the images."""
    if suite.shift is not None and suite.shift.protocol:
        return f"{suite.name} is for models of the {suite.classes} classes of icons, sorted by name"
    if suite.shift is not None and suite.shift.types:
        return (
            f"{suite.name} is for models of its {suite.classes} broad types, as `hardy probe` and "
            "`hardy train` make them"
        )
    if suite.shift is not None:
        return f"{suite.name} is for models of ImageNet's classes, in the usual order"
    if classes.width == suite.classes:
        return "is it trained for these images? If their classes are its own, `own_classes=True`"
    seen = set(np.unique(classes.labels).tolist())
    empty = [name for n, name in enumerate(classes.names or ()) if n not in seen]
    unseen = f"no image is of the class {_some(empty)}, which counts too; " if empty else ""
    if got > classes.width:
        return (
            f"{unseen}if it tells more classes apart than these images show, say how many, "
            f"`classes={got}`, and give labels that are its numbers, such as a label map of class "
            "folders, with `labels`"
        )
    return f"{unseen}is it trained for these images?"


def _known_classes(suite: Suite) -> tuple[str, tuple[str, ...]] | None:
    """What the classes of a data set with names of its own are called, in words and one by one."""
    if suite.classes == IMAGENET:
        return "class folders with ImageNet's WordNet names", imagenet_classes()
    title = f"CIFAR-{suite.classes}"
    # Suites made out of these have the same images; others may well have ten classes, too.
    if title in ("CIFAR-10", "CIFAR-100") and title in suite.images:
        return f"the names of {title}'s classes", cifar_classes(suite.classes)
    return None


def _are_imagenets(names: Names) -> bool:
    """Whether they are ImageNet's classes in the order of models, told in words as by Hugging Face:
    ILSVRC's own order begins with the kit fox, and that of the alphabet with other things."""
    words = _imagenet_words()
    return len(names) == IMAGENET and all(
        names[n].lower().startswith(words[n].split()[0]) for n in _COMPARED
    )


def _by_name(labels: Numbers, names: Names, expected: str, known: Names) -> Numbers:
    strange = [name for name in names if name not in known]
    if strange:
        raise InputError(
            f"expected {expected}, such as {known[0]}, got {len(strange):,} others "
            f"({_some(strange)}); rename them, or, if the model has classes of its own in the "
            "order of these, as one that was trained on them has, say `own_classes=True`"
        )
    return np.array([known.index(name) for name in names], np.int64)[labels]


def _check_range(labels: Numbers, width: int, whose: str) -> None:
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
