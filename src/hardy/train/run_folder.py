"""The folder of a training run: what lies in it, and its files, read and written without torch.

| file                     | what                                                                  |
|--------------------------|-----------------------------------------------------------------------|
| `run.json`               | method, data, recipe, versions, and which corruptions have been seen  |
| `run.json.old1`, ...     | those of runs that were begun here before, and had saved nothing      |
| `checkpoint.safetensors` | while it trains: weights, momentum, random state, the method's own    |
| `log.csv`, `log.jsonl`   | a line per epoch, and where it was measured within one                |
| `model.safetensors`      | the weights, once it has finished                                     |
| `unreadable.txt`         | streamed images that could not be read, and were left out             |

The checkpoint is one file, so that its parts always belong together.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hardy import schema
from hardy.documents import check_record, parse_json, read_document, read_json
from hardy.errors import InputError
from hardy.files import write_file
from hardy.train.hyperparameters import LARGEST_FLOAT

FORMAT = 1
RUN, MODEL = "run.json", "model.safetensors"
CHECKPOINT, LOG = "checkpoint.safetensors", "log.jsonl"
# A row for each epoch; and for steps within one after which the net was measured, which have STEP,
# and as `epoch` a fraction.
Log = list[dict[str, float]]
LOG_COLUMNS = ("epoch", "loss", "lr", "seconds", "images_per_second")  # of the log
# Shares of 1, in rows after which the net was measured.
VALIDATED = "validation_accuracy"
ROBUST = ("robust_error", "robust_error_low", "robust_error_high")
MEASURED = (VALIDATED, *ROBUST)
STEP = "step"
_ROWS = [(*LOG_COLUMNS, *more) for more in ((), (VALIDATED,), MEASURED)]
_ROWS_WITHIN = [(*LOG_COLUMNS, STEP, *more) for more in ((VALIDATED,), MEASURED)]
SHOWN = 100  # characters of what is wrong with a log
ANEW = "train anew in another folder"


def log_row(epoch: float, loss: float, lr: float, seconds: float, images: int) -> dict[str, float]:
    """What the log says of an epoch of so many images, or of its first steps."""
    figures = (epoch, round(loss, 6), lr, round(seconds, 3), round(images / seconds, 1))
    return dict(zip(LOG_COLUMNS, figures, strict=True))


def read_run(folder: Path) -> dict[str, Any]:
    path = folder / RUN
    try:
        found = read_json(path, "JSON", ANEW)
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(
            f"expected a folder that `hardy train` wrote, got {folder}, which has no {RUN}"
        ) from None
    if schema.TABLE.fits(found) and found.get("format", FORMAT) != FORMAT:
        got = schema.brief(found["format"])
        raise InputError(f"{path}: expected format {FORMAT}, got {got}; update hardy")
    return check_record(found, {"format": schema.WHOLE}, path, ANEW)


def is_figure(value: Any) -> bool:
    return schema.is_number(value) and abs(value) <= LARGEST_FLOAT


def read_log(folder: Path) -> Log:
    """The log of a finished run."""
    path = folder / LOG
    try:
        lines = read_document(path).decode("utf-8").splitlines()
        return check_log([parse_json(line) for line in lines])
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else repr(error)[:SHOWN]
        raise InputError(
            f"the training in {folder} has finished, and its net is whole (hardy:{folder}), but "
            f"its log {path} cannot be read ({why}); bring back the file, or do without"
        ) from error


def epochs_in(log: Log) -> Log:
    """The rows of whole epochs."""
    return [row for row in log if STEP not in row]


def check_log(rows: Any) -> Log:
    """Check that the log has a row of numbers for each of the epochs 1, 2, ..., and, of what was
    measured within them, in their order."""
    done, last = 0, 0.0
    row: Any
    for row in rows if isinstance(rows, list) else [None]:
        whole = isinstance(row, dict) and tuple(row) in _ROWS
        within = isinstance(row, dict) and tuple(row) in _ROWS_WITHIN
        if not (whole or within) or not all(map(is_figure, row.values())):
            raise ValueError(f"its log has no numbers of epoch {done + 1}")
        if not (row["epoch"] == done + 1 if whole else last < row["epoch"] <= done + 1):
            raise ValueError(f"its log has no numbers of epoch {done + 1}")
        done, last = done + whole, row["epoch"]
    if not rows:
        raise ValueError("its log is empty")
    return rows  # type: ignore[no-any-return]


def write_log(folder: Path, rows: Sequence[Mapping[str, float]]) -> None:
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    write_whole(folder / LOG, lines.encode())
    table = io.StringIO()
    columns = max((list(row) for row in rows), key=len)  # some epochs may not be measured
    writer = csv.DictWriter(table, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_whole(folder / "log.csv", table.getvalue().encode())


def write_whole(target: Path, content: bytes) -> None:
    if (target.parent / CHECKPOINT).exists():
        todo = "what was saved before is kept, and the same command resumes from there"
    else:
        todo = "nothing had been saved; make room, and the same command trains from the beginning"
    write_file(target, content, todo)
