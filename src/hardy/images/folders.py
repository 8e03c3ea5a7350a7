"""Folders of image files: class folders in the order of torchvision's ImageFolder, or flat + CSV.

An image file is one whose suffix says so. Hidden files and folders are passed over; links are
followed.
"""

import csv
import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.images.image_files import SUFFIXES, Convert, read_image, rgb
from hardy.images.readers import Reader, Request
from hardy.images.source import Faults, Labels, Listing, identify, number_labels, refuse

LABELS = "labels.csv"
# What a first line may call the two columns, in this order of choice.
FILE_COLUMNS = ("file", "filename", "file_name", "path", "image")
LABEL_COLUMNS = ("label", "class", "class_name")


class FolderSource(Listing):
    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        return read_image(Path(self.where, self.files[index]), convert)


class ClassFolders(Reader):
    """A folder per class; sorted by name, they are numbered."""

    def recognises(self, request: Request) -> bool:
        return bool(request.names.folders) and find_labels(request) is None

    def open(self, request: Request) -> FolderSource:
        """One class per folder, sorted by name; in each, files sorted by folder and name."""
        root, faults = request.path, request.faults
        top = scan(os.fspath(root), faults)
        if top.images:
            refuse(
                faults,
                f"{root / top.images[0]} lies beside class folders ({len(top.images):,} such "
                f"files); put it into one, or write all labels into {root / LABELS}",
            )
        files: list[str] = []
        classes: list[int] = []
        for number, name in enumerate(top.folders):
            inside = list(_tree(os.fspath(root), name, faults))
            if not inside:
                refuse(
                    faults, f"the class folder {root / name} has no image files; fill or remove it"
                )
            files += inside
            classes += [number] * len(inside)
        if not files:
            raise InputError(f"there are no image files in {root} or its folders")
        labels = np.array(classes, np.int64)
        return _source("class folders in", request, files, labels, tuple(top.folders))


class FlatFolder(Reader):
    """Image files; a file of labels, or labels.csv among them, has lines of file,label."""

    def recognises(self, request: Request) -> bool:
        return bool(request.names.images) or find_labels(request) is not None

    def open(self, request: Request) -> FolderSource:
        """All images below the folder, sorted, with the labels of a CSV file if there is one."""
        root, labels, faults = request.path, find_labels(request), request.faults
        files = sorted(_tree(os.fspath(root), "", faults))
        if labels is not None:
            named = _read_csv(labels, faults)
            for missing in sorted(named.keys() - set(files)):
                refuse(faults, f"{labels} has a label for {missing}, which is not in {root}")
            for file in files:
                if file not in named:
                    refuse(faults, f"{root / file} has no label in {labels}; add a line for it")
            files = [file for file in files if named.get(file)]
        if not files:
            raise InputError(f"there are no image files in {root}")
        if labels is None:
            return _source("folder", request, files, None, None)
        return _source("folder", request, files, *number_labels(named[file] for file in files))


CLASSES, FLAT = ClassFolders(), FlatFolder()


def find_labels(request: Request) -> Path | None:
    """The CSV file of a folder's labels: the one that was named, or the one that lies in it."""
    if request.folder is None or request.labels is not None:
        return request.folder and request.labels
    inside = request.folder / LABELS
    return inside if inside.is_file() else None


class Scan(NamedTuple):
    """The names in a folder, each kind sorted; hidden ones are left out."""

    images: list[str]
    folders: list[str]
    others: list[str]


def scan(folder: str, faults: Faults) -> Scan:
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
    return FolderSource(kind, os.fspath(root), files, ids, labels, classes)


def _tree(root: str, start: str, faults: Faults) -> Iterator[str]:
    """Image files below root/start, relative to root: by folder, then by name."""
    found: list[tuple[str, list[str]]] = []
    ahead: list[tuple[str, tuple[str, ...]]] = [
        (start, (os.path.realpath(os.path.join(root, start)),))
    ]
    while ahead:
        place, above = ahead.pop()
        inside = scan(os.path.join(root, place), faults)
        found.append((place, inside.images))
        for name in inside.folders:
            below = f"{place}/{name}" if place else name
            real = os.path.realpath(os.path.join(root, below))
            if real in above:
                refuse(faults, f"{os.path.join(root, below)} is a link to a folder around it")
            else:
                ahead.append((below, (*above, real)))
    for place, images in sorted(found):
        prefix = f"{place}/" if place else ""
        yield from (prefix + name for name in images)


def _read_csv(path: Path, faults: Faults) -> dict[str, str]:
    """File -> label, from the first two columns or those that a first line names.

    An empty label is one that was refused here.
    """
    named: dict[str, str] = {}
    columns = (0, 1)
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            for number, row in enumerate(csv.reader(stream), 1):
                header = _header(row, path) if number == 1 else None
                if header is not None:
                    columns = header
                    continue
                if not row:
                    continue
                if len(row) <= max(columns):
                    raise InputError(f"{path}, line {number}: expected file,label, got {row}")
                file, label = (row[column].strip() for column in columns)
                if not file or not label:
                    refuse(faults, f"{path}, line {number}: expected file,label, got {row}")
                if file and named.setdefault(file, label) != label:
                    raise InputError(f"{path}, line {number}: a second label for {file}")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(
            f"cannot read {path}: expected a CSV file of lines file,label ({error})"
        ) from error
    return named


def _header(row: list[str], path: Path) -> tuple[int, int] | None:
    """Where the files and the labels stand, if the first line says so."""
    names = [name.strip().lower() for name in row]
    file = next((names.index(name) for name in FILE_COLUMNS if name in names), None)
    label = next((names.index(name) for name in LABEL_COLUMNS if name in names), None)
    if file is not None and label is not None:
        return file, label
    if row and not any(name.endswith(SUFFIXES) for name in names):
        raise InputError(
            f"{path}, line 1: expected an image file and its label, or the columns' names, "
            f"file,label, got {row}"
        )
    return None
