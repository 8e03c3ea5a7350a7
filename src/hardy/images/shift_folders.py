"""Natural shifts as their authors publish them: folders of images, and which classes are right.

| layout    | a folder is called by                                  | in                          |
|-----------|--------------------------------------------------------|-----------------------------|
| `wnids`   | a WordNet name                                         | ImageNet-A, -O, -R, -Sketch |
| `numbers` | the number of a class, 0 to 999                        | ImageNetV2                  |
| `names`   | a name of its own, which may stand for several classes | ObjectNet                   |
| `labels`  | nothing that counts: a JSON file has the right classes | ReaL                        |

Images are told apart by folder and file: in many sets, files of two folders have the same name.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from hardy.documents import parse_json, read_document
from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.images.image_files import Convert, Picture, rgb
from hardy.images.labels import imagenet_classes
from hardy.images.readers import open_images
from hardy.images.source import Faults, Labels, Listing, Source, identify, stem
from hardy.limits import LISTING
from hardy.places import locate
from hardy.suites.shift import Shift
from hardy.suites.suite import Suite

Right = tuple[int, ...]  # the numbers of the classes that are right for an image, ascending
_VALIDATION = re.compile(r"ILSVRC2012_val_([0-9]{8})")


@dataclass(frozen=True)
class ShiftedImages(Listing):
    """Some images of a source, each with the classes that are right."""

    whole: Source
    rows: Labels  # of the source
    right: Sequence[Right]
    border: int = 0  # pixels that are cut off each side, before the image is converted

    def describe(self) -> str:
        count = len(set(self.right))
        return f"{len(self):,} images of {count:,} classes, {self.kind} {self.where}"

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        def trimmed(picture: Picture) -> UInt8:
            pixels, cut = rgb(picture), self.border
            if min(pixels.shape[:2]) <= 2 * cut:
                raise InputError(
                    f"cannot use {self.files[index]}: expected a border of {cut} pixels around "
                    f"it, got {pixels.shape[0]} x {pixels.shape[1]} pixels in all"
                )
            return convert(np.ascontiguousarray(pixels[cut:-cut, cut:-cut]))

        return self.whole.read(int(self.rows[index]), trimmed if self.border else convert)


def open_shifted(path: Path, suite: Suite, faults: Faults) -> ShiftedImages:
    """The images in class folders, which lie in `path` or in the folder that the authors name."""
    assert suite.shift is not None
    shift, right_of = suite.shift, _right_by_folder(suite.shift)
    top = _find_top(path, shift, right_of)
    source = open_images(top, id_rule="relative_path", faults=faults)
    places = [file.split("/")[-2:] for file in source.files]
    there = {place[0] for place in places if len(place) > 1}
    missing = sorted(right_of.keys() - there)
    strange = [] if shift.layout == "names" else sorted(there - right_of.keys())
    if missing or strange:
        what = [f"{len(missing):,} are missing, such as {missing[0]}"] if missing else []
        what += [f"{len(strange):,} are others, such as {strange[0]}"] if strange else []
        raise InputError(
            f"expected the {len(right_of):,} folders of {suite.title} in {top}, such as "
            f"{next(iter(right_of))}, but {', and '.join(what)}; name the folder as its authors "
            "publish it, whole"
        )
    kept = [row for row, place in enumerate(places) if place[0] in right_of and len(place) > 1]
    if shift.count is not None and len(kept) > shift.count:
        raise InputError(
            f"expected {shift.count:,} images of {suite.title} in {top}, got {len(kept):,}; remove "
            "what is not part of it"
        )
    files = ["/".join(places[row]) for row in kept]
    used, ids = identify(files, "relative_path", faults)
    rows = np.array([kept[row] for row in used], np.int64)
    right = [right_of[places[row][0]] for row in rows]
    return _images(
        "class folders in",
        str(top),
        [files[row] for row in used],
        ids,
        source,
        rows,
        right,
        shift.border,
    )


def open_relabelled(source: Source, labels: Path, suite: Suite) -> ShiftedImages:
    """ImageNet's validation images with the right classes of real.json; others are left out."""
    every = _read_right(labels, suite.classes)
    rows, right = [], []
    for row, file in enumerate(source.files):
        match = _VALIDATION.fullmatch(stem(file))
        if match is None or not 1 <= int(match[1]) <= len(every):
            raise InputError(
                f"expected ImageNet's validation images, ILSVRC2012_val_00000001 to "
                f"{len(every):08d}, which {labels.name} numbers, got {file}; name their folder"
            )
        if every[int(match[1]) - 1]:
            rows.append(row)
            right.append(every[int(match[1]) - 1])
    if not rows:
        raise InputError(f"{labels} has no right class for any of these images; name others")
    files = [source.files[row] for row in rows]
    ids = identify(files, "file_stem", None)[1]
    return _images("with", labels.name, files, ids, source, np.array(rows, np.int64), right)


def _images(
    kind: str,
    where: str,
    files: list[str],
    ids: Sequence[int] | Sequence[str],
    source: Source,
    rows: Labels,
    right: list[Right],
    border: int = 0,
) -> ShiftedImages:
    """The first of the right classes is the label by which images are counted."""
    first, names = np.array([one[0] for one in right], np.int64), imagenet_classes()
    about = (kind, where, files, ids, first, names, source, rows, right)
    return ShiftedImages(*about, border)


def class_numbers_of(wnids: Sequence[str]) -> Right:
    """The numbers of ImageNet's classes with these WordNet names."""
    number = {name: place for place, name in enumerate(imagenet_classes())}
    if strange := [wnid for wnid in wnids if wnid not in number]:
        raise InputError(
            f"expected WordNet names of ImageNet's classes in the suite, got {strange[0]}; correct "
            "its file"
        )
    return tuple(sorted(number[wnid] for wnid in wnids))


def _right_by_folder(shift: Shift) -> Mapping[str, Right]:
    every = imagenet_classes()
    if shift.folders is not None:
        return {name: class_numbers_of(wnids) for name, wnids in shift.folders.items()}
    kept = [every[number] for number in class_numbers_of(shift.kept)] or every
    names = map(str, class_numbers_of(kept)) if shift.layout == "numbers" else kept
    return {name: (number,) for name, number in zip(names, class_numbers_of(kept), strict=True)}


def _find_top(path: Path, shift: Shift, folders: Mapping[str, Right]) -> Path:
    """The first place with a folder of the suite in it: what was named, or what lies within."""
    inner = [shift.folder.split("/")[-count:] for count in range(1, shift.folder.count("/") + 2)]
    for place in (path, *(path.joinpath(*parts) for parts in inner)):
        if any((place / name).is_dir() for name in folders):
            return place
    return path


def _read_right(path: Path, classes: int) -> list[Right]:
    """A list of the right classes of each validation image, in their order."""
    try:
        found = parse_json(read_document(locate(path), LISTING).decode("utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: expected the labels of ReaL ({error})") from error
    fits = isinstance(found, list) and all(
        isinstance(some, list) and all(type(one) is int and 0 <= one < classes for one in some)
        for some in found
    )
    if not fits or not found:
        raise InputError(
            f"{path}: expected the file real.json of ReaL, a list of classes from 0 to "
            f"{classes - 1} for each validation image; fetch it again"
        )
    return [tuple(sorted(set(some))) for some in found]
