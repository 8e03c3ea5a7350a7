"""Parquet files, some rows at a time: what a file unpacks to is counted while it is read, since its
size does not tell how much that will be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hardy.limits import ROWS, check_regular
from hardy.places import is_url

if TYPE_CHECKING:
    import pyarrow as pa

# Rows that are unpacked before they are counted. Where equal rows are stored once, each of them may
# be as large as all that is stored: then fewer, so that they take no more bytes than these.
_TOGETHER, _BYTES = 4096, 200_000_000


def arrow_path(path: Path) -> Any:
    """What pyarrow opens: it takes no URLs as we have them and no names that are not UTF-8, but
    files that Python opened."""
    if is_url(path):
        return path.open("rb")
    check_regular(path)
    try:
        str(path).encode()
    except UnicodeEncodeError:
        return path.open("rb")
    return path.absolute()  # one with a colon in front would be a URL


def counted_rows(
    file: Any, groups: Sequence[int], columns: Sequence[str], where: Path, least: int = 1
) -> Iterator[pa.RecordBatch]:
    """Columns of some row groups, unless they are too large together.

    `least` is how many rows may be unpacked at a time, however large the others in the file are.
    """
    taken, together = 0, _TOGETHER
    for group in groups:
        # Of a column alone pyarrow could tell, but ends the process where that is damaged.
        stored = getattr(file.metadata.row_group(group), "total_byte_size", 0)
        together = max(least, min(together, _BYTES // max(1, stored)))
    for batch in file.iter_batches(together, row_groups=list(groups), columns=list(columns)):
        taken += batch.nbytes
        ROWS.check(taken, where)
        yield batch
