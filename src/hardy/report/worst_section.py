"""The worst images of a run, as its folder keeps them, made small enough for a page."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from hardy.errors import InputError
from hardy.images.inline import TINY, data_uri, encode
from hardy.store.reader import StoredRun

FILE = "worst.parquet"
COLUMNS: dict[str, Any] = {
    "image": str | int,
    "corruption": str,
    "severity": int,
    "label": int,
    "predicted": int,
    "log_prob": float,
    "clean": bytes | None,
    "corrupted": bytes,
}


@dataclass(frozen=True)
class Worst:
    """One image under one cell, and what the model took it for."""

    image: str
    corruption: str
    severity: int
    label: str
    predicted: str
    log_prob: float  # of the label
    clean: str | None  # data URIs
    corrupted: str
    tiny: bool  # shown with its pixels

    @property
    def probability(self) -> str:
        """Of the label."""
        percent = 100 * math.exp(self.log_prob)
        return f"{percent:.2g} %" if percent >= 0.01 else "< 0.01 %"


def read_worst(run: StoredRun) -> tuple[Worst, ...]:
    """The worst image of each corruption; none where the run kept none."""
    path = run.folder / FILE
    if not path.exists():
        return ()
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
        for name, kinds in COLUMNS.items():
            if not all(name in row and isinstance(row[name], kinds) for row in rows):
                raise InputError(f"its column {name} is missing or holds something else")
        return tuple(_worst(run, row) for row in _one_each(rows))
    # Pillow meets pictures that are none with OSError, SyntaxError or ValueError.
    except (pa.ArrowException, OSError, SyntaxError, ValueError) as error:
        raise InputError(
            f"{path}: expected the worst images of a run, but {error}; delete it, and the same "
            "`hardy eval` makes it again"
        ) from error


def _one_each(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The worst of each corruption that no other shows already, as far as there is one."""
    found: dict[str, dict[str, Any]] = {}
    shown: set[str] = set()
    for name in dict.fromkeys(row["corruption"] for row in rows):
        candidates = [row for row in rows if row["corruption"] == name]
        new = [row for row in candidates if row["image"] not in shown]
        found[name] = (new or candidates)[0]
        shown.add(found[name]["image"])
    return list(found.values())


def _worst(run: StoredRun, row: dict[str, Any]) -> Worst:
    return Worst(
        image=str(row["image"]),
        corruption=row["corruption"],
        severity=row["severity"],
        label=_class(run, row["label"]),
        predicted=_class(run, row["predicted"]),
        log_prob=row["log_prob"],
        clean=None if row["clean"] is None else data_uri(reencode(row["clean"])),
        corrupted=data_uri(reencode(row["corrupted"])),
        tiny=is_tiny(row["corrupted"]),
    )


def _class(run: StoredRun, number: int) -> str:
    names = run.classes
    return names[number] if names and 0 <= number < len(names) else f"class {number}"


def reencode(picture: bytes) -> bytes:
    """The same thumbnail, some five times smaller than a run keeps it."""
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as opened:
        return encode(np.asarray(opened.convert("RGB")))


def is_tiny(picture: bytes) -> bool:
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as opened:
        return min(opened.size) <= TINY
