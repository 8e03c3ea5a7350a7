"""The worst images of a run, `worst.parquet`: thumbnails, and what the model took them for."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from hardy.arrow_files import arrow_path, counted_rows
from hardy.errors import HardyError, InputError, told
from hardy.files import whole_file

WORST = "worst.parquet"
MOST = 100_000  # a page shows a few of each corruption


class WorstImage(NamedTuple):
    """One image under one cell; its fields are the columns of the file."""

    image: str
    corruption: str
    severity: int
    label: int
    predicted: int
    log_prob: float  # of the label
    clean: bytes | None = None  # PNG, as is the next
    corrupted: bytes = b""


_COLUMN_TYPES = get_type_hints(WorstImage) | {"image": str | int}


def write_worst(folder: Path, images: Iterable[WorstImage]) -> None:
    with whole_file(folder / WORST) as file:
        rows = pa.Table.from_pylist([one._asdict() for one in images])
        pq.write_table(rows, file, write_page_checksum=True)


def read_worst(folder: Path) -> list[WorstImage]:
    """The images in their order; none where the run kept none."""
    path = folder / WORST
    if not path.exists():
        return []
    try:
        with pq.ParquetFile(arrow_path(path), page_checksum_verification=True) as file:
            every, columns = range(file.num_row_groups), file.schema_arrow.names
            _check_count(file.metadata.num_rows)
            batches = list(counted_rows(file, every, columns, path))
        rows: list[dict[str, Any]] = [row for batch in batches for row in batch.to_pylist()]
    except HardyError:
        raise
    except Exception as error:  # pyarrow meets broken files with nearly any kind
        raise damaged_worst(path, told(error)) from error
    for name in WorstImage._fields:
        if not all(name in row and isinstance(row[name], _COLUMN_TYPES[name]) for row in rows):
            raise damaged_worst(path, f"its column {name} is missing or holds something else")
    ordered = ([row[name] for name in WorstImage._fields] for row in rows)
    return [WorstImage(str(image), *rest) for image, *rest in ordered]


def _check_count(rows: int) -> None:
    if rows > MOST:
        raise ValueError(f"expected up to {MOST:,} images, got {rows:,}")


def damaged_worst(path: Path, why: str) -> InputError:
    return InputError(
        f"{path}: expected the worst images of a run, but {why}; delete it, and the same "
        "`hardy eval` makes it again"
    )
