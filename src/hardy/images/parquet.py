"""Parquet and Arrow files with a column of encoded images, as Hugging Face's `datasets` has them.

The images are a struct of `bytes` and `path`, or plain bytes; class names come from the metadata
that `datasets` leaves in the schema. Files are read by row groups, of which the last few stay in
memory: reading in order is fast, reading at random is not.
"""

import json
import re
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, fields
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardy.arrow_files import arrow_path, counted_rows
from hardy.engine.door import UInt8
from hardy.errors import HardyError, InputError, told
from hardy.images.dataset_objects import IMAGE_COLUMNS, LABEL_COLUMNS
from hardy.images.image_files import Convert, decode_image, rgb
from hardy.images.readers import Reader, Request
from hardy.images.source import Faults, Labels, Listing, check_by_row, identify, number_labels
from hardy.limits import IMAGES, ROWS

_MAGIC = b"PAR1"
GROUPS_KEPT = 2
_SHARD = re.compile(r"(.+)-[0-9]{5}-of-[0-9]{5}(-[0-9a-f]+)?\.parquet")
_FEW_FOLDERS = 3
_FEW_NAMES = 256  # or labels, which are unpacked at a time


Column = tuple[str, ...]  # its name, or, as ("image", "bytes"), that of a struct and of a field


class ParquetColumns(NamedTuple):
    data: Column  # of the encoded images
    path: Column | None
    label: Column | None
    classes: tuple[str, ...] | None


@dataclass(frozen=True)
class ParquetSource(Listing):
    paths: tuple[Path, ...]
    columns: ParquetColumns
    groups: Sequence[tuple[int, int]]  # file and row group
    ends: Sequence[int]  # of the groups, counted in rows
    rows: Sequence[int]  # of the images that are used
    _kept: OrderedDict[int, Any] = field(default_factory=OrderedDict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def read(self, index: int, convert: Convert = rgb) -> UInt8:
        row = self.rows[index]
        group = bisect_right(self.ends, row)
        data = self._group(group)[row - (self.ends[group - 1] if group else 0)].as_py()
        name = f"{self.paths[self.groups[group][0]]}, row {row} ({self.files[index]})"
        if data is None:
            raise InputError(f"cannot read {name}: the image is not in the file, only its path")
        return decode_image(data, name, convert)

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes get it without what is kept, and without the lock."""
        return type(self), tuple(getattr(self, f.name) for f in fields(self) if f.repr)

    def _group(self, group: int) -> Any:
        with self._lock:  # the threads of a loader all want the same one
            if group not in self._kept:
                file, number = self.groups[group]
                path = self.paths[file]
                with _readable(path), _open(path) as opened:
                    self._kept[group] = _values(opened, path, [number], self.columns.data, 1)
                while len(self._kept) > GROUPS_KEPT:
                    self._kept.popitem(last=False)
            return self._kept[group]


class _ParquetReader(Reader):
    """A file, a folder of them or a pattern: a column of images, and one called label."""

    brings_labels = True

    def recognises(self, request: Request) -> bool:
        return request.all_end_in(".parquet") or request.start.startswith(_MAGIC)

    def open(self, request: Request) -> ParquetSource:
        return _open_parquets(request.files, request.text, request.id_rule, request.faults)


class _SavedDataset(Reader):
    """What Hugging Face keeps: data/test-00000-of-00001.parquet, or a saved folder; DIR:test."""

    brings_labels = True
    splits = None

    def recognises(self, request: Request) -> bool:
        return bool(_shards(request))

    def open(self, request: Request) -> ParquetSource:
        shards, text = _shards(request), request.text
        split = request.split or ("" if len(shards) > 1 else next(iter(shards)))
        if split not in shards:
            there = " or ".join(f"{text}:{name}" if name else text for name in shards)
            raise InputError(f"{text} has {len(shards)} parts of its own; say which: {there}")
        return _open_parquets(shards[split], text, request.id_rule, request.faults)


READER, SAVED = _ParquetReader(), _SavedDataset()


def _shards(request: Request) -> dict[str, list[Path]]:
    """Split -> files; a part that `save_to_disk` wrote by itself has no name."""
    top = request.folder
    if top is None:
        return {}
    if (top / "state.json").is_file():
        return {"": _arrows(top)}
    below = [top / name for name in request.names.folders]
    if (top / "dataset_dict.json").is_file():
        return {place.name: _arrows(place) for place in below if (place / "state.json").is_file()}
    # In the folder itself, or in its data/; many folders are classes.
    for place in (top, *below[:_FEW_FOLDERS]):
        files = sorted(place.glob("*.parquet"))
        matches = [_SHARD.fullmatch(path.name) for path in files]
        if files and all(matches):
            shards: dict[str, list[Path]] = {}
            for path, match in zip(files, matches, strict=True):
                shards.setdefault(match[1] if match else "", []).append(path)
            return shards
    return {}


def _arrows(folder: Path) -> list[Path]:
    """The files of a part, and not the caches that `datasets` may leave beside them."""
    return sorted([*folder.glob("data-*.arrow"), *folder.glob("dataset.arrow")])


def _open_parquets(
    paths: Sequence[Path], where: str, id_rule: str | None, faults: Faults
) -> ParquetSource:
    """`id_rule` None: by path if the images have one, else by row."""
    groups: list[tuple[int, int]] = []
    counts: list[int] = []
    names: list[str | None] = []
    labels: list[int | str | None] = []
    columns: ParquetColumns | None = None
    for number, path in enumerate(paths):
        with _readable(path), _open(path) as file:
            found = _columns(file.schema_arrow, path)
            if columns is not None and found != columns:
                raise InputError(f"{path} and {paths[0]} have different columns or class names")
            columns = found
            every = range(file.num_row_groups)
            groups += [(number, group) for group in every]
            held = [file.metadata.row_group(group).num_rows for group in every]
            _check_rows(held, len(names), path)
            counts += held
            places, said = (
                column and _values(file, path, every, column).to_pylist()
                for column in (found.path, found.label)
            )
            names += [None] * sum(held) if places is None else places
            labels += said or ()
    if columns is None or not names:
        raise InputError(f"there are no images in {where}")
    named = all(names)
    if id_rule is None:
        id_rule = "relative_path" if named else "row_index"
    if not named:
        check_by_row(id_rule, where)
    files = [name or str(row) for row, name in enumerate(names)]
    kept, ids = identify(files, id_rule, faults, lambda row: f"{where}, row {row} ({files[row]})")
    numbers, classes = _numbers(labels, columns, where)
    return ParquetSource(
        "Parquet",
        where,
        [files[row] for row in kept],
        ids,
        None if numbers is None else numbers[kept],
        classes,
        tuple(paths),
        columns,
        groups,
        list(accumulate(counts)),
        kept,
    )


def _check_rows(counts: Sequence[int], before: int, path: Path) -> None:
    """Refuse more rows than images can be in a file of its size, or than Hardy takes at all."""
    rows, size = sum(counts), path.stat().st_size
    if rows > size or min(counts, default=0) < 0:
        raise InputError(
            f"{path}: expected images, each of a byte or more, got {rows:,} rows in a file of "
            f"{size:,} bytes; fetch or write it again"
        )
    IMAGES.check(before + rows, path)


def _columns(schema: Any, path: Path) -> ParquetColumns:
    """The columns to read: those that `datasets` names, else found by their types and names."""
    import pyarrow.types as types

    features = _features(schema.metadata or {})
    kinds = {field.name: field.type for field in schema}
    images = [name for name, kind in kinds.items() if _holds_bytes(kind)]
    said = [name for name in images if features.get(name, {}).get("_type") == "Image"]
    images = said or [name for name in images if name in IMAGE_COLUMNS] or images
    if len(images) != 1:
        raise InputError(
            f"{path}: expected one column of images, a struct of bytes and path or plain bytes, "
            f"got {', '.join(f'{name} ({kind})' for name, kind in kinds.items())}"
        )
    image = images[0]
    said = [name for name, about in features.items() if about.get("_type") == "ClassLabel"]
    labels = [name for name in (*LABEL_COLUMNS, *said) if name in kinds]
    label = labels[0] if labels else None
    classes = features.get(label or "", {}).get("names")
    return ParquetColumns(
        data=(image, "bytes") if types.is_struct(kinds[image]) else (image,),
        path=(image, "path") if _has_path(kinds[image], f"{path}, {image}") else None,
        label=(label,) if label else None,
        classes=tuple(map(str, classes)) if isinstance(classes, list) else None,
    )


def _features(metadata: dict[bytes, bytes]) -> dict[str, dict[str, Any]]:
    try:
        features = json.loads(metadata.get(b"huggingface", b"{}"))["info"]["features"]
        return {name: about for name, about in features.items() if isinstance(about, dict)}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}  # the columns speak for themselves


def _is_binary(kind: Any) -> bool:
    import pyarrow.types as types

    return bool(types.is_binary(kind) or types.is_large_binary(kind))


def _holds_bytes(kind: Any) -> bool:
    import pyarrow.types as types

    if not types.is_struct(kind):
        return _is_binary(kind)
    return kind.get_field_index("bytes") >= 0 and _is_binary(kind.field("bytes").type)


def _has_path(kind: Any, where: str) -> bool:
    import pyarrow.types as types

    if not types.is_struct(kind) or kind.get_field_index("path") < 0:
        return False
    given = kind.field("path").type
    held = given.value_type if types.is_dictionary(given) else given
    if types.is_null(held):  # none of the images has one
        return False
    if not types.is_string(held) and not types.is_large_string(held):
        raise InputError(f"{where}: expected text in the field path, got {given}; leave it out")
    return True


def _values(
    file: Any, path: Path, groups: Sequence[int], column: Column, least: int = _FEW_NAMES
) -> Any:
    """One column, or a field of one, of some row groups of a file."""
    import pyarrow.compute as compute
    from pyarrow import Table, chunked_array, null

    # By the dots pyarrow finds a field; the name of a column may have dots of its own.
    batches = list(counted_rows(file, groups, [".".join(column)], path, least))
    if not batches:
        return chunked_array([], null())
    values = Table.from_batches(batches).column(column[0])
    return compute.struct_field(values, column[1]) if len(column) > 1 else values


def _numbers(
    labels: list[int | str | None], columns: ParquetColumns, where: str
) -> tuple[Labels | None, tuple[str, ...] | None]:
    # A split whose labels are kept secret has -1 in their place.
    if not labels or all(label == -1 for label in labels):
        return None, None
    if all(isinstance(label, str) for label in labels):
        return number_labels(map(str, labels))
    if not all(type(label) is int and 0 <= label < 2**31 for label in labels):
        name = ".".join(columns.label or ())
        raise InputError(f"{where}: expected class numbers from 0 or names in {name}")
    return np.array(labels, np.int64), columns.classes


def _open(path: Path) -> Any:
    # Imported here: it takes as long to load as all other readers together.
    from pyarrow.parquet import ParquetFile

    return _ArrowStream(path) if path.suffix == ".arrow" else ParquetFile(arrow_path(path))


class _ArrowStream(nullcontext[Any]):
    """What `save_to_disk` writes, as if it were a Parquet file; a batch is a group of rows."""

    def __init__(self, path: Path) -> None:
        from pyarrow import ipc, memory_map

        super().__init__(self)
        opened = arrow_path(path)
        stream = ipc.open_stream(memory_map(str(path)) if opened is path else opened)
        self._batches, taken = [], 0
        for batch in stream:
            batch.validate(full=True)  # else what is damaged ends the process when it is read
            taken += batch.nbytes
            if taken > path.stat().st_size:  # compressed, which `datasets` never does
                ROWS.check(taken, path)
            self._batches.append(batch)
        self.schema_arrow, self.metadata = stream.schema, self
        self.num_row_groups, self.row_group = len(self._batches), self._batches.__getitem__

    def iter_batches(self, rows: int, row_groups: Sequence[int], columns: Sequence[str]) -> Any:
        return (self._batches[group] for group in row_groups)


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    try:
        yield
    except HardyError:
        raise
    except Exception as error:  # pyarrow meets broken files with nearly any kind
        raise InputError(f"cannot read {path}: {told(error)}") from error
