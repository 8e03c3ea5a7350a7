"""The Parquet files that hold predictions, the parts: columns, names, how one gets to the disk.

A row is one image under one cell, or one frame of it. A part's name follows from the run and from
what is in it, so that many processes can write, and work that is done twice replaces equal files.
Where two rows are about the same prediction, the one in the later part counts.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hardy.arrow_files import arrow_path
from hardy.errors import HardyError, InputError, told
from hardy.files import whole_file
from hardy.limits import ROWS

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


# Between what numbers lie, but for rounding. Some may be NaN: there is no log_prob without a label,
# and no distance between frames where there are none.
_ROUNDING = 1e-3
_LARGEST = float(np.finfo(np.float32).max)
_RANGES = {
    "log_prob": (-_LARGEST, _ROUNDING),
    **dict.fromkeys(("square_sum", *COLUMNS["top5_prob"][1]), (0.0, 1 + _ROUNDING)),
    **dict.fromkeys(COLUMNS["zipf"][1], (0.0, _LARGEST)),
}
_MAY_BE_NAN = ("log_prob", *COLUMNS["zipf"][1])


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


# A part is named after what it holds; an older one by its number, or by the first and the last of
# those it was merged from.
LISTED = re.compile(r"[0-9a-f]{32}\.parquet").fullmatch
_NUMBERED = re.compile(r"(\d{6,12})(?:-(\d{6,12}))?\.parquet").fullmatch


def part_name(*contents: str) -> str:
    """The name of a part that holds this: who makes it again, replaces an equal file."""
    digest = sha256()
    for text in contents:
        digest.update(f"{len(text)}:{text}".encode(errors="surrogatepass"))
    return digest.hexdigest()[:32] + _SUFFIX


def numbered_parts(names: Iterable[str]) -> list[str]:
    """Those of stores before version 2 that count; the others are merged into one of these."""
    found = [
        (int(match[1]), -int(match[2] or match[1]), name)
        for name in names
        if (match := _NUMBERED(name))
    ]
    counting: list[str] = []
    merged_to = 0
    for _, last, name in sorted(found):
        if -last > merged_to:
            counting.append(name)
            merged_to = -last
    return counting


def names_in(folder: Path) -> list[str]:
    """The names in a folder of parts; none where it is not there."""
    try:
        return [path.name for path in folder.iterdir()]
    except FileNotFoundError:
        return []
    except NotADirectoryError as error:
        raise InputError(
            f"{folder}: expected a folder of predictions, got a file; delete it, and the same "
            "`hardy eval` makes them again"
        ) from error


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


def write_part(folder: Path, name: str, rows: pa.Table) -> None:
    with whole_file(folder / name) as file:
        pq.write_table(rows, file, **_OPTIONS)


def merge_parts(folder: Path, names: Sequence[str]) -> str:
    """Make one part of several, and say its name; a row group at a time: the memory stays flat."""
    merged = part_name(*names)
    with _naming(folder / names[0]), _open(folder / names[0]) as file:
        kind = file.schema_arrow
    with whole_file(folder / merged) as file, pq.ParquetWriter(file, kind, **_OPTIONS) as out:
        waiting: list[pa.Table] = []
        for name in names:
            waiting += read_groups(folder / name, kind.names)
            if sum(map(len, waiting)) >= GROUP:
                out.write_table(pa.concat_tables(waiting), row_group_size=2 * GROUP)
                waiting.clear()
        if waiting:
            out.write_table(pa.concat_tables(waiting))
    return merged


def read_groups(
    path: Path, columns: Sequence[str], dictionaries: Sequence[str] = ()
) -> Iterator[pa.Table]:
    """A file's rows, in order and some at a time; only these columns are read."""
    with _naming(path), _open(path, dictionaries) as file:
        for name in columns:
            _check_type(name, file.schema_arrow)
        for group in range(file.num_row_groups):
            ROWS.check(file.metadata.row_group(group).total_byte_size, path)
            _check_count(file.metadata.row_group(group).num_rows, path)
            rows = file.read_row_group(group, columns=list(columns))
            for name in columns:
                _check_values(name, rows[name])
            yield rows


def _check_count(rows: int, path: Path) -> None:
    """Refuse a group of more rows than Hardy writes: equal ones take no room in a file."""
    most = max(2 * GROUP, path.stat().st_size)
    if not 0 <= rows <= most:
        raise pa.ArrowInvalid(f"expected up to {most:,} rows in a group, got {rows:,}")


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
    if name in _RANGES:
        _check_range(name, values.to_numpy())


def _check_range(name: str, values: npt.NDArray[np.float32]) -> None:
    least, most = _RANGES[name]
    wrong = (values < least) | (values > most)
    if name not in _MAY_BE_NAN:
        wrong |= np.isnan(values)
    if wrong.any():
        raise pa.ArrowInvalid(f"{name} cannot be {values[wrong.argmax()]}")


def _open(path: Path, dictionaries: Sequence[str] = ()) -> Any:
    try:
        return pq.ParquetFile(
            arrow_path(path), read_dictionary=list(dictionaries), page_checksum_verification=True
        )
    except KeyError as error:  # one of the dictionaries
        raise pa.ArrowInvalid(f"there is no column {error.args[0].decode()}") from error


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Give pyarrow's errors the file's name and what to do."""
    try:
        yield
    except FileNotFoundError:
        raise
    except HardyError:
        raise
    except Exception as error:  # pyarrow meets broken files with nearly any kind
        raise damaged(path, str(error) or told(error)) from error


def damaged(path: Path, why: str) -> InputError:
    return InputError(
        f"{path} is damaged ({why}); delete it, and the same `hardy eval` makes what it held again"
    )
