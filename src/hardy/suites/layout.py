"""Where a built suite's bytes lie: the official layouts, and a unit of work for each.

A layout cuts the images into units. `write` stores one unit of one cell and returns the hash of
what it stored; `hash` reads that back. Paths never leave the folder. Of a unit with images that
could not be read, `write` gets the others, and the list of those it got.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path, PurePosixPath
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.images.source import Labels, Source
from hardy.suites import encode
from hardy.suites.cells import Cell, levels
from hardy.suites.manifest import content_hash, write_atomically
from hardy.suites.schema import Suite

UInt8 = npt.NDArray[np.uint8]
PART = ".part"


class Layout(Protocol):
    @property
    def size(self) -> int:
        """Images in a unit."""

    def begin(self, cells: Sequence[Cell]) -> None:
        """Before the first unit, in one process."""

    def write(self, unit: range, cell: Cell, images: UInt8, got: Sequence[int]) -> str: ...

    def hash(self, unit: range, cell: Cell) -> str | None:
        """Of what is there; None if nothing is."""

    def finish(self, cells: Sequence[Cell], labels: Labels | None) -> None:
        """After the last unit of all cells, in one process."""

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
        return Shards(suite, folder, [_key(value) for value in source.ids], source.labels)
    if format == "npy":
        return Arrays(suite, folder, len(source), shape)
    return Files(suite, folder, source.files, format)


def _key(value: int | str) -> str:
    """An id as WebDataset's key: no dots, which would end it, and no folders."""
    return str(value).replace(".", "_").replace("/", "_")


def cell_folder(suite: Suite, cell: Cell) -> str:
    """`fog/3`; of sequences `tilt`, and `shot_noise_2` for the harder levels of noise."""
    if suite.kind == "corruptions":
        return f"{cell.name}/{cell.level}"
    return cell.name if cell.level == 1 else f"{cell.name}_{cell.level}"


@dataclass(frozen=True)
class Files:
    """A file per image and cell, `cell/class/name`: the layout of ImageNet-C and ImageNet-P."""

    suite: Suite
    folder: Path
    names: Sequence[str]
    format: str
    size: int = 1

    def begin(self, cells: Sequence[Cell]) -> None:
        for name in self.names:
            place = PurePosixPath(name)
            if place.is_absolute() or ".." in place.parts or "\0" in name:
                raise InputError(f'the image name "{name}" leads out of the folder; rename it')
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
        write_atomically(self.folder / self.path(unit.start, cell), data)
        return content_hash(data)

    def hash(self, unit: range, cell: Cell) -> str | None:
        return _file_hash(self.folder / self.path(unit.start, cell))

    def finish(self, cells: Sequence[Cell], labels: Labels | None) -> None:
        pass

    def paths(self, count: int, cells: Sequence[Cell]) -> Iterator[str]:
        return (self.path(index, cell) for cell in cells for index in range(count))


def encode_one(suite: Suite, format: str, cell: Cell, image: UInt8) -> bytes:
    """One image, or one sequence of frames, as the bytes of its file."""
    if format == "png":
        return encode.png(image)
    if format == "jpeg":
        return encode.jpeg(image, encode.jpeg_quality(suite.storage or "jpeg:85"))
    storage = suite.noise_storage if "noise" in cell.name else suite.storage
    return encode.video(image, storage or suite.storage or "x264:crf=20,preset=veryslow")


@dataclass(frozen=True)
class Shards:
    """Tar files of up to 500 images, WebDataset's layout: `key.jpg` beside `key.cls`."""

    suite: Suite
    folder: Path
    keys: Sequence[str]
    labels: Labels | None
    size: int = 500

    def begin(self, cells: Sequence[Cell]) -> None:
        pass

    def name(self, unit: range, cell: Cell) -> str:
        return f"{cell_folder(self.suite, cell)}/{unit.start // self.size:06d}.tar"

    def write(self, unit: range, cell: Cell, images: UInt8, got: Sequence[int]) -> str:
        file = io.BytesIO()
        format = "jpeg" if self.suite.storage else "png"
        with tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar:
            for index, image in zip(got, images, strict=True):
                key = self.keys[index]
                suffix = "jpg" if format == "jpeg" else "png"
                _add(tar, f"{key}.{suffix}", encode_one(self.suite, format, cell, image))
                if self.labels is not None:
                    _add(tar, f"{key}.cls", str(self.labels[index]).encode())
        data = file.getbuffer()
        write_atomically(self.folder / self.name(unit, cell), data)
        return content_hash(data)

    def hash(self, unit: range, cell: Cell) -> str | None:
        return _file_hash(self.folder / self.name(unit, cell))

    def finish(self, cells: Sequence[Cell], labels: Labels | None) -> None:
        pass

    def paths(self, count: int, cells: Sequence[Cell]) -> Iterator[str]:
        starts = range(0, count, self.size)
        return (self.name(range(start, start + 1), cell) for cell in cells for start in starts)


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)  # time 0, owner 0: the same bytes whenever it is built
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def _file_hash(path: Path) -> str | None:
    try:
        return content_hash(path.read_bytes())
    except OSError:
        return None


@dataclass(frozen=True)
class Arrays:
    """An array per corruption with the severities one after the other: the layout of CIFAR-10-C.

    Of sequences, an array (N, F, H, W, 3) each. Severities that were not built are zeros, as the
    manifest says. An array has the suffix .part until all that was asked for is in it.
    """

    suite: Suite
    folder: Path
    count: int
    shape: tuple[int, ...]  # of one image
    size: int = 500

    def path(self, cell: Cell) -> str:
        folder = cell_folder(self.suite, cell)
        return f"{cell.name if self.suite.kind == 'corruptions' else folder}.npy"

    def name(self, unit: range, cell: Cell) -> str:
        first = self.first_row(cell) + unit.start
        return f"{self.path(cell)}, rows {first} to {first + len(unit) - 1}"

    def first_row(self, cell: Cell) -> int:
        return self.count * (cell.level - 1) if self.suite.kind == "corruptions" else 0

    def _place(self, cell: Cell) -> Path:
        whole = self.folder / self.path(cell)
        return whole if whole.exists() else whole.with_name(whole.name + PART)

    def _whole_shape(self, cell: Cell) -> tuple[int, ...]:
        if self.suite.kind == "corruptions":
            return (self.count * len(levels(self.suite, cell.name)), *self.shape)
        return (self.count, self.suite.edition.steps(cell.name).frames, *self.shape)

    def _header(self, cell: Cell) -> bytes:
        file = io.BytesIO()
        shape = self._whole_shape(cell)
        np.lib.format.write_array_header_1_0(
            file, {"descr": "|u1", "fortran_order": False, "shape": shape}
        )
        return file.getvalue()

    def _offset(self, unit: range, cell: Cell) -> int:
        row = prod(self._whole_shape(cell)[1:])
        return len(self._header(cell)) + (self.first_row(cell) + unit.start) * row

    def begin(self, cells: Sequence[Cell]) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        for cell in cells:
            header = self._header(cell)
            with self._place(cell).open("ab") as file:
                if file.tell() == 0:
                    file.write(header)
                file.truncate(len(header) + prod(self._whole_shape(cell)))

    def write(self, unit: range, cell: Cell, images: UInt8, got: Sequence[int]) -> str:
        row = self._whole_shape(cell)[1:]
        if images.shape[1:] != row:
            raise InputError(
                f"expected images of {row} for {self.path(cell)}, got {images.shape[1:]}; an array "
                "holds images of one size: take a source or a suite that has one"
            )
        if len(got) < len(unit):  # what could not be read is black, in its own row
            images, some = np.zeros((len(unit), *row), np.uint8), images
            images[np.asarray(got) - unit.start] = some
        data = np.ascontiguousarray(images).data.cast("B")
        with self._place(cell).open("r+b") as file:
            file.seek(self._offset(unit, cell))
            file.write(data)
        return content_hash(data)

    def hash(self, unit: range, cell: Cell) -> str | None:
        header, length = self._header(cell), len(unit) * prod(self._whole_shape(cell)[1:])
        try:
            with self._place(cell).open("rb") as file:
                if file.read(len(header)) != header:
                    return None
                file.seek(self._offset(unit, cell))
                return content_hash(file.read(length))
        except OSError:
            return None

    def finish(self, cells: Sequence[Cell], labels: Labels | None) -> None:
        for cell in cells:
            place = self._place(cell)
            if place.name.endswith(PART):
                os.replace(place, self.folder / self.path(cell))
        if labels is not None and self.suite.kind == "corruptions":
            kind = np.uint8 if labels.max(initial=0) < 256 else np.int64
            file = io.BytesIO()
            np.save(file, np.tile(labels.astype(kind), len(levels(self.suite, cells[0].name))))
            write_atomically(self.folder / "labels.npy", file.getbuffer())

    def paths(self, count: int, cells: Sequence[Cell]) -> Iterator[str]:
        yield from dict.fromkeys(self.path(cell) for cell in cells)
        if self.suite.kind == "corruptions":
            yield "labels.npy"
