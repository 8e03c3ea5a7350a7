"""Broad types by their subtypes: nets are shown some subtypes of each type, and tested on others.

| layout     | the training part                | the test part, and what lies beside it          |
|------------|----------------------------------|-------------------------------------------------|
| `synsets`  | folders or tars of seen synsets  | those of unseen ones; ImageNet's validation set |
| `subtypes` | the seen classes of the `train`  | the unseen classes of the `test` part; the seen |
|            | part of a data set               | ones of it                                      |

Labels are the numbers of types. An image's id is `subtype/name`, so that scores know its subtype.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from pathlib import Path

import numpy as np

from hardy.engine.door import UInt8
from hardy.errors import InputError, MissingResource
from hardy.images.folders import scan
from hardy.images.groceries import grocery_folder
from hardy.images.image_files import Convert, rgb
from hardy.images.labels import imagenet_classes
from hardy.images.readers import open_images
from hardy.images.shift_folders import ShiftedImages
from hardy.images.source import Faults, Labels, Listing, Source, refuse
from hardy.places import is_folder, locate
from hardy.registry import unknown
from hardy.suites import load, suite_names
from hardy.suites.shift import SYNSETS, Subtypes
from hardy.suites.suite import Suite

SUPERCLASS = "superclass"  # what is held out of a data set whose classes tell which suite it is of
_GROCERIES = "groceries"  # in the user's cache
_TAR = ".tar"


@cache
def subtype_suites() -> tuple[str, ...]:
    """The suites of broad types."""
    return tuple(name for name in suite_names() if _has_types(load(name)))


def subtype_of(id: str) -> str:
    """The subtype that an image's id names, also behind others: `clean/n01440764/one`."""
    return id.rpartition("/")[0].rpartition("/")[2]


def seen_part(where: str | Path, hold_out: str, faults: Faults = None) -> tuple[ShiftedImages, str]:
    """The images that a net may be trained on, labelled by type, and the suite that holds out the
    rest: the one of that name, or whose classes these images have."""
    if hold_out != SUPERCLASS:
        suite = load(hold_out)
        source = _training_images(where, suite, faults)
    else:
        source = open_images(_part(str(where), "train"), faults=faults)
        suite = _suite_of_classes(source, str(where))
    return _of_types(source, suite, "seen", str(where)), suite.name


def unseen_part(files: Path, suite: Suite, faults: Faults) -> tuple[Source, ShiftedImages]:
    """The images of unseen subtypes; and the source they are from."""
    types = _types(suite)
    if suite.shift is not None and suite.shift.layout == SYNSETS:
        wanted = [subtype for one in types.values() for subtype in one.unseen]
        source: Source = _open_synsets(files, wanted, faults)
    else:
        source = open_images(_part(str(files), "test"), faults=faults)
        _check_whole(source, suite, str(files))
    found = _of_types(source, suite, "unseen", str(files))
    there = {number for (number,) in found.right}
    for number, (name, one) in enumerate(types.items()):
        if one.unseen and number not in there:
            raise InputError(
                f"{files}: expected images of unseen subtypes of each of {len(types)} types, got "
                f"none of {name}, such as {one.unseen[0]}; name the whole of {suite.title}"
            )
    return source, found


def beside_part(source: Source, suite: Suite) -> ShiftedImages:
    """The images of seen subtypes in a source that no net was shown."""
    return _of_types(source, suite, "seen", source.describe())


def count_subtypes(images: ShiftedImages, suite: Suite) -> str:
    """How many of the unseen subtypes have images, where some have not: in no two releases of
    ImageNet-22K are they the same."""
    there = len({subtype_of(str(id)) for id in images.ids})
    every = sum(len(one.unseen) for one in _types(suite).values())
    return "" if there == every else f"{there:,} of {every:,} unseen subtypes"


def _has_types(suite: Suite) -> bool:
    return suite.shift is not None and suite.shift.types is not None


def _types(suite: Suite) -> Mapping[str, Subtypes]:
    if suite.shift is None or suite.shift.types is None:
        raise unknown("suite of broad types", suite.name, subtype_suites())
    return suite.shift.types


def _training_images(where: str | Path, suite: Suite, faults: Faults) -> Source:
    wanted = [subtype for one in _types(suite).values() for subtype in one.seen]
    assert suite.shift is not None
    if suite.shift.layout == SYNSETS and _has_synsets(where, wanted):
        return _open_synsets(locate(where), wanted, faults)
    source = open_images(_part(str(where), "train"), faults=faults)
    if suite.shift.layout != SYNSETS:
        _check_whole(source, suite, str(where))
    return source


def _part(where: str, split: str) -> str:
    """That part of a set which has two: CIFAR's files, or class folders in `train` and `test`."""
    place = locate(where)
    if where == _GROCERIES and not place.exists():
        place = grocery_folder() / "fine"
        if not place.exists():
            raise MissingResource(f"{where} are not here ({place}): hardy fetch {where}")
    if (place / split).is_dir():
        return str(place / split)
    if any((place / name).is_file() for name in (split, f"{split}.bin")):
        return f"{where}:{split}"
    return where


def _suite_of_classes(source: Source, where: str) -> Suite:
    """The suite whose subtypes are the classes of a source."""
    names = {*(source.classes or ())}
    for suite in map(load, subtype_suites()):
        every = {subtype for one in _types(suite).values() for part in one for subtype in part}
        seen = {subtype for one in _types(suite).values() for subtype in one.seen}
        synsets = suite.shift is not None and suite.shift.layout == SYNSETS
        if names == every or (synsets and names and seen <= names):
            return suite
    raise InputError(
        f"{where}: expected the classes of a suite of broad types, to hold some out by "
        f"{SUPERCLASS}, got {len(names):,} other names; if there are none, name the suite in its "
        f"place: {', '.join(subtype_suites())}"
    )


def _subtypes_of(source: Source, suite: Suite, where: str) -> list[str]:
    """The subtype of each image. Labels without names are numbers of the data set's own order:
    CIFAR's is that of the alphabet, and so is that of ImageNet's WordNet names."""
    if source.labels is None:
        raise InputError(f"{where}: expected images with their labels, got no labels")
    types = _types(suite)
    names: Sequence[str] = source.classes or ()
    if not names:
        assert suite.shift is not None
        every = sorted(subtype for one in types.values() for part in one for subtype in part)
        names = imagenet_classes() if suite.shift.layout == SYNSETS else every
        if len(source.labels) and int(source.labels.max()) >= len(names):
            raise InputError(
                f"{where}: expected labels below {len(names):,}, the classes of {suite.title}, got "
                f"{int(source.labels.max()):,}; is it another data set?"
            )
    return [names[label] for label in source.labels]


def _check_whole(source: Source, suite: Suite, where: str) -> None:
    """Refuse class folders that miss or are of other things."""
    every = {subtype for one in _types(suite).values() for part in one for subtype in part}
    names = {*(source.classes or every)}
    missing, strange = sorted(every - names), sorted(names - every)
    if missing or strange:
        told = [f"{len(missing)} are missing, such as {missing[0]}"] if missing else []
        told += [f"{len(strange)} are others, such as {strange[0]}"] if strange else []
        raise InputError(
            f"{where}: expected the {len(every)} classes of {suite.title}, such as {min(every)}, "
            f"but {' and '.join(told)}; name the data set whole, with its fine classes"
        )


def _of_types(source: Source, suite: Suite, part: str, where: str) -> ShiftedImages:
    """The images of a source that are of seen or of unseen subtypes, with the type as label."""
    types = _types(suite)
    number = {
        subtype: place for place, one in enumerate(types.values()) for subtype in getattr(one, part)
    }
    names = _subtypes_of(source, suite, where)
    rows = np.array([row for row, name in enumerate(names) if name in number], np.int64)
    if not len(rows):
        raise InputError(
            f"{where}: expected images of the {len(number):,} {part} subtypes of {suite.title}, "
            f"such as {next(iter(number))}, got none"
        )
    ids = [f"{names[row]}/{str(source.ids[row]).rpartition('/')[2]}" for row in rows]
    if len({*ids}) < len(ids):
        raise InputError(
            f"{where}: expected one image of each name in a class, got two of {_twice(ids)}; "
            "rename one"
        )
    labels: Labels = np.array([number[names[row]] for row in rows], np.int64)
    right = [(int(label),) for label in labels]
    files = [source.files[row] for row in rows]
    about = (f"{part} subtypes in", where, files, ids, labels, tuple(types), source, rows, right)
    return ShiftedImages(*about)


def _twice(ids: Iterable[str]) -> str:
    before: set[str] = set()
    return next(id for id in ids if id in before or before.add(id))  # type: ignore[func-returns-value]


def _has_synsets(where: str | Path, wanted: Iterable[str]) -> bool:
    if not is_folder(where):
        return False
    names = scan(str(where), [])
    there = {*names.folders, *(name.removesuffix(_TAR) for name in names.others)}
    return any(wnid in there for wnid in wanted)


@dataclass(frozen=True)
class _Joined(Listing):
    """Several sources, one after the other."""

    parts: tuple[Source, ...]
    ends: tuple[int, ...]

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        part = bisect_right(self.ends, index)
        return self.parts[part].read(index - (self.ends[part - 1] if part else 0), convert)


def _open_synsets(top: Path, wanted: Sequence[str], faults: Faults) -> Source:
    """The images of these synsets, each in a folder or a tar that is called by its WordNet name;
    others of the 21,841 are not even listed, and one that is not there is passed over."""
    if not is_folder(top):
        raise InputError(
            f"expected a folder with a folder or tar for each synset, such as {wanted[0]} or "
            f"{wanted[0]}{_TAR}, got {top}"
        )
    there = scan(str(top), faults)
    folders, archives = {*there.folders}, {*there.others}
    parts: list[Source] = []
    names: list[str] = []
    for wnid in wanted:
        if wnid not in folders and f"{wnid}{_TAR}" not in archives:
            continue
        place = top / (wnid if wnid in folders else f"{wnid}{_TAR}")
        try:
            parts.append(open_images(place, id_rule="relative_path", faults=faults))
            names.append(wnid)
        except InputError as error:  # nothing in it can be used
            refuse(faults, str(error), images=0)
    if not parts:
        raise InputError(
            f"{top}: expected a folder or tar for each synset, such as {wanted[0]} or "
            f"{wanted[0]}{_TAR}, got none of {len(wanted):,}"
        )
    sizes = list(map(len, parts))
    return _Joined(
        "synsets in",
        str(top),
        [f"{name}/{file}" for name, part in zip(names, parts, strict=True) for file in part.files],
        [f"{name}/{id}" for name, part in zip(names, parts, strict=True) for id in part.ids],
        np.repeat(np.arange(len(names)), sizes),
        tuple(names),
        tuple(parts),
        tuple(accumulate(sizes)),
    )
