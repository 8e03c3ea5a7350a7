"""CIFAR-10 and CIFAR-100 as their authors give them out, in the python and the binary form.

The binary form is read a record at a time. The python form is pickled, and stays in memory (180 MB
at most). Unpickling calls whatever a file names. A CIFAR file names three things of NumPy, to build
one array of bytes. The unpickler here answers these three with stand-ins of its own, which only
hold on to what they are given, and refuses every other name; so nothing of a file is called or
imported.
"""

import io
import pickle
import pickletools
import reprlib
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.images.image_files import Convert, rgb
from hardy.images.numpy_files import Rows, numbered
from hardy.images.readers import Reader, Request, no_splits
from hardy.images.source import Labels, Listing, check_by_row, check_label_count
from hardy.limits import IMAGES
from hardy.places import is_url

SHAPE = (3, 32, 32)
_PIXELS = 3 * 32 * 32
# The largest true file, the training set of CIFAR-100, has 155 million bytes.
LARGEST = 200_000_000
# The memo is an array, as long as its highest number says. The true files have one number for each
# of at most 50,000 file names.
_LARGEST_MEMO = 1_000_000
_PUTS = ("PUT", "BINPUT", "LONG_BINPUT")
TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))


class _CifarLayout(NamedTuple):
    """Where the authors put what, in one form of one data set."""

    name: str
    classes: int
    splits: Mapping[str, tuple[str, ...]]  # split -> files
    class_names: str  # a file, or in the python form a file and its key
    labels: str  # the key of the python form
    head: int  # bytes before the pixels of a binary record; the last of them is the label


_TEN = {"train": TRAIN, "test": ("test_batch",)}
_FINE = {"train": ("train",), "test": ("test",)}


def _bin(splits: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    return {split: tuple(f"{name}.bin" for name in names) for split, names in splits.items()}


_CIFAR_LAYOUTS = (
    _CifarLayout("CIFAR-10, python form,", 10, _TEN, "batches.meta:label_names", "labels", 0),
    _CifarLayout("CIFAR-100, python form,", 100, _FINE, "meta:fine_label_names", "fine_labels", 0),
    _CifarLayout("CIFAR-10, binary form,", 10, _bin(_TEN), "batches.meta.txt", "", 1),
    _CifarLayout("CIFAR-100, binary form,", 100, _bin(_FINE), "fine_label_names.txt", "", 2),
)


@dataclass(frozen=True)
class _CifarSource(Listing):
    parts: tuple[Rows | UInt8, ...]
    ends: tuple[int, ...]  # of the parts, counted in images

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        index = range(len(self))[index]
        part = bisect_right(self.ends, index)
        row = self.parts[part][index - (self.ends[part - 1] if part else 0)]
        return convert(np.ascontiguousarray(row.reshape(SHAPE).transpose(1, 2, 0)))


class _CifarReader(Reader):
    """CIFAR-10 or -100 as its authors give it out: a file, the folder, or folder:test."""

    brings_labels = True
    splits = ("train", "test")

    def recognises(self, request: Request) -> bool:
        return self._layout(request) is not None

    def open(self, request: Request) -> _CifarSource:
        layout, rule = self._layout(request), request.id_rule or "row_index"
        assert layout is not None
        if request.folder is not None:
            return _open_cifar(request.folder, layout, request.split, rule)
        if request.split is not None:
            raise no_splits(request, "one file of CIFAR")
        return _open_cifar_files([request.path], request.path, layout, rule)

    def _layout(self, request: Request) -> _CifarLayout | None:
        """The layout of the file, or of files in the folder; a folder "train" may be a class."""
        top, file = request.folder, request.file
        for layout in _CIFAR_LAYOUTS:
            files = [name for names in layout.splits.values() for name in names]
            if file is not None and file.name in files:
                return layout
            if top is not None and any((top / name).is_file() for name in files):
                return layout
        return None


READER = _CifarReader()


def _open_cifar(
    folder: Path, layout: _CifarLayout, split: str | None, id_rule: str
) -> _CifarSource:
    there = [
        name
        for name, files in layout.splits.items()
        if any((folder / file).is_file() for file in files)
    ]
    if split is None and len(there) > 1:
        raise InputError(
            f"{folder} has a training and a test set; say which: {folder}:test or {folder}:train"
        )
    files = layout.splits[split or there[0]]
    return _open_cifar_files([folder / file for file in files], folder, layout, id_rule)


def _open_cifar_files(
    paths: list[Path], where: Path, layout: _CifarLayout, id_rule: str
) -> _CifarSource:
    check_by_row(id_rule, where)
    for path in paths:
        if not path.is_file():
            raise InputError(f"{path} is missing: expected {', '.join(p.name for p in paths)}")
    read = _binary if layout.head else _python
    parts, labels = zip(*(read(path, layout) for path in paths), strict=True)
    together: Labels = np.concatenate(labels)
    if together.size and together.max() >= layout.classes:
        raise InputError(
            f"{where}: expected labels below {layout.classes}, got {together.max()}; "
            "the files are damaged or not CIFAR's"
        )
    return _CifarSource(
        layout.name,
        str(where),
        numbered(len(together)),
        range(len(together)),
        together,
        _class_names(paths[0].parent, layout),
        parts,
        tuple(accumulate(map(len, labels))),
    )


def _binary(path: Path, layout: _CifarLayout) -> tuple[Rows, Labels]:
    record = layout.head + _PIXELS
    size = path.stat().st_size
    if size == 0 or size % record:
        raise InputError(
            f"{path}: expected records of {record} bytes, got {size:,} bytes, which is no whole "
            "number of them; fetch the file again"
        )
    IMAGES.check(size // record, path)
    whole = (
        np.frombuffer(path.read_bytes(), np.uint8)
        if is_url(path)
        else np.memmap(path, np.uint8, "r")
    )
    labels = whole.reshape(-1, record)[:, layout.head - 1]
    return Rows(path, 0, record, _PIXELS), labels.astype(np.int64)


def _python(path: Path, layout: _CifarLayout) -> tuple[UInt8, Labels]:
    batch = _read_pickle(path)
    images, labels = batch.get("data"), batch.get(layout.labels)
    if not isinstance(images, np.ndarray) or images.ndim != 2 or images.shape[1] != _PIXELS:
        got = f"shape {images.shape}" if isinstance(images, np.ndarray) else "none"
        raise InputError(f"{path}: expected an array data (N, {_PIXELS}), got {got}")
    if not isinstance(labels, list) or not all(
        type(label) is int and 0 <= label < 1000 for label in labels
    ):
        raise InputError(f"{path}: expected a list {layout.labels} of class numbers")
    numbers = np.array(labels, np.int64)
    check_label_count(len(numbers), len(images), str(path))
    return images, numbers


def _class_names(folder: Path, layout: _CifarLayout) -> tuple[str, ...] | None:
    """The names in the file that lies beside; a batch alone has none."""
    file, _, key = layout.class_names.partition(":")
    path = folder / file
    if not path.is_file():
        return None
    if key:
        found = _read_pickle(path).get(key)
        names = found if isinstance(found, list) else []
    else:
        names = path.read_text(encoding="utf-8", errors="replace").split()
    names = [name.decode(errors="replace") if isinstance(name, bytes) else name for name in names]
    if len(names) != layout.classes or not all(isinstance(name, str) for name in names):
        got = reprlib.repr(names)  # of a pickle: the whole of it may be endless
        raise InputError(f"{path}: expected the names of {layout.classes} classes, got {got}")
    return tuple(names)


def _read_pickle(path: Path) -> dict[str, Any]:
    """The dictionary in the file, its keys as text and its array as uint8."""
    size = path.stat().st_size
    if size > LARGEST:
        raise InputError(f"{path}: expected at most {LARGEST:,} bytes of CIFAR, got {size:,}")
    try:
        data = path.read_bytes()
        _check_memo(data)
        content = _Unpickler(io.BytesIO(data)).load()
        named = {
            key.decode() if type(key) is bytes else key: value for key, value in content.items()
        }
        return {
            key: _pixels(value) if hasattr(value, "state") else value
            for key, value in named.items()
        }
    # A broken pickle meets its reader with nearly every kind of exception.
    except Exception as error:
        reason = error if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        raise InputError(
            f"{path}: expected a pickled file of CIFAR, got another ({reason})"
        ) from error


def _check_memo(data: bytes) -> None:
    for opcode, number, _ in pickletools.genops(data):
        if opcode.name in _PUTS and int(number or 0) > _LARGEST_MEMO:
            raise InputError(f"it asks for more than {_LARGEST_MEMO:,} places in the memo")


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: Any) -> None:
        super().__init__(stream, encoding="bytes")  # Python 2 wrote the files

        # Made anew for each file, because a file may write attributes onto what it is handed.
        class Array:
            state: Any

            def __setstate__(self, state: Any) -> None:
                self.state = state

        class Dtype:
            def __init__(self, code: Any, *_: Any) -> None:
                self.code = code

            def __setstate__(self, state: Any) -> None:
                pass  # byte order and alignment; bytes have none

        self._known = {
            ("numpy", "ndarray"): None,
            ("numpy", "dtype"): Dtype,
            ("numpy.core.multiarray", "_reconstruct"): lambda *_: Array(),
            ("numpy._core.multiarray", "_reconstruct"): lambda *_: Array(),
        }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._known:
            raise InputError(f"it asks for {module}.{name}, which Hardy will not load")
        return self._known[module, name]


def _pixels(array: Any) -> UInt8:
    _, shape, dtype, fortran, data = array.state
    if dtype.code not in ("u1", b"u1") or type(data) is not bytes:
        raise InputError(f"an array of {reprlib.repr(dtype.code)} in the place of bytes")
    return np.frombuffer(data, np.uint8).reshape(shape, order="F" if fortran else "C")
