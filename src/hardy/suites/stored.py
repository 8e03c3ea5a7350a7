"""Suites that lie on disk, official or built here, behind the same face as those made on the fly.

| what                                      | recognised by                                        |
|-------------------------------------------|------------------------------------------------------|
| anything that `hardy build` wrote         | its manifest                                         |
| ImageNet-C, Tiny-ImageNet-C               | folders `corruption/severity/class`, also one deeper |
| CIFAR-10-C, CIFAR-10-P                    | files `corruption.npy`, with `labels.npy`            |
| ImageNet-P                                | folders `perturbation/class` with .mp4 files         |

In a folder that was built here, only cells that its manifest lists in full are offered.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.images.files import read_image
from hardy.images.opening import open_images
from hardy.images.source import Ids, Labels, Listing, Source, identify
from hardy.suites import encode, load
from hardy.suites.cells import Cell, choose_cells, levels
from hardy.suites.layout import Arrays, Files, Layout, Shards, cell_folder, open_layout, units_of
from hardy.suites.manifest import read_header, read_lines
from hardy.suites.schema import Suite

UInt8 = npt.NDArray[np.uint8]
# The images of a cell at some places: (N, H, W, 3), or (N, F, H, W, 3) of sequences.
Read = Callable[[Cell, Sequence[int]], UInt8]


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


def open_stored(folder: Path, suite: Suite | None = None) -> Stored:
    """What lies in a folder; the suite may be left out where a manifest names it."""
    header = read_header(folder)
    if header is not None:
        named = load(header["suite"])
        if suite is not None and suite.name != named.name:
            raise InputError(f"{folder} holds {named.name}, expected {suite.name}; name that suite")
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
    _, ids = identify(header["files"], load(header["suite"]).id_rule, None)
    return ListedSource("manifest of", header["suite"], header["files"], ids, labels, classes)


def _open_built(folder: Path, header: dict[str, Any], suite: Suite) -> Stored:
    source = listed_source(header)
    layout = open_layout(suite, folder, header["format"], source, tuple(header["shape"]))
    units = units_of(header["images"], layout.size)
    counts: dict[Cell, set[int]] = {}
    for unit, hashes in read_lines(folder):
        for cell in hashes:
            counts.setdefault(cell, set()).add(unit)
    whole = [
        cell for cell in choose_cells(suite, ["all"]) if len(counts.get(cell, ())) == len(units)
    ]
    if not whole:
        raise InputError(f"{folder}: no cell is finished; run the same `hardy build` to the end")
    return Stored(
        suite, tuple(whole), source.ids, source.labels, source.classes, str(folder), _reader(layout)
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

        @cache
        def shard(cell: Cell) -> tuple[Source, dict[str, int]]:
            source = open_images(
                shards.folder / cell_folder(shards.suite, cell), id_rule="file_stem"
            )
            return source, {str(name): place for place, name in enumerate(source.ids)}

        def read_shard(cell: Cell, indices: Sequence[int]) -> UInt8:
            source, places = shard(cell)
            return np.stack([source.read(places[shards.keys[index]]) for index in indices])

        return read_shard
    files = layout
    assert isinstance(files, Files)
    read_one = encode.read_video if files.format == "mp4" else read_image
    return lambda cell, indices: np.stack(
        [read_one(files.folder / files.path(index, cell)) for index in indices]
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
        labels = np.load(folder / "labels.npy", allow_pickle=False).astype(np.int64)
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
        found = [
            path for path in (folder / name, *sorted(folder.glob(f"*/{name}"))) if path.is_dir()
        ]
        if found:
            places[cell] = found[0]
    if not places:
        raise InputError(
            f"expected {suite.title} in {folder}: folders such as "
            f"{cell_folder(suite, choose_cells(suite)[0])}, or .npy files; got neither"
        )
    names = {
        cell: _names(place, ".mp4" if suite.kind == "perturbations" else None)
        for cell, place in places.items()
    }
    first = next(iter(names))
    for cell, files in names.items():
        if files != names[first]:
            odd = sorted(set(files) ^ set(names[first]))
            raise InputError(
                f"{folder}: {cell} and {first} hold different files, {len(odd)} of them, such as "
                f"{odd[0] if odd else 'their order'}; fetch what is missing"
            )
    files = names[first]
    if not files:
        raise InputError(f"expected images in {places[first]}, got none")
    classes = tuple(sorted({file.split("/")[0] for file in files}))
    number = {name: index for index, name in enumerate(classes)}
    labels = np.array([number[file.split("/")[0]] for file in files], np.int64)
    _, ids = identify(files, suite.id_rule, None)
    read_one = encode.read_video if suite.kind == "perturbations" else read_image

    def read(cell: Cell, indices: Sequence[int]) -> UInt8:
        return np.stack([read_one(places[cell] / files[index]) for index in indices])

    return Stored(suite, tuple(places), ids, labels, classes, str(folder), read)


def _names(place: Path, suffix: str | None) -> list[str]:
    """Files in class folders, `class/name`, sorted as the benchmark's own listing."""
    if suffix is None:
        return list(open_images(place, id_rule="relative_path").files)
    return sorted(
        f"{entry.name}/{name}"
        for entry in os.scandir(place)
        if entry.is_dir()
        for name in os.listdir(entry)
        if name.endswith(suffix)
    )
