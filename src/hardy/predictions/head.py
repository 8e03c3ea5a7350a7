"""What a run's folder says about its predictions: `run.json`, and the images with their labels."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from hardy.errors import InputError
from hardy.images.source import Ids
from hardy.predictions.parts import read_groups, whole_file

RUN, IMAGES = "run.json", "images.parquet"
VERSION = 1


def read_details(folder: Path) -> dict[str, Any] | None:
    path = folder / RUN
    try:
        details = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: expected JSON, but {error}; name another store") from error
    version = details.get("store") if isinstance(details, dict) else None
    if version != VERSION:
        raise InputError(
            f"{path}: expected a store of version {VERSION}, got {version}; read it with the "
            "version of Hardy that made it, or name another store"
        )
    return dict(details)


def write_details(folder: Path, details: Mapping[str, Any]) -> None:
    with whole_file(folder / RUN) as file:
        file.write(json.dumps({"store": VERSION, **details}, indent=1).encode())


def read_images(folder: Path) -> tuple[list[int] | list[str], npt.NDArray[np.int32]]:
    """Ids and labels."""
    try:
        table = pa.concat_tables(read_groups(folder / IMAGES, ["image", "label"]))
    except FileNotFoundError as error:
        raise InputError(f"{folder / IMAGES} is missing; name another store") from error
    ids = table["image"].to_pylist()
    if pa.types.is_string(table["image"].type):
        ids = [_restore(id) for id in ids]
    return ids, table["label"].to_numpy()


def write_images(folder: Path, ids: Ids, labels: npt.NDArray[np.int32]) -> None:
    with whole_file(folder / IMAGES) as file:
        pq.write_table(
            pa.table({"image": id_array(ids), "label": labels}),
            file,
            compression="zstd",
            write_page_checksum=True,
        )


def id_array(ids: Ids) -> pa.Array:
    """As files have them: whole numbers, or text."""
    if isinstance(ids[0], int):
        return pa.array(ids, pa.int64())
    return pa.array([_escape(str(id)) for id in ids], pa.string())


def _escape(id: str) -> str:
    """Names of files need not be valid text, but a Parquet file's strings must be."""
    return re.sub("[\\\\\ud800-\udfff]", lambda found: f"\\u{ord(found[0]):04x}", id)


def _restore(id: str) -> str:
    return re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), id)
