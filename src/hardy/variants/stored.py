"""Suites that lie on disk, official or built here, behind the same face as those made on the fly.

| what                                      | recognised by                                        |
|-------------------------------------------|------------------------------------------------------|
| anything that `hardy build` wrote         | its manifest                                         |
| ImageNet-C, Tiny-ImageNet-C               | folders `corruption/severity/class`, also one deeper |
| CIFAR-10-C, CIFAR-10-P                    | files `corruption.npy`, with `labels.npy`            |
| ImageNet-P                                | folders `perturbation/class` with .mp4 files         |

In a folder that was built here, only cells that its manifest lists in full are offered; images
that could not be read when it was built are left out.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.images.image_files import SUFFIXES, read_image
from hardy.images.label_files import read_file_labels
from hardy.images.numpy_files import class_numbers, read_labels
from hardy.images.readers import check_label_file, open_images
from hardy.images.source import (
    Faults,
    Ids,
    Labels,
    Listing,
    check_label_count,
    identify,
    number_labels,
)
from hardy.suites import load, suite_in
from hardy.suites.cells import CLEAN, Cell, cell_folder, choose_cells, levels
from hardy.suites.suite import Suite
from hardy.variants import Chunk, DecodedImage
from hardy.variants.disk import encode
from hardy.variants.disk.array_layout import array_name, map_array, read_rows
from hardy.variants.disk.build_header import read_header
from hardy.variants.disk.layout import open_layout, stack_files, units_of
from hardy.variants.disk.manifest import read_contents
from hardy.variants.generated import Generated

LOOKED_AT = 8  # images of an array, to tell whether it holds any
# The images of a cell at some places: (N, H, W, 3), or (N, F, H, W, 3) of sequences.
ReadCell = Callable[[Cell, Sequence[int]], UInt8]


@dataclass(frozen=True)
class Stored:
    """`Variants` whose pixels are read; `clean` makes the images they were made of, if given."""

    suite: Suite
    cells: tuple[Cell, ...]
    ids: Ids
    labels: Labels | None
    classes: tuple[str, ...] | None
    where: str
    read_cell: ReadCell
    made: str = "official files"
    seed: int | None = None  # of what was built here; of official files it is not known
    clean: Generated | None = None
    unbuilt: int = 0  # images that could not be read when these were built
    built_by: str | None = None  # the recipe, of what was built here
    files: Sequence[str] = ()  # the name of each image, where images have names
    device_can_make: ClassVar[bool] = False

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def recipe(self) -> str:
        if self.clean is not None:
            return self.clean.recipe
        return self.built_by or self.suite.recipe

    def read(self, index: int) -> DecodedImage | None:
        return None if self.clean is None else self.clean.read(self._clean_place[self.ids[index]])

    def clean_image(self, index: int) -> UInt8 | None:
        if self.clean is None:
            return None
        return self.clean.clean_image(self._clean_place[self.ids[index]])

    @cached_property
    def _clean_place(self) -> dict[Any, int]:
        assert self.clean is not None
        return {id: place for place, id in enumerate(self.clean.ids)}

    def chunk(self, indices: Sequence[int], images: Sequence[DecodedImage] | None = None) -> Chunk:
        if images is None:
            images = [image for index in indices if (image := self.read(index)) is not None]
        clean = np.stack([image.pixels for image in images]) if images else None
        return _StoredChunk(self.read_cell, list(indices), clean)

    def describe(self) -> str:
        return f"{len(self):,} images, {self.suite.name} stored in {self.where}"


@dataclass(frozen=True)
class _StoredChunk:
    """Cells out of files, and the clean images they were made of, where these are at hand."""

    read_cell: ReadCell
    indices: list[int]
    clean: UInt8 | None

    def on(self, device: str) -> _StoredChunk:
        return self  # read on the host; the model brings each batch over

    def make(self, cell: Cell) -> UInt8:
        if cell == CLEAN and self.clean is not None:
            return self.clean
        return self.read_cell(cell, self.indices)

    def readable(self, cell: Cell) -> tuple[Chunk, Mapping[int, str]]:
        bad: dict[int, str] = {}
        for place, index in enumerate(self.indices):
            try:
                self.read_cell(cell, [index])
            except InputError as error:
                bad[place] = str(error)
        good = [place for place in range(len(self.indices)) if place not in bad]
        clean = None if self.clean is None else self.clean[good]
        return replace(self, indices=[self.indices[place] for place in good], clean=clean), bad


def open_stored(folder: Path, suite: Suite | None = None) -> Stored:
    """What lies in a folder; the suite may be left out where a manifest names it."""
    header = read_header(folder)
    if header is not None:
        named = load(suite_in(folder, header["suite"]))
        if suite is not None and suite.name != named.name:
            raise InputError(f"{folder} holds {named.name}, expected {suite.name}; name that suite")
        if suite is not None and suite.content_hash() != named.content_hash():
            raise InputError(
                f"{folder} holds {named.name} with other contents than this {suite.name} has; name "
                "the copy that lies there, or build anew"
            )
        return _open_built(folder, header, named)
    if suite is None:
        raise InputError(f"{folder} has no manifest, so expected the name of its suite")
    if any((folder / f"{name}.npy").is_file() for name in suite.counted + suite.validation):
        return _open_arrays(folder, suite)
    return _open_files(folder, suite)


def with_labels(stored: Stored, labels: Any, faults: Faults) -> Stored:
    """Stored images that came without labels, by a file of labels or class numbers; those that get
    none are left out."""
    classes: tuple[str, ...] | None = None
    if not isinstance(labels, str | os.PathLike):
        numbers = class_numbers(labels)
    elif stored.files:
        path = check_label_file(labels)
        found = read_file_labels(path, stored.files, Path(stored.where), faults)
        kept = [place for place, file in enumerate(stored.files) if found.get(file)]
        stored = _part(stored, kept)
        numbers, classes = number_labels(found[file] for file in stored.files)
    else:
        numbers, classes = read_labels(check_label_file(labels))
    check_label_count(len(numbers), len(stored), stored.where)
    return replace(stored, labels=numbers, classes=classes)


def _part(stored: Stored, places: list[int]) -> Stored:
    read = stored.read_cell
    return replace(
        stored,
        ids=[stored.ids[place] for place in places],  # type: ignore[arg-type]  # of one kind
        files=[stored.files[place] for place in places],
        read_cell=lambda cell, indices: read(cell, [places[index] for index in indices]),
    )


class ListedSource(Listing):
    """Names and labels out of a manifest; the pixels are not at hand."""

    def read(self, index: int, convert: Any = None) -> UInt8:
        raise InputError(f"{self.where} names its source images, but does not hold them")


def listed_source(header: dict[str, Any]) -> ListedSource:
    labels = None if header["labels"] is None else np.array(header["labels"], np.int64)
    classes = None if header["classes"] is None else tuple(header["classes"])
    files, ids = header["files"], header["ids"]
    return ListedSource("manifest of", header["suite"], files, ids, labels, classes)


def _open_built(folder: Path, header: dict[str, Any], suite: Suite) -> Stored:
    if header["suite_hash"] != suite.content_hash():
        raise InputError(
            f"{folder} was built from version {header['suite_version']} of {suite.name}, and this "
            f"Hardy has version {suite.version}; build it again"
        )
    source = listed_source(header)
    layout = open_layout(suite, folder, header["format"], source, tuple(header["shape"]))
    layout.check()
    contents = read_contents(folder, units_of(header["images"], layout.size))
    whole = [cell for cell in choose_cells(suite, ["all"]) if contents.listed(cell).all()]
    if not whole:
        raise InputError(f"{folder}: no cell is finished; run the same `hardy build` to the end")
    bad = {index for cell in whole for some in contents.bad(cell).values() for index in some}
    good = [index for index in range(len(source)) if index not in bad]
    return Stored(
        suite,
        tuple(whole),
        [header["ids"][index] for index in good],
        None if source.labels is None else source.labels[good],
        source.classes,
        str(folder),
        lambda cell, indices: layout.read(cell, [good[index] for index in indices]),
        f"files of hardy build, {header['format']}",
        header["seed"],
        unbuilt=len(bad),
        built_by=header["recipe"],
        files=_named([source.files[index] for index in good]),
    )


def _named(files: list[str]) -> list[str]:
    """The names, unless the images were rows of an array, which have numbers for names."""
    return files if all(file.lower().endswith(SUFFIXES) for file in files) else []


def _open_arrays(folder: Path, suite: Suite) -> Stored:
    """CIFAR-10-C: five severities of N rows each. CIFAR-10-P: N sequences, no labels."""
    lengths: dict[Cell, int] = {}
    for cell in choose_cells(suite, ["all"]):
        path = folder / array_name(suite, cell)
        if path.is_file():
            rows = len(map_array(path))
            parts = len(levels(suite, cell.name)) if suite.kind == "corruptions" else 1
            if rows % parts:
                raise InputError(
                    f"{path}: expected {parts} severities of equal length, got {rows} rows"
                )
            if not _lacking(path, rows // parts, cell.level - 1 if parts > 1 else 0):
                lengths[cell] = rows // parts
    count = next(iter(lengths.values()))
    odd = next((cell for cell, length in lengths.items() if length != count), None)
    if odd is not None:
        raise InputError(f"{folder}: {odd} has {lengths[odd]} images, others have {count}")
    labels = None
    if (folder / "labels.npy").is_file():
        labels, _ = read_labels(folder / "labels.npy")
        if len(labels) not in (count, count * 5):
            raise InputError(
                f"{folder / 'labels.npy'}: expected {count} labels, or {count * 5} for five "
                f"severities, got {len(labels)}"
            )
        labels = labels[:count]

    def read(cell: Cell, indices: Sequence[int]) -> UInt8:
        first = count * (cell.level - 1) if suite.kind == "corruptions" else 0
        return read_rows(folder / array_name(suite, cell), first, indices)

    return Stored(suite, tuple(lengths), range(count), labels, None, str(folder), read)


def _lacking(path: Path, count: int, part: int) -> bool:
    """Whether a severity is black where others are not: room for what was never built."""
    array, places = map_array(path), np.linspace(0, count - 1, min(count, LOOKED_AT)).astype(int)
    return not array[places + count * part].any() and bool(array[:: max(1, count // 2)].any())


def _open_files(folder: Path, suite: Suite) -> Stored:
    """A folder per cell, found at the top or one level down, all with the same files."""
    places: dict[Cell, Path] = {}
    for cell in choose_cells(suite, ["all"]):
        name = cell_folder(suite, cell)
        around = (folder / name, *sorted(folder.glob(f"*/{name}")))
        found = next((path for path in around if path.is_dir()), None)
        if found is not None:
            places[cell] = found
    if not places:
        raise InputError(
            f"expected {suite.title} in {folder}: folders such as "
            f"{cell_folder(suite, choose_cells(suite)[0])}, or .npy files; got neither"
        )
    first = next(iter(places))
    files = _names(places[first], suite)
    if not files:
        raise InputError(f"expected images in {places[first]}, got none")
    for cell, place in places.items():
        odd = sorted(set(files).symmetric_difference(_names(place, suite)))
        if odd:
            raise InputError(
                f"{folder}: {cell} and {first} hold different files, {len(odd)} of them, such as "
                f"{odd[0]}; fetch what is missing"
            )
    labels: Labels | None = None
    classes: tuple[str, ...] | None = None
    if all("/" in file for file in files):
        classes = tuple(sorted({file.split("/")[0] for file in files}))
        number = {name: index for index, name in enumerate(classes)}
        labels = np.array([number[file.split("/")[0]] for file in files], np.int64)
    read_one = encode.read_video if suite.kind == "perturbations" else read_image

    def read(cell: Cell, indices: Sequence[int]) -> UInt8:
        return stack_files([places[cell] / files[index] for index in indices], read_one)

    about = (suite, tuple(places), _ids(files, suite), labels, classes, str(folder), read)
    return Stored(*about, files=files)


def _ids(files: list[str], suite: Suite) -> Ids:
    """Ids by the suite's rule, or by path where two files have one name."""
    try:
        return identify(files, suite.id_rule, None)[1]
    except InputError:
        return identify(files, "relative_path", None)[1]


def _names(place: Path, suite: Suite) -> list[str]:
    """Files in class folders, `class/name`, sorted as the benchmark's own listing."""
    if suite.kind == "corruptions":
        return list(open_images(place, id_rule="relative_path").files)
    return sorted(
        f"{folder.name}/{file.name}"
        for folder in place.iterdir()
        if folder.is_dir()
        for file in folder.glob("*.mp4")
        if not file.name.startswith(".")
    )
