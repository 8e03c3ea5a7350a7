"""The layout of CIFAR-10-C and CIFAR-10-P: arrays, written a few rows at a time."""

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import IO, Any

import numpy as np

from hardy.engine.door import UInt8
from hardy.errors import InputError, door
from hardy.images.source import Labels
from hardy.inside import inner_path, open_inside
from hardy.limits import check_regular
from hardy.places import is_there, is_url, read_range
from hardy.suites.cells import Cell, cell_folder, levels
from hardy.suites.suite import Suite
from hardy.variants.disk.manifest import content_hash, write_built

_PART = ".part"


@dataclass(frozen=True)
class ArrayLayout:
    """An array per corruption with the severities one after the other: the layout of CIFAR-10-C.

    Of sequences, an array (N, F, H, W, 3) each. An array has the suffix .part until all severities
    are in it, since those that are not yet built are zeros there.
    """

    suite: Suite
    folder: Path
    count: int
    shape: tuple[int, ...]  # of one image
    size: int

    def path(self, cell: Cell) -> str:
        return array_name(self.suite, cell)

    def name(self, unit: range, cell: Cell) -> str:
        first = self.first_row(cell) + unit.start
        return f"{self.path(cell)}, rows {first} to {first + len(unit) - 1}"

    def first_row(self, cell: Cell) -> int:
        return self.count * (cell.level - 1) if self.suite.kind == "corruptions" else 0

    def _place(self, cell: Cell) -> Path:
        whole = self.folder / self.path(cell)
        return whole if is_there(whole) else whole.with_name(whole.name + _PART)

    def _open(self, cell: Cell, flags: int = 0) -> IO[bytes]:
        """Open an array to write some of it. Not to read it, too: of one that several machines
        write, NFS would then send whole pages back, with the rows of others as they were."""
        name = self._place(cell).name
        return open(open_inside(str(self.folder), name, os.O_WRONLY | flags), "wb")

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

    def check(self) -> None:
        pass

    def begin(self, cells: Sequence[Cell]) -> None:
        for cell in cells:
            header = self._header(cell)
            with self._open(cell, os.O_CREAT) as file:
                file.write(header)
                file.truncate(len(header) + prod(self._whole_shape(cell)))

    def write(self, unit: range, cell: Cell, images: UInt8, got: Sequence[int]) -> str:
        if len(got) < len(unit):  # what could not be read is black, in its own row
            images, some = np.zeros((len(unit), *images.shape[1:]), np.uint8), images
            images[np.asarray(got) - unit.start] = some
        data = np.ascontiguousarray(images).data.cast("B")
        with self._open(cell) as file:
            file.seek(self._offset(unit, cell))
            file.write(data)
        return content_hash(data)

    def read(self, cell: Cell, indices: Sequence[int]) -> UInt8:
        place = inner_path(self.folder, self._place(cell).name)
        return read_rows(place, self.first_row(cell), indices)

    def there(self, unit: range, cell: Cell) -> bool:
        return is_there(self._place(cell))

    def hash(self, unit: range, cell: Cell) -> str | None:
        header, shape = self._header(cell), self._whole_shape(cell)
        length = len(unit) * prod(shape[1:])
        place = inner_path(self.folder, self._place(cell).name)
        try:
            check_regular(place)
            with place.open("rb") as file:
                whole = place.stat().st_size == len(header) + prod(shape)
                if not whole or file.read(len(header)) != header:
                    return ""  # no row of it can be trusted to lie in its place
                file.seek(self._offset(unit, cell))
                return content_hash(file.read(length))
        except OSError:
            return None

    def finish(self, cells: Sequence[Cell], labels: Labels | None) -> None:
        for cell in cells:
            place = self._place(cell)
            if place.name.endswith(_PART):
                os.replace(place, self.folder / self.path(cell))
        for name, data in self.beside(labels).items():
            write_built(str(self.folder), name, data, wait=True)  # no checkpoint comes after it

    def beside(self, labels: Labels | None) -> dict[str, bytes]:
        """Labels, once per severity; sequences have none, as their benchmark needs none."""
        if labels is None or self.suite.kind != "corruptions":
            return {}
        kind = np.uint8 if labels.max(initial=0) < 256 else np.int64
        file = io.BytesIO()
        severities = levels(self.suite, self.suite.corruptions[0])
        np.save(file, np.tile(labels.astype(kind), len(severities)))
        return {"labels.npy": file.getvalue()}

    def paths(self, count: int, cells: Sequence[Cell]) -> Iterator[str]:
        yield from dict.fromkeys(self._place(cell).name for cell in cells)


def array_name(suite: Suite, cell: Cell) -> str:
    return f"{cell.name if suite.kind == 'corruptions' else cell_folder(suite, cell)}.npy"


def read_rows(path: Path, first: int, indices: Sequence[int]) -> UInt8:
    """The rows at some places, counted from the row `first`."""
    return np.ascontiguousarray(map_array(path)[np.asarray(indices, np.intp) + first])


class _RowsAtUrl:
    """An array in a file at a URL, of which rows are read when they are asked for."""

    ndim = property(lambda self: len(self.shape))

    def __init__(self, path: Path) -> None:
        with path.open("rb") as file:
            version = np.lib.format.read_magic(file)
            if version != (1, 0):
                raise ValueError(f"NumPy's format 1.0 was expected, and {version} came")
            self.shape, fortran, self.dtype = np.lib.format.read_array_header_1_0(file)
            self._start, self._path = file.tell(), path
        if fortran:
            raise ValueError("it is in Fortran order")

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> UInt8:
        size = prod(self.shape[1:])
        rows = np.arange(len(self))[index].tolist()
        data = b"".join(read_range(self._path, self._start + row * size, size) for row in rows)
        return np.frombuffer(data, np.uint8).reshape(len(rows), *self.shape[1:])


def map_array(path: Path) -> Any:
    """The images in a file: (N, H, W, 3), or (N, F, H, W, 3) of sequences."""
    with door(path, "fetch or build it again"):
        check_regular(path)
        at_url = is_url(path)
        array = _RowsAtUrl(path) if at_url else np.load(path, mmap_mode="r", allow_pickle=False)
    if not at_url and not isinstance(
        array, np.ndarray
    ):  # a zip, which NumPy opens by the same call
        raise InputError(f"{path}: expected NumPy's format, got an archive; unpack it")
    if array.dtype != np.uint8 or array.ndim not in (4, 5) or array.shape[-1] != 3:
        raise InputError(
            f"{path}: expected uint8 of shape (N, H, W, 3), or (N, F, H, W, 3) of sequences, "
            f"got {array.dtype} {array.shape}"
        )
    return array
