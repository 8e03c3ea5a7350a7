"""Folders of image files: class folders in the order of torchvision's ImageFolder, or with a file
of labels.

An image file is one whose suffix says so. Hidden files and folders are passed over; links are
followed.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.images.image_files import SUFFIXES, Convert, read_image, rgb
from hardy.images.label_files import read_file_labels
from hardy.images.readers import Reader, Request
from hardy.images.source import Faults, Labels, Listing, identify, number_labels, refuse
from hardy.places import UrlPath, is_url, locate

LABELS = "labels.csv"
BEING_MADE = ".being_made"  # in a folder until all of its images are there


class FolderSource(Listing):
    decodes_files = True

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        return read_image(locate(self.where) / self.files[index], convert)


class _ClassFolders(Reader):
    """A folder per class; sorted by name, they are numbered, and 0, 1, 2, … are class numbers."""

    def recognises(self, request: Request) -> bool:
        return bool(request.names.folders) and _find_labels(request) is None

    def open(self, request: Request) -> FolderSource:
        """One class per folder, sorted by name; in each, files sorted by folder and name."""
        root, faults = request.path, request.faults
        lister = _lister(root, faults)
        top = lister("")
        if top.images:
            others = len(top.images) - 1
            more = f", and so do{'es' if others == 1 else ''} {others:,} more" if others else ""
            refuse(
                faults,
                f"{root / top.images[0]} lies beside class folders{more}; put it into one, or "
                f"write all labels into {root / LABELS}",
                kind="beside the class folders",
                images=len(top.images),
            )
        files: list[str] = []
        classes: list[int] = []
        numbers, names = numbered_classes(top.folders)
        for number, name in zip(numbers, top.folders, strict=True):
            inside = list(_tree(root, name, lister, faults))
            if not inside:
                reason = (
                    f"the class folder {root / name} has no image files, and counts as a class all "
                    "the same; fill or remove it"
                )
                refuse(faults, reason, images=0)
            files += inside
            classes += [number] * len(inside)
        if not files:
            raise InputError(f"there are no image files in {root} or its folders")
        labels = np.array(classes, np.int64)
        return _source("class folders in", request, files, labels, names)


class _FlatFolder(Reader):
    """Image files; labels.csv among them, or a file of labels, says what they are: file,label."""

    def recognises(self, request: Request) -> bool:
        return bool(request.names.images) or _find_labels(request) is not None

    def open(self, request: Request) -> FolderSource:
        """All images below the folder, sorted, with the labels of a CSV file if there is one."""
        root, labels, faults = request.path, _find_labels(request), request.faults
        files = sorted(_tree(root, "", _lister(root, faults), faults))
        if labels is not None:
            named = read_file_labels(labels, files, root, faults)
            files = [file for file in files if named.get(file)]
        if not files:
            raise InputError(f"there are no image files in {root}")
        if labels is None:
            return _source("folder", request, files, None, None)
        return _source("folder", request, files, *number_labels(named[file] for file in files))


CLASSES, FLAT = _ClassFolders(), _FlatFolder()


def _find_labels(request: Request) -> Path | None:
    """The file of a folder's labels: the one that was named, or the one that lies in it."""
    if request.folder is None or request.labels is not None:
        return request.folder and request.labels
    inside = request.folder / LABELS
    return inside if inside.is_file() else None


def numbered_classes(folders: list[str]) -> tuple[list[int], tuple[str, ...] | None]:
    """The classes' numbers and names. Folders that are called by numbers, with a 0 among them, are
    class numbers: as text, 10 would come before 2. Without a 0 they may as well be years."""
    numbers = [int(name) if re.fullmatch("[0-9]{1,9}", name) else -1 for name in folders]
    if min(numbers, default=-1) != 0 or len(set(numbers)) < len(numbers):
        return list(range(len(folders))), tuple(folders)
    complete = max(numbers) == len(numbers) - 1
    return numbers, tuple(sorted(folders, key=int)) if complete else None


class Scan(NamedTuple):
    """The names in a folder, each kind sorted; hidden ones are left out."""

    images: list[str]
    folders: list[str]
    others: list[str]


def scan(folder: str, faults: Faults) -> Scan:
    place = locate(folder)
    if isinstance(place, UrlPath):
        return _sorted_out(place.children())
    images: list[str] = []
    folders: list[str] = []
    others: list[str] = []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.name.startswith("."):
                    continue
                try:
                    is_file, is_folder = entry.is_file(), entry.is_dir()
                except OSError as error:  # such as a link to itself
                    refuse(faults, f"cannot read {entry.path}: {error.strerror}")
                    continue
                if not entry.name.lower().endswith(SUFFIXES):
                    (folders if is_folder else others).append(entry.name)
                elif is_file:
                    images.append(entry.name)
                else:
                    got = "a folder" if is_folder else "a broken link or a device"
                    refuse(faults, f"cannot read {entry.path}: expected an image file, got {got}")
    except OSError as error:
        refuse(faults, f"cannot list {folder}: {error.strerror}")
    return Scan(sorted(images), sorted(folders), sorted(others))


def _sorted_out(entries: Iterable[tuple[str, bool]]) -> Scan:
    """What lies in a folder at a URL: names, and whether each is a folder."""
    shown = sorted((name, is_folder) for name, is_folder in entries if name[:1] not in ("", "."))
    files = [name for name, is_folder in shown if not is_folder]
    images = [name for name in files if name.lower().endswith(SUFFIXES)]
    others = [name for name in files if not name.lower().endswith(SUFFIXES)]
    return Scan(images, [name for name, is_folder in shown if is_folder], others)


def _source(
    kind: str,
    request: Request,
    files: list[str],
    labels: Labels | None,
    classes: tuple[str, ...] | None,
) -> FolderSource:
    root, rule = request.path, request.id_rule or "relative_path"
    kept, ids = identify(files, rule, request.faults, lambda index: str(root / files[index]))
    files = files if len(kept) == len(files) else [files[index] for index in kept]
    labels = None if labels is None else labels[kept]
    return FolderSource(kind, str(root), files, ids, labels, classes)


def _lister(root: Path, faults: Faults) -> Callable[[str], Scan]:
    """What lists a folder below the root; at a URL all of them are listed by one request."""
    if not isinstance(root, UrlPath):
        if (root / BEING_MADE).exists():
            raise InputError(
                f"expected a whole set of images, got {root}, which a command of Hardy has begun "
                "and not finished; run that command again"
            )
        return lambda place: scan(os.path.join(root, place), faults)
    inside: dict[str, list[tuple[str, bool]]] = {}
    for name, is_folder in root.children(all_below=True):
        place, _, last = name.rpartition("/")
        inside.setdefault(place, []).append((last, is_folder))
    return lambda place: _sorted_out(inside.get(place, ()))


def _tree(root: Path, start: str, lister: Callable[[str], Scan], faults: Faults) -> Iterator[str]:
    """Image files below root/start, relative to root: by folder, then by name."""
    at_url = is_url(root)  # where there are no links
    found: list[tuple[str, list[str]]] = []
    ahead: list[tuple[str, tuple[str, ...]]] = [
        (start, () if at_url else (os.path.realpath(os.path.join(root, start)),))
    ]
    while ahead:
        place, above = ahead.pop()
        inside = lister(place)
        found.append((place, inside.images))
        for name in inside.folders:
            below = f"{place}/{name}" if place else name
            real = below if at_url else os.path.realpath(os.path.join(root, below))
            if real in above:
                refuse(faults, f"{os.path.join(root, below)} is a link to a folder around it")
            else:
                ahead.append((below, (*above, real)))
    for place, images in sorted(found):
        prefix = f"{place}/" if place else ""
        yield from (prefix + name for name in images)
