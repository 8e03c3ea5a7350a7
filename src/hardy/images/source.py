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
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Protocol

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
    kind: str = "that could not be used"  # images of which kind, as it is said beside scores
    images: int = 1  # that it keeps out


UNLABELLED = "without a label"
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

    @property
    def decodes_files(self) -> bool:
        """Whether each image is a file of its own, or a part of one, that is decoded when read."""
        return False

    @property
    def size(self) -> tuple[int, int] | None:
        """(H, W) of every image, where images come as one array."""
        return None

    def describe(self) -> str:
        if self.labels is None:
            labels = "without labels"
        else:
            count = len(self.classes or np.unique(self.labels))
            labels = f"of {count:,} {'class' if count == 1 else 'classes'}"
        return f"{len(self):,} images {labels}, {self.kind} {self.where}"


@dataclass(frozen=True)
class SourcePart(Listing):
    """Some of the images of a source."""

    whole: Source
    rows: Labels  # of the source

    @property
    def size(self) -> tuple[int, int] | None:
        return size_of(self.whole)

    @property
    def decodes_files(self) -> bool:
        return decodes_files(self.whole)

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        return self.whole.read(int(self.rows[index]), convert)

    def describe(self) -> str:
        some = "" if len(self) == len(self.whole) else f"{len(self):,} of "
        return some + self.whole.describe()


def size_of(source: Source) -> tuple[int, int] | None:
    """What `Listing.size` says; sources of other packages need not be listings."""
    size: tuple[int, int] | None = getattr(source, "size", None)
    return size


def decodes_files(source: Source) -> bool:
    """What `Listing.decodes_files` says."""
    return bool(getattr(source, "decodes_files", False))


def part_of(source: Source, rows: Labels) -> SourcePart:
    labels = None if source.labels is None else source.labels[rows]
    files, ids = ([some[row] for row in rows] for some in (source.files, source.ids))
    return SourcePart("", "", files, ids, labels, source.classes, source, rows)


def relabelled(source: Source, labels: Labels, classes: tuple[str, ...] | None) -> SourcePart:
    """The same images under other labels."""
    return replace(part_of(source, np.arange(len(source))), labels=labels, classes=classes)


def listing_hash(source: Source) -> str:
    """SHA-256 of names and labels, by which images are known that are too many to be read."""
    digest = sha256("\0".join(source.files).encode(errors="surrogateescape"))
    if source.labels is not None:
        digest.update(source.labels.data)
    return digest.hexdigest()


def refuse(faults: Faults, reason: str, index: int | None = None, **facts: Any) -> None:
    if faults is None:
        raise InputError(reason)
    faults.append(Fault(reason, index, **facts))


def count_left_out(faults: Iterable[Fault]) -> dict[str, int]:
    """How many images of which kind are left out."""
    counts: Counter[str] = Counter()
    for fault in faults:
        counts[fault.kind] += fault.images
    return {kind: count for kind, count in counts.items() if count}


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
    """Which of the files are used, and their ids. `place` names a file fully, for messages.

    Equal ids are refused whatever becomes of faults: whole classes might be left out.
    """
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
    name = stem if rule == "file_stem" else _without_suffix
    first: dict[str, int] = {}
    for index in rows:
        id = name(files[index])
        twin = first.setdefault(id, index)
        if twin != index:
            twice = len(rows) - len({name(files[row]) for row in rows})
            others = f", and so it is for {twice:,} images in all" if twice > 1 else ""
            own = ", or, if the classes are the images' own, say `own_classes=True`"
            raise InputError(
                f'{where(twin)} and {where(index)} have the same id "{id}" by the rule {rule}'
                f"{others}; rename them{own if rule == 'file_stem' else ''}"
            )
    return list(first.values()), list(first)


def unusable(path: str) -> str | None:
    """Why no file below a folder can have this name, on any system: what is built later has it."""
    # Nearly all names end here, and there may be millions.
    if ".." not in path and path[1:2] != ":" and path[:1] not in "/\\" and "\0" not in path:
        return None
    if "\0" in path:
        return "the name has a NUL character in it"
    parts = path.replace("\\", "/").split("/")
    if ".." in parts or parts[0] == "" or re.match("[A-Za-z]:", path):
        return "the path climbs out of its top"
    return None


def _without_suffix(file: str) -> str:
    head, dot, tail = file.rpartition(".")
    return head if dot and "/" not in tail and head and not head.endswith("/") else file


def stem(file: str) -> str:
    return _without_suffix(file.rpartition("/")[2])


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
