"""The Parquet files that hold predictions: columns, names, and how one gets to the disk.

A row is one image under one cell, or one frame of it. `000007.parquet` is the seventh file;
`000001-000064.parquet` is the first 64 in one, and as soon as it is there these count no more.
Where two rows are about the same prediction, the one in the later file counts.
"""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hardy.errors import InputError
from hardy.files import remove_unfinished, whole_file

Columns = dict[str, npt.NDArray[Any]]  # what is known of each prediction, by name

FOLDER = "parts"
_SUFFIX = ".parquet"
# Rows that are read or merged together: a few megabytes.
GROUP = 1 << 17
# So many files become one: opening a thousand takes longer than reading all that is in them.
MERGED = 64

# Name for the reader -> type, and the columns of the file that it is made of.
COLUMNS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "label": (np.int32, ("label",)),
    "log_prob": (np.float32, ("log_prob",)),
    "rank": (np.int32, ("rank",)),
    "square_sum": (np.float32, ("square_sum",)),
    "top5": (np.int32, tuple(f"class_{place}" for place in range(1, 6))),
    "top5_prob": (np.float32, tuple(f"prob_{place}" for place in range(1, 6))),
    "zipf": (np.float32, ("zipf_first", "zipf_1", "zipf_2", "zipf_3")),
    "pixels": (np.uint64, ("pixels",)),
}
KEYS = ("image", "corruption", "severity", "frame")
_TYPES: dict[str, tuple[pa.DataType, ...]] = {
    "image": (pa.int64(), pa.string()),
    "corruption": (pa.string(),),
    "severity": (pa.int8(),),
    "frame": (pa.int16(),),
    **{part: (pa.from_numpy_dtype(kind),) for kind, parts in COLUMNS.values() for part in parts},
}
# The least that whole numbers can be; -1 says that there is no label, or no such class.
LEAST = {"severity": 0, "frame": 0, **dict.fromkeys(("label", "rank", *COLUMNS["top5"][1]), -1)}


# Probabilities hardly repeat: by bytes of the same place they pack a third better, and are written
# four times faster.
_FLOATS = [name for kind, names in COLUMNS.values() if kind is np.float32 for name in names]
_OPTIONS: dict[str, Any] = {
    "compression": "zstd",
    "use_dictionary": [
        *KEYS,
        *(name for kind, names in COLUMNS.values() if kind is not np.float32 for name in names),
    ],
    "column_encoding": dict.fromkeys(_FLOATS, "BYTE_STREAM_SPLIT"),
    "write_page_checksum": True,
}


class PartFile(NamedTuple):
    first: int
    last: int

    @property
    def name(self) -> str:
        numbers = (self.first,) if self.first == self.last else self
        return "-".join(f"{number:06d}" for number in numbers) + _SUFFIX


def list_parts(folder: Path) -> tuple[list[PartFile], list[PartFile]]:
    """The files that count, in order, and those that a merged file has replaced."""
    found = []
    with suppress(FileNotFoundError):
        for name in _listed(folder):
            match = re.fullmatch(r"(\d{6,})(?:-(\d{6,}))?" + re.escape(_SUFFIX), name)
            if match:
                found.append(PartFile(int(match[1]), int(match[2] or match[1])))
    found.sort(key=lambda part: (part.first, -part.last))
    counting: list[PartFile] = []
    replaced: list[PartFile] = []
    for part in found:
        covered = counting and part.last <= counting[-1].last
        (replaced if covered else counting).append(part)
    return counting, replaced


def _listed(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except NotADirectoryError as error:
        raise InputError(
            f"{folder}: expected a folder of predictions, got a file; delete it, and the same "
            "`hardy eval` makes them again"
        ) from error


def sweep(folder: Path) -> None:
    """Remove what a killed process left half-written, and files whose rows a merged one has."""
    remove_unfinished(folder)
    for part in list_parts(folder)[1]:
        (folder / part.name).unlink()


def table(
    image: pa.Array, corruption: pa.Array, severity: Any, columns: Mapping[str, Any]
) -> pa.Table:
    """Rows as they are stored. Plain columns: lists take twice as long to read, or more."""
    made = {"image": image, "corruption": corruption, "severity": severity}
    made["frame"] = columns["frame"]
    for name, (_, parts) in COLUMNS.items():
        values = columns[name].reshape(-1, len(parts))
        made |= {part: np.ascontiguousarray(values[:, place]) for place, part in enumerate(parts)}
    return pa.table(made)


def append(folder: Path, rows: pa.Table) -> None:
    """Write the rows as one more file."""
    counting, _ = list_parts(folder)
    number = counting[-1].last + 1 if counting else 1
    with whole_file(folder / PartFile(number, number).name) as file:
        pq.write_table(rows, file, **_OPTIONS)


def merge_tail(folder: Path) -> None:
    """Make one file of the single ones at the end, if there are many.

    A row group at a time, so that the memory stays flat. Killed at any moment, a row counts once.
    """
    counting, _ = list_parts(folder)
    single = list(takewhile(lambda part: part.first == part.last, reversed(counting)))[::-1]
    if len(single) < MERGED:
        return
    merged = PartFile(single[0].first, single[-1].last)
    with _open(folder / single[0].name) as file:
        kind = file.schema_arrow
    with whole_file(folder / merged.name) as file, pq.ParquetWriter(file, kind, **_OPTIONS) as out:
        waiting: list[pa.Table] = []
        for part in single:
            waiting += read_groups(folder / part.name, kind.names)
            if sum(map(len, waiting)) >= GROUP:
                out.write_table(pa.concat_tables(waiting), row_group_size=2 * GROUP)
                waiting.clear()
        if waiting:
            out.write_table(pa.concat_tables(waiting))
    for part in single:
        (folder / part.name).unlink()


def read_groups(
    path: Path, columns: Sequence[str], dictionaries: Sequence[str] = ()
) -> Iterator[pa.Table]:
    """A file's rows, in order and some at a time; only these columns are read."""
    with _naming(path), _open(path, dictionaries) as file:
        for name in columns:
            _check_type(name, file.schema_arrow)
        for group in range(file.num_row_groups):
            rows = file.read_row_group(group, columns=list(columns))
            for name in columns:
                _check_values(name, rows[name])
            yield rows


def _check_type(name: str, schema: pa.Schema) -> None:
    if name not in schema.names:
        raise pa.ArrowInvalid(f"there is no column {name}")
    kind = plain_type(schema.field(name).type)
    if kind not in _TYPES[name]:
        wanted = " or ".join(map(str, _TYPES[name]))
        raise pa.ArrowInvalid(f"expected {name} as {wanted}, got {kind}")


def plain_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _check_values(name: str, values: pa.ChunkedArray) -> None:
    if values.null_count:
        raise pa.ArrowInvalid(f"{values.null_count:,} rows have no {name}")
    if name in LEAST and len(values) and (least := pc.min(values).as_py()) < LEAST[name]:
        raise pa.ArrowInvalid(f"expected {name} from {LEAST[name]}, got {least}")


def _open(path: Path, dictionaries: Sequence[str] = ()) -> Any:
    return pq.ParquetFile(path, read_dictionary=list(dictionaries), page_checksum_verification=True)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Give pyarrow's errors the file's name and what to do."""
    try:
        yield
    except FileNotFoundError:
        raise
    except (pa.ArrowException, OSError) as error:
        raise damaged(path, str(error)) from error
    except KeyError as error:
        raise damaged(path, f"there is no column {error}") from error


def damaged(path: Path, why: str) -> InputError:
    return InputError(
        f"{path} is damaged ({why}); delete it, and the same `hardy eval` makes what it held again"
    )
