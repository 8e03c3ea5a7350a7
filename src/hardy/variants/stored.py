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
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.images.image_files import read_image
from hardy.images.numpy_files import read_labels
from hardy.images.readers import open_images
from hardy.images.source import Fault, Ids, Labels, Listing, Source, identify
from hardy.suites import load
from hardy.suites import suite_files as given
from hardy.suites.cells import Cell, cell_folder, choose_cells, levels
from hardy.suites.suite import Suite
from hardy.variants.disk import encode
from hardy.variants.disk.array_layout import Arrays
from hardy.variants.disk.layout import (
    Files,
    Layout,
    Shards,
    open_layout,
    units_of,
)
from hardy.variants.disk.manifest import read_contents, read_header

UInt8 = npt.NDArray[np.uint8]
# The images of a cell at some places: (N, H, W, 3), or (N, F, H, W, 3) of sequences.
Read = Callable[[Cell, Sequence[int]], UInt8]
# Shards whose index is remembered: more than there are cells, which are read in turn.
SHARDS_OPEN = 256


@dataclass(frozen=True)
class Stored:
    """`Variants` (see generate.py) whose pixels are read."""

    suite: Suite
    cells: tuple[Cell, ...]
    ids: Ids
    labels: Labels | None
    classes: tuple[str, ...] | None
    where: str
    read: Read
    made: str = "official files"
    seed: int | None = None  # of what was built here; of official files it is not known

    def __len__(self) -> int:
        return len(self.ids)

    def chunk(self, indices: Sequence[int]) -> StoredChunk:
        return StoredChunk(self.read, indices)

    def describe(self) -> str:
        return f"{len(self):,} images, {self.suite.name} stored in {self.where}"


@dataclass(frozen=True)
class StoredChunk:
    read: Read
    indices: Sequence[int]

    def make(self, cell: Cell) -> UInt8:
        return self.read(cell, self.indices)

    def on(self, device: str) -> StoredChunk:
        return self  # read on the host; the model brings each batch over


def open_stored(folder: Path, suite: Suite | None = None) -> Stored:
    """What lies in a folder; the suite may be left out where a manifest names it."""
    header = read_header(folder)
    if header is not None:
        named = load(given.beside(folder, header["suite"]))
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
    contents = read_contents(folder, len(units_of(header["images"], layout.size)))
    whole = [cell for cell in choose_cells(suite, ["all"]) if contents.listed(cell).all()]
    if not whole:
        raise InputError(f"{folder}: no cell is finished; run the same `hardy build` to the end")
    bad = {index for cell in whole for some in contents.bad(cell).values() for index in some}
    good = [index for index in range(len(source)) if index not in bad]
    read = _reader(layout)
    return Stored(
        suite,
        tuple(whole),
        [header["ids"][index] for index in good],
        None if source.labels is None else source.labels[good],
        source.classes,
        str(folder),
        lambda cell, indices: read(cell, [good[index] for index in indices]),
        f"files of hardy build, {header['format']}",
        header["seed"],
    )


def _reader(layout: Layout) -> Read:
    """How a built layout is read back."""
    if isinstance(layout, Arrays):
        arrays = layout
        return lambda cell, indices: _rows(
            arrays.folder / arrays.path(cell), arrays.first_row(cell), indices
        )
    if isinstance(layout, Shards):
        shards = layout

        @lru_cache(SHARDS_OPEN)
        def shard(number: int, cell: Cell) -> tuple[Source, dict[str, int]]:
            unit = range(number * shards.size, (number + 1) * shards.size)
            source = open_images(shards.folder / shards.name(unit, cell), id_rule="file_stem")
            return source, {str(name): place for place, name in enumerate(source.ids)}

        def read_shards(cell: Cell, indices: Sequence[int]) -> UInt8:
            images = []
            for index in indices:
                source, places = shard(index // shards.size, cell)
                images.append(source.read(places[shards.keys[index]]))
            return np.stack(images)

        return read_shards
    files = layout
    assert isinstance(files, Files)
    read_one = encode.read_video if files.format == "mp4" else read_image
    return lambda cell, indices: _stack(
        [files.folder / files.path(index, cell) for index in indices], read_one
    )


def _rows(path: Path, first: int, indices: Sequence[int]) -> UInt8:
    array = _mapped(path)
    rows = array[np.asarray(indices, np.intp) + first]
    return np.ascontiguousarray(rows)


def _mapped(path: Path) -> UInt8:
    try:
        array: UInt8 = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    if array.dtype != np.uint8 or array.ndim not in (4, 5) or array.shape[-1] != 3:
        raise InputError(
            f"{path}: expected uint8 of shape (N, H, W, 3), or (N, F, H, W, 3) of sequences, "
            f"got {array.dtype} {array.shape}"
        )
    return array


def _open_arrays(folder: Path, suite: Suite) -> Stored:
    """CIFAR-10-C: five severities of N rows each. CIFAR-10-P: N sequences, no labels."""
    lengths: dict[Cell, int] = {}
    for cell in choose_cells(suite, ["all"]):
        path = folder / _array_name(suite, cell)
        if path.is_file():
            rows = len(_mapped(path))
            parts = len(levels(suite, cell.name)) if suite.kind == "corruptions" else 1
            if rows % parts:
                raise InputError(
                    f"{path}: expected {parts} severities of equal length, got {rows} rows"
                )
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
        return _rows(folder / _array_name(suite, cell), first, indices)

    return Stored(suite, tuple(lengths), range(count), labels, None, str(folder), read)


def _array_name(suite: Suite, cell: Cell) -> str:
    return f"{cell.name if suite.kind == 'corruptions' else cell_folder(suite, cell)}.npy"


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
        return _stack([places[cell] / files[index] for index in indices], read_one)

    return Stored(suite, tuple(places), _ids(files, suite), labels, classes, str(folder), read)


def _stack(paths: Sequence[Path], read_one: Callable[[Path], UInt8]) -> UInt8:
    images = [read_one(path) for path in paths]
    for path, image in zip(paths, images, strict=True):
        if image.shape != images[0].shape:
            raise InputError(
                f"expected {paths[0]} and {path} to have one shape, got {images[0].shape} and "
                f"{image.shape}; fetch or build them again"
            )
    return np.stack(images)


def _ids(files: list[str], suite: Suite) -> Ids:
    """By the suite's rule, or by path where two files have one name."""
    faults: list[Fault] = []
    _, ids = identify(files, suite.id_rule, faults)
    return identify(files, "relative_path", None)[1] if faults else ids


def _names(place: Path, suite: Suite) -> list[str]:
    """Files in class folders, `class/name`, sorted as the benchmark's own listing."""
    if suite.kind == "corruptions":
        return list(open_images(place, id_rule="relative_path").files)
    return sorted(
        f"{entry.name}/{name}"
        for entry in os.scandir(place)
        if entry.is_dir()
        for name in os.listdir(entry)
        if name.endswith(".mp4") and not name.startswith(".")
    )
