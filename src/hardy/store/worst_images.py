"""The worst images of a run, `worst.parquet`: thumbnails, and what the model took them for."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import pyarrow as pa
import pyarrow.parquet as pq

from hardy.errors import InputError
from hardy.files import whole_file

WORST = "worst.parquet"


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
        pq.write_table(pa.Table.from_pylist([one._asdict() for one in images]), file)


def read_worst(folder: Path) -> list[WorstImage]:
    """The images in their order; none where the run kept none."""
    path = folder / WORST
    if not path.exists():
        return []
    try:
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    except (pa.ArrowException, OSError) as error:
        raise damaged_worst(path, error) from error
    for name in WorstImage._fields:
        if not all(name in row and isinstance(row[name], _COLUMN_TYPES[name]) for row in rows):
            raise damaged_worst(path, f"its column {name} is missing or holds something else")
    ordered = ([row[name] for name in WorstImage._fields] for row in rows)
    return [WorstImage(str(image), *rest) for image, *rest in ordered]


def damaged_worst(path: Path, why: object) -> InputError:
    return InputError(
        f"{path}: expected the worst images of a run, but {why}; delete it, and the same "
        "`hardy eval` makes it again"
    )
