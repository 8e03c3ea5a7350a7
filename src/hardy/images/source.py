"""What a source of images offers, whatever it is made of: labels, ids, and pixels on demand.

Opening a source lists it; pixels are decoded when they are asked for, and not kept. The id of an
image decides its randomness, by one of three rules:

| rule            | id of `val/n01440764/ILSVRC2012_val_00000293.JPEG`, opened as `val` |
|-----------------|---------------------------------------------------------------------|
| `file_stem`     | "ILSVRC2012_val_00000293": the same in a folder, a flat one, a tar  |
| `relative_path` | "n01440764/ILSVRC2012_val_00000293"                                 |
| `row_index`     | 0, its place in the listing                                         |
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.images.image_files import Convert, rgb
from hardy.registry import unknown
from hardy.suites.suite import ID_RULES

Labels = npt.NDArray[np.int64]
Ids = Sequence[int] | Sequence[str]


@dataclass(frozen=True)
class Fault:
    """One thing that cannot be used, and why."""

    reason: str
    index: int | None = None  # of the image in the source, if it got as far as that


# Where faults go: into the list, and the rest is used. Without a list the first one is raised.
Faults = list[Fault] | None


class Source(Protocol):
    @property
    def files(self) -> Sequence[str]:
        """Name of each image below the source's top, such as "n01440764/cat.JPEG"."""

    @property
    def ids(self) -> Ids:
        """One per image, each used once."""

    @property
    def labels(self) -> Labels | None: ...

    @property
    def classes(self) -> tuple[str, ...] | None:
        """Names of the classes, where the source has names."""

    def __len__(self) -> int: ...

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        """Pixels of one image, RGB (H, W, 3) and as large as they come; or an InputError.

        `convert` gets the picture before any conversion, so that a recipe's `prepare` can go here.
        Threads may call it at the same time, and a source may be pickled for other processes.
        """

    def describe(self) -> str: ...


@dataclass(frozen=True)
class Listing:
    """What all sources have in common: everything but the pixels."""

    kind: str
    where: str
    files: Sequence[str]
    ids: Ids
    labels: Labels | None
    classes: tuple[str, ...] | None

    def __len__(self) -> int:
        return len(self.files)

    def describe(self) -> str:
        if self.labels is None:
            labels = "without labels"
        else:
            count = len(self.classes or np.unique(self.labels))
            labels = f"of {count:,} {'class' if count == 1 else 'classes'}"
        return f"{len(self):,} images {labels}, {self.kind} {self.where}"


def refuse(faults: Faults, reason: str, index: int | None = None) -> None:
    if faults is None:
        raise InputError(reason)
    faults.append(Fault(reason, index))


def check_faults(faults: Faults) -> None:
    if faults is not None and not isinstance(faults, list):
        raise InputError(f"expected a list to put faults into, or None, got {faults!r}")


def check_id_rule(rule: str) -> str:
    if rule not in ID_RULES:
        raise unknown("id rule", rule, ID_RULES)
    return rule


def check_by_row(rule: str, where: object) -> None:
    """Refuse a rule that takes names for images that only have places."""
    if check_id_rule(rule) != "row_index":
        raise InputError(
            f"{where}: these images have no file names, by which the suite tells its images apart "
            f"(id_rule = {rule}); name image files, or a suite of numbered images such as cifar10_c"
        )


def identify(
    files: Sequence[str], rule: str, faults: Faults, place: Callable[[int], str] | None = None
) -> tuple[list[int], Ids]:
    """Which of the files are used, and their ids. `place` names a file fully, for messages."""
    where = place or files.__getitem__
    rows = []
    for index, file in enumerate(files):
        reason = unusable(file)
        if reason is None:
            rows.append(index)
        else:
            refuse(faults, f"{where(index)}: {reason}; not used")
    if check_id_rule(rule) == "row_index":
        return rows, rows
    name = stem if rule == "file_stem" else without_suffix
    first: dict[str, int] = {}
    for index in rows:
        file = files[index]
        twin = first.setdefault(name(file), index)
        if twin != index:
            other = "relative_path" if rule == "file_stem" else "row_index"
            refuse(
                faults,
                f'{where(twin)} and {where(index)} have the same id "{name(file)}" by the rule '
                f"{rule}; rename one of them, or take the rule {other}",
            )
    return list(first.values()), list(first)


def unusable(path: str) -> str | None:
    """Why no file below a folder can have this name, on any system: what is built later has it."""
    if "\0" in path:
        return "the name has a NUL character in it"
    parts = path.replace("\\", "/").split("/")
    if ".." in parts or parts[0] == "" or re.match("[A-Za-z]:", path):
        return "the path climbs out of its top"
    return None


def without_suffix(file: str) -> str:
    head, dot, tail = file.rpartition(".")
    return head if dot and "/" not in tail and head and not head.endswith("/") else file


def stem(file: str) -> str:
    return without_suffix(file.rpartition("/")[2])


def number_labels(values: Iterable[str]) -> tuple[Labels, tuple[str, ...] | None]:
    """Whole numbers are class numbers; names are numbered in sorted order, as class folders are."""
    values = list(values)
    if all(re.fullmatch("[0-9]{1,9}", value) for value in values):
        return np.array([int(value) for value in values], np.int64), None
    classes = sorted(set(values))
    number = {name: index for index, name in enumerate(classes)}
    return np.array([number[value] for value in values], np.int64), tuple(classes)


def check_label_count(found: int, count: int, where: str) -> None:
    if found != count:
        raise InputError(
            f"{where}: expected one label per image, {count:,} in all, got {found:,}; "
            "find out which images they belong to"
        )
