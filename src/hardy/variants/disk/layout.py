"""Where a built suite's bytes lie: the official layouts, and a unit of work for each.

A layout cuts the images into units. `write` stores one unit of one cell and returns the hash of
what it stored; `hash` finds it again, and `read` gives pixels back. Paths never leave the folder.
Where images of a unit could not be read, `write` gets the others and the list of their places;
where none could, it is not called.
"""

import io
import os
import tarfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from pathlib import Path, PurePosixPath
from typing import Protocol

import numpy as np

from hardy.engine.door import UInt8
from hardy.errors import InputError, door
from hardy.images.image_files import read_image
from hardy.images.readers import open_images
from hardy.images.source import Labels, Source
from hardy.inside import inner_path
from hardy.limits import check_regular
from hardy.suites.cells import Cell, cell_folder
from hardy.suites.suite import Suite
from hardy.variants.disk import encode
from hardy.variants.disk.array_layout import ArrayLayout
from hardy.variants.disk.manifest import content_hash, write_built

_LARGEST_UNIT = 500  # images
_UNIT_BYTES = 1 << 25  # of one cell, which a worker holds in memory a few times
_SHARDS_OPEN = 256  # whose index is remembered: more than there are cells, which are read in turn


class Layout(Protocol):
    @property
    def size(self) -> int:
        """Images in a unit."""

    def check(self) -> None:
        """Whether the images' names will do, before anything is written."""

    def begin(self, cells: Sequence[Cell]) -> None:
        """Before the first unit, in one process."""

    def write(self, unit: range, cell: Cell, images: UInt8, got: Sequence[int]) -> str: ...

    def read(self, cell: Cell, indices: Sequence[int]) -> UInt8:
        """The images at some places: (N, H, W, 3), or (N, F, H, W, 3) of sequences."""

    def there(self, unit: range, cell: Cell) -> bool:
        """Whether there is a file, whatever is in it."""

    def hash(self, unit: range, cell: Cell) -> str | None:
        """The hash of what is there; None if nothing is."""

    def finish(self, cells: Sequence[Cell], labels: Labels | None) -> None:
        """After the last unit of all cells, in one process; twice is as good as once."""

    def beside(self, labels: Labels | None) -> dict[str, bytes]:
        """Files that belong to no cell."""

    def name(self, unit: range, cell: Cell) -> str:
        """The file of a unit, for messages; of an array also the rows."""

    def paths(self, count: int, cells: Sequence[Cell]) -> Iterator[str]:
        """Every file there should be, below the folder."""


def units_of(count: int, size: int) -> list[range]:
    return [range(start, min(start + size, count)) for start in range(0, count, size)]


def open_layout(
    suite: Suite, folder: Path, format: str, source: Source, shape: tuple[int, ...]
) -> Layout:
    """`shape` is that of one image, after the suite's recipe."""
    if format == "tar":
        size = _unit_size(prod(shape))
        keys = [_key(value) for value in source.ids]
        return ShardLayout(suite, folder, keys, source.labels, size)
    if format == "npy":
        frames = 1
        if suite.kind == "perturbations":
            frames = max(steps.frames for steps in suite.edition.perturbations.values())
        return ArrayLayout(suite, folder, len(source), shape, _unit_size(prod(shape) * frames))
    return FileLayout(suite, folder, source.files, format)


def _unit_size(row: int) -> int:
    return max(1, min(_LARGEST_UNIT, _UNIT_BYTES // row))


def _key(value: int | str) -> str:
    """An id as WebDataset's key: no dots, which would end it, and no folders."""
    return str(value).replace(".", "_").replace("/", "_")


class FilePerUnit:
    """What layouts share in which a unit of a cell is one file, and nothing else is needed."""

    folder: Path

    def name(self, unit: range, cell: Cell) -> str:
        raise NotImplementedError

    def there(self, unit: range, cell: Cell) -> bool:
        return os.path.exists(f"{self.folder}/{self.name(unit, cell)}")

    def hash(self, unit: range, cell: Cell) -> str | None:
        return _file_hash(inner_path(self.folder, self.name(unit, cell)))

    def begin(self, cells: Sequence[Cell]) -> None:
        pass

    def finish(self, cells: Sequence[Cell], labels: Labels | None) -> None:
        pass

    def beside(self, labels: Labels | None) -> dict[str, bytes]:
        return {}


@dataclass(frozen=True)
class FileLayout(FilePerUnit):
    """A file per image and cell, `cell/class/name`: the layout of ImageNet-C and ImageNet-P."""

    suite: Suite
    folder: Path
    names: Sequence[str]
    format: str
    size: int = 1

    def check(self) -> None:
        for name in self.names:
            place = PurePosixPath(name)
            outside = place.is_absolute() or ".." in place.parts
            if outside or not place.name or not _can_be_named(name):
                raise InputError(f"the image name {name!r} is no path in {self.folder}; rename it")
        twice = len(self.names) - len({self._file(name) for name in self.names})
        if twice:
            raise InputError(
                f"{twice} image names differ in their suffix only and would share a file; "
                "rename them, or build with another format"
            )

    def _file(self, name: str) -> str:
        if self.format == "jpeg" and name.lower().endswith((".jpg", ".jpeg")):
            return name
        suffix = {"jpeg": ".JPEG", "png": ".png", "mp4": ".mp4"}[self.format]
        return str(PurePosixPath(name).with_suffix(suffix))

    def path(self, index: int, cell: Cell) -> str:
        return f"{cell_folder(self.suite, cell)}/{self._file(self.names[index])}"

    def name(self, unit: range, cell: Cell) -> str:
        return self.path(unit.start, cell)

    def write(self, unit: range, cell: Cell, images: UInt8, got: Sequence[int]) -> str:
        data = encode_one(self.suite, self.format, cell, images[0])
        write_built(str(self.folder), self.path(unit.start, cell), data)
        return content_hash(data)

    def read(self, cell: Cell, indices: Sequence[int]) -> UInt8:
        read_one = encode.read_video if self.format == "mp4" else read_image
        names = [self.path(index, cell) for index in indices]
        return stack_files([inner_path(self.folder, name) for name in names], read_one)

    def paths(self, count: int, cells: Sequence[Cell]) -> Iterator[str]:
        return (self.path(index, cell) for cell in cells for index in range(count))


def _can_be_named(name: str) -> bool:
    """Whether the system can spell it: a manifest may hold NUL, and half a pair of surrogates."""
    try:
        return b"\0" not in os.fsencode(name)
    except UnicodeEncodeError:
        return False


def stack_files(paths: Sequence[Path], read_one: Callable[[Path], UInt8]) -> UInt8:
    images = [read_one(path) for path in paths]
    for path, image in zip(paths, images, strict=True):
        if image.shape != images[0].shape:
            raise InputError(
                f"expected {paths[0]} and {path} to have one shape, got {images[0].shape} and "
                f"{image.shape}; fetch or build them again"
            )
    return np.stack(images)


def encode_one(suite: Suite, format: str, cell: Cell, image: UInt8) -> bytes:
    """One image, or one sequence of frames, as the bytes of its file."""
    if format == "png":
        return encode.png(image)
    if format == "jpeg":
        return encode.jpeg(image, encode.jpeg_quality(suite.storage or "jpeg:85"))
    storage = suite.noise_storage if suite.edition.steps(cell.name).is_noise else suite.storage
    return encode.video(image, storage or suite.storage or "x264:crf=20,preset=veryslow")


@dataclass(frozen=True)
class ShardLayout(FilePerUnit):
    """Tar files of some hundred images, WebDataset's layout: `key.jpg` beside `key.cls`."""

    suite: Suite
    folder: Path
    keys: Sequence[str]
    labels: Labels | None
    size: int

    def check(self) -> None:
        twice = len(self.keys) - len(set(self.keys))
        if twice:
            raise InputError(
                f"{twice} ids differ in their dots and slashes only and would share a place in the "
                "tar; rename the images, or build with another format"
            )

    def name(self, unit: range, cell: Cell) -> str:
        return f"{cell_folder(self.suite, cell)}/{unit.start // self.size:06d}.tar"

    def write(self, unit: range, cell: Cell, images: UInt8, got: Sequence[int]) -> str:
        file = io.BytesIO()
        format = "jpeg" if self.suite.storage else "png"
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for index, image in zip(got, images, strict=True):
                key = self.keys[index]
                suffix = "jpg" if format == "jpeg" else "png"
                _add(tar, f"{key}.{suffix}", encode_one(self.suite, format, cell, image))
                if self.labels is not None:
                    _add(tar, f"{key}.cls", str(self.labels[index]).encode())
        data = file.getbuffer()
        write_built(str(self.folder), self.name(unit, cell), data)
        return content_hash(data)

    def read(self, cell: Cell, indices: Sequence[int]) -> UInt8:
        images = []
        for index in indices:
            source, places = self._shard(index // self.size, cell)
            images.append(source.read(places[self.keys[index]]))
        return np.stack(images)

    @cached_property
    def _shard(self) -> Callable[[int, Cell], tuple[Source, dict[str, int]]]:
        """Opens a shard, by its number and cell: its images, and the place of each key."""

        @lru_cache(_SHARDS_OPEN)
        def shard(number: int, cell: Cell) -> tuple[Source, dict[str, int]]:
            unit = range(number * self.size, (number + 1) * self.size)
            path = inner_path(self.folder, self.name(unit, cell))
            with door(path, "build it again"):
                check_regular(path)
            source = open_images(path, id_rule="file_stem")
            return source, {str(name): place for place, name in enumerate(source.ids)}

        return shard

    def paths(self, count: int, cells: Sequence[Cell]) -> Iterator[str]:
        starts = range(0, count, self.size)
        return (self.name(range(start, start + 1), cell) for cell in cells for start in starts)


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)  # time 0, owner 0: the same bytes whenever it is built
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def _file_hash(path: Path) -> str | None:
    try:
        check_regular(path)
        return content_hash(path.read_bytes())
    except OSError:
        return None
