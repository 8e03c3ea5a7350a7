"""Images in `.npy` and `.npz` files: uint8 (N, H, W, 3), read a row at a time.

Nothing is ever unpickled. A row is read from the file when it is asked for, also out of an `.npz`,
whose members `np.savez` stores as they are. A member that `np.savez_compressed` wrote is unpacked
into a temporary file first, once for all processes that read it.
"""

import math
import os
import tempfile
import tokenize
import weakref
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from hardy.documents import read_document
from hardy.engine.door import UInt8
from hardy.errors import InputError, door
from hardy.images.image_files import Convert, rgb
from hardy.images.readers import Reader, Request
from hardy.images.source import Labels, Listing, check_by_row, check_label_count, number_labels
from hardy.limits import IMAGES, INFLATED, LISTING
from hardy.places import read_range
from hardy.sized_file import SizedFile

_NO_SOURCE = (SyntaxError, tokenize.TokenError, RecursionError, MemoryError)
NPY_MAGIC, ZIP_MAGIC = b"\x93NUMPY", b"PK\x03\x04"
EXPECTED = "expected uint8 images (N, H, W, 3)"
_EXPECTED_LABELS = "expected class numbers (N,) from 0"
_SPOONFUL = 1 << 22  # bytes that are unpacked at a time


@dataclass(frozen=True)
class Rows:
    """Equal records of bytes in a file; the pixels are the last `size` bytes of each."""

    path: Path
    offset: int
    stride: int
    size: int

    def __getitem__(self, index: int) -> UInt8:
        start = self.offset + index * self.stride + self.stride - self.size
        row = np.frombuffer(read_range(self.path, start, self.size), np.uint8)
        if len(row) != self.size:
            raise InputError(f"cannot read {self.path}: it has become shorter since it was opened")
        return row


@dataclass(frozen=True)
class ArraySource(Listing):
    rows: Rows | UInt8
    shape: tuple[int, int, int]

    @property
    def size(self) -> tuple[int, int] | None:
        return self.shape[:2]

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        # A negative or too large index would read another record or none.
        return convert(np.array(self.rows[range(len(self))[index]]).reshape(self.shape))


class _NpyReader(Reader):
    """An array uint8 (N, H, W, 3); labels are .npy too, or text with a label per line."""

    def recognises(self, request: Request) -> bool:
        return request.start.startswith(NPY_MAGIC)

    def open(self, request: Request) -> ArraySource:
        return open_npy(request.path, request.labels, request.id_rule or "row_index")


class _NpzReader(Reader):
    """The arrays images and labels, as np.savez has them."""

    def recognises(self, request: Request) -> bool:
        return request.start.startswith(ZIP_MAGIC)

    def open(self, request: Request) -> ArraySource:
        return _open_npz(request.path, request.labels, request.id_rule or "row_index")


NPY, NPZ = _NpyReader(), _NpzReader()


def open_npy(path: Path, labels: Path | None, id_rule: str) -> ArraySource:
    with door(path, "fetch or write it again"), SizedFile(path) as stream:
        shape, dtype, fortran = _header(stream, str(path), EXPECTED)
        start = stream.tell()
    rows = _rows(path, start, path.stat().st_size - start, shape, dtype, fortran, str(path))
    given, classes = (None, None) if labels is None else read_labels(labels)
    return _array_source("array", path, rows, shape, given, classes, id_rule)


def _open_npz(path: Path, labels: Path | None, id_rule: str) -> ArraySource:
    """The members `images` and `labels`."""
    try:
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            if "images" not in members:
                raise InputError(
                    f"{path}: expected the arrays images and labels, got "
                    f"{', '.join(members) or 'none'}; write them with np.savez(path, images=...)"
                )
            rows, shape = _npz_images(path, archive, members["images"])  # not unpacked yet
            if labels is not None and "labels" in members:
                raise InputError(f"{path} has labels, and so has {labels}; give only one of them")
            given, classes = (None, None) if labels is None else read_labels(labels)
            if given is not None:
                check_label_count(len(given), shape[0], str(path))
            if "labels" in members:
                where = f"{path}, labels"
                size = _size(path, members["labels"], where)
                with archive.open(members["labels"]) as stream:
                    given = _load_labels(stream, size, where, count=shape[0])
            if members["images"].compress_type != zipfile.ZIP_STORED:
                rows = _unpack(archive, members["images"], rows, shape[0])
    except InputError:
        raise
    # RuntimeError: the archive is encrypted. ValueError: a member ends too early.
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError) as error:
        raise InputError(f"cannot read {path}: {error or type(error).__name__}") from error
    return _array_source("array", path, rows, shape, given, classes, id_rule)


def _array_source(
    kind: str,
    path: Path,
    rows: Rows | UInt8,
    shape: tuple[int, ...],
    labels: Labels | None,
    classes: tuple[str, ...] | None,
    id_rule: str,
) -> ArraySource:
    """`shape` is that of all images, (N, H, W, 3)."""
    check_by_row(id_rule, path)
    count, height, width, channels = shape
    IMAGES.check(count, path)
    if labels is not None:
        check_label_count(len(labels), count, str(path))
    size = (height, width, channels)
    return ArraySource(kind, str(path), numbered(count), range(count), labels, classes, rows, size)


def source_of_array(images: UInt8, labels: Any) -> ArraySource:
    """The images of an array in memory; the id of an image is its row."""
    if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] != 3:
        raise InputError(f"{EXPECTED}, got {images.dtype} {images.shape}")
    given = None if labels is None else class_numbers(labels)
    where = Path(f"of {images.shape[1]} x {images.shape[2]} pixels")
    return _array_source("array", where, images, images.shape, given, None, "row_index")


def class_numbers(labels: Any) -> Labels:
    """Labels that somebody has in memory."""
    given = np.asarray(labels)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise InputError(f"{_EXPECTED_LABELS}, got {given.dtype} {given.shape}")
    return given.astype(np.int64)


def numbered(count: int) -> list[str]:
    """Names for rows: 00000, 00001, ... of one length, so that they sort."""
    width = len(str(max(count - 1, 0)))
    return [f"{index:0{width}}" for index in range(count)]


def read_labels(path: Path) -> tuple[Labels, tuple[str, ...] | None]:
    """Class numbers from an `.npy` file, or one label per line of a text file."""
    try:
        with SizedFile(path) as stream:
            if stream.read(len(NPY_MAGIC)) == NPY_MAGIC:
                stream.seek(0)
                return _load_labels(stream, path.stat().st_size, str(path)), None
        return number_labels(read_document(path, LISTING).decode("utf-8").splitlines())
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"cannot read {path}: expected labels as .npy or one per line ({error})"
        ) from error


def _npz_images(
    path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo
) -> tuple[Rows, tuple[int, ...]]:
    """Where the rows lie: in the file, or in what a compressed member unpacks to."""
    where = f"{path}, images"
    size = _size(path, info, where)
    with archive.open(info) as stream:
        shape, dtype, fortran = _header(stream, where, EXPECTED)
        start = stream.tell()
    if info.compress_type == zipfile.ZIP_STORED:
        with path.open("rb") as raw:
            raw.seek(info.header_offset + 26)  # the lengths of the local name and extra field
            lengths = np.frombuffer(raw.read(4), "<u2")
        begin = info.header_offset + 30 + int(lengths.sum()) + start
        return _rows(path, begin, size - start, shape, dtype, fortran, where), shape
    rows = _rows(path, start, size - start, shape, dtype, fortran, where)
    IMAGES.check(shape[0], where)
    return rows, shape


def _unpack(archive: zipfile.ZipFile, info: zipfile.ZipInfo, packed: Rows, count: int) -> Rows:
    """The rows in a temporary file, which goes with them, or with the process that unpacked it."""
    handle, name = tempfile.mkstemp(prefix="hardy-", suffix=".pixels")
    rows = Rows(Path(name), 0, packed.stride, packed.size)
    weakref.finalize(rows, _remove, name, os.getpid())
    with open(handle, "wb") as file, archive.open(info) as stream:
        stream.seek(packed.offset)
        left = count * packed.stride
        while left:
            some = stream.read(min(left, _SPOONFUL))
            if not some:
                raise EOFError(f"{packed.path}, images ends {left:,} bytes too early")
            left -= file.write(some)
    return rows


def _remove(name: str, process: int) -> None:
    """Delete it, unless a copy of the rows ends in another process than the one that made it."""
    if os.getpid() == process:
        Path(name).unlink(missing_ok=True)


def _size(path: Path, info: zipfile.ZipInfo, where: str) -> int:
    """Bytes that the member can have, whatever it claims."""
    if info.compress_type == zipfile.ZIP_STORED:
        return min(info.file_size, path.stat().st_size)
    if info.compress_type != zipfile.ZIP_DEFLATED:
        raise InputError(f"{where}: expected what np.savez writes, got another compression")
    INFLATED.check(info.file_size, where)
    return info.file_size


def _header(
    stream: IO[bytes], where: str, expected: str
) -> tuple[tuple[int, ...], np.dtype[Any], bool]:
    try:
        version = np.lib.format.read_magic(stream)
        read = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }[version]
        shape, fortran, dtype = read(stream)
        if not all(0 <= length < 2**63 for length in shape):
            raise ValueError("its shape is none")
    # What the header says is parsed as Python's source would be.
    except (*_NO_SOURCE, ValueError, KeyError, TypeError) as error:
        reason = error if str(error) else type(error).__name__
        raise InputError(f"{where}: {expected} in NumPy's format, but {reason}") from error
    return shape, dtype, fortran


def _rows(
    path: Path,
    start: int,
    size: int,
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    fortran: bool,
    where: str,
) -> Rows:
    """Checked before a pixel is read, so that a wrong file costs nothing."""
    todo = "convert it"
    if dtype != np.uint8:
        todo = "convert it: np.clip(images, 0, 255).astype(np.uint8), times 255 first if 1 is white"
    elif len(shape) == 3 and shape[2] == 3:
        todo = "one image alone needs a first axis: images[None]"
    elif len(shape) == 3:
        todo = "grey becomes RGB by np.repeat(images[..., None], 3, axis=-1)"
    elif len(shape) == 4 and shape[1] == 3:
        todo = "channels go last: np.moveaxis(images, 1, -1)"
    elif fortran:
        todo = "it is in Fortran order: np.ascontiguousarray(images)"
    if dtype != np.uint8 or len(shape) != 4 or shape[3] != 3 or fortran or min(shape) < 1:
        raise InputError(f"{where}: {EXPECTED}, got {dtype} {shape}; {todo}")
    stride = shape[1] * shape[2] * shape[3]
    if size < stride * shape[0]:
        raise InputError(
            f"{where}: expected {stride * shape[0]:,} bytes of pixels, got {size:,}: "
            "the file is truncated; fetch or write it again"
        )
    return Rows(path, start, stride, stride)


def _load_labels(stream: IO[bytes], size: int, where: str, count: int | None = None) -> Labels:
    """`count` labels out of a stream of at most `size` bytes. Also (N, 1), which Keras gives."""
    shape, dtype, _ = _header(stream, where, _EXPECTED_LABELS)
    flat = len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)
    if dtype.kind not in "iu" or not flat:
        todo = "; Hardy never unpickles: save plain numbers" if dtype.hasobject else ""
        raise InputError(f"{where}: {_EXPECTED_LABELS}, got {dtype} {shape}{todo}")
    if count is not None:
        check_label_count(shape[0], count, where)
    claimed = math.prod(shape) * dtype.itemsize
    if size - stream.tell() < claimed:
        raise InputError(
            f"{where}: expected {claimed:,} bytes of labels, got {size - stream.tell():,}: "
            "the file is truncated; fetch or write it again"
        )
    IMAGES.check(shape[0], where)
    stream.seek(0)
    labels = np.lib.format.read_array(stream, allow_pickle=False).reshape(-1)
    if labels.size and labels.min() < 0:
        raise InputError(f"{where}: {_EXPECTED_LABELS}, got {labels.min()}")
    return labels.astype(np.int64)
