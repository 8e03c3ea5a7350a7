"""What a disk, links, losses and other processes do to a store that is written."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hardy import files
from hardy.errors import HardyError, InputError
from hardy.files import UNFINISHED
from hardy.store.reader import find_runs, open_run
from hardy.store.records import read_details
from tests.store.stores import (
    CELLS,
    contents_hash,
    extend,
    identity,
    labels_of,
    opened,
    pixels_of,
    predict,
)
from tests.variants.test_build_killed import ENVIRONMENT


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = contents_hash(extend(tmp_path / "whole", range(3)))

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    store = tmp_path / "store"
    monkeypatch.setattr(files, "CHECKPOINT_SECONDS", 0.0)
    with pytest.raises(HardyError, match=r"cannot write to .*No space left.*what was written is k"):  # noqa: PT012, SIM117
        with opened(store, range(3)) as first:
            first.add(np.arange(2), CELLS[0], predict(range(2), CELLS[0]), pixels_of(range(2)))
            monkeypatch.setattr(os, "fsync", full)
            first.add(np.array([2]), CELLS[0], predict([2], CELLS[0]), pixels_of([2]))
    monkeypatch.undo()
    assert len(list((first.folder / "parts").iterdir())) == 1
    assert contents_hash(extend(store, range(3))) == whole


def test_a_store_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        InputError, match="file: expected a folder as store, got a file; name anoth"
    ):
        opened(tmp_path / "file", range(3))
    with pytest.raises(InputError, match="file: expected a folder as store, got a file"):
        read_details(identity().folder_in(tmp_path / "file"))
    with pytest.raises(HardyError, match=r"cannot write to .*Not a directory"):
        opened(tmp_path / "file" / "deeper", range(3))


@pytest.mark.parametrize("name", ["", "parts", "sessions", "lock"])
def test_links_are_not_followed(name: str, tmp_path: Path) -> None:
    folder = extend(tmp_path / "store", range(3), CELLS[:1]).folder
    outside = (folder / name).rename(tmp_path / "outside")
    (folder / name).symlink_to(outside)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(InputError, match=r"expected a \w+ of the run's own, got a link; remove it"):
        extend(tmp_path / "store", range(5))
    assert sorted(tmp_path.rglob("*")) == before


def test_a_file_that_is_being_written_goes_through_no_link(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("mine")
    with opened(tmp_path / "store", range(3)) as first:
        for name in ("run.json", "parts/000001.parquet"):
            path = first.folder / name
            (path.parent / f".{path.name}{UNFINISHED}").symlink_to(outside)
        first.set_width(7)
        first.add(np.arange(2), CELLS[0], predict(range(2), CELLS[0]))
    assert outside.read_text() == "mine"
    assert find_runs(tmp_path / "store")[0].complete(CELLS[:1]).tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("name", "made"), [("parts", Path.touch), ("sessions", Path.touch), ("lock", Path.mkdir)]
)
def test_what_is_in_the_way_is_named(
    name: str, made: Callable[[Path], None], tmp_path: Path
) -> None:
    path = identity().folder_in(tmp_path) / name
    path.parent.mkdir()
    made(path)
    with pytest.raises(InputError, match=rf"{path}: expected a \w+ of the run's own, got a \w+;"):
        opened(tmp_path, range(3))


@pytest.mark.parametrize("ids", [list(range(12)), [f"\udcff{i:02d}" for i in range(12)]])
@pytest.mark.parametrize("damage", ["missing", "empty file", "no rows", "another's"])
def test_a_lost_list_of_images_is_made_again(damage: str, ids: list[Any], tmp_path: Path) -> None:
    run = extend(tmp_path, ids)
    before, path = contents_hash(run), run.folder / "images.parquet"
    if damage == "missing":
        path.unlink()
    elif damage == "empty file":
        path.write_bytes(b"")
    else:
        rows = pq.read_table(path)
        other = (
            rows.slice(0, 0) if damage == "no rows" else pa.table({"image": [1.5], "label": [0]})
        )
        pq.write_table(other, path)
    with pytest.raises(
        InputError, match=r"images\.parquet is (missing|damaged).*the same `hardy eva"
    ):
        find_runs(tmp_path)
    again = extend(tmp_path, ids[:5])
    assert contents_hash(again) == before
    assert again.labels.tolist() == labels_of(again.ids).tolist()


def test_a_lost_list_without_predictions(tmp_path: Path) -> None:
    with opened(tmp_path, range(3)) as first:
        pass
    (first.folder / "images.parquet").unlink()
    assert extend(tmp_path, range(4)).ids == [0, 1, 2, 3]


SECOND = """
import sys
from pathlib import Path
from tests.store.stores import extend
from hardy.errors import InputError
try:
    extend(Path(sys.argv[1]), range(3))
except InputError as error:
    print(error)
"""


def test_two_processes(tmp_path: Path) -> None:
    def second() -> str:
        command = [sys.executable, "-c", SECOND, str(tmp_path)]
        return subprocess.run(
            command, env=ENVIRONMENT, check=True, capture_output=True, text=True
        ).stdout

    with opened(tmp_path, range(3)) as first:
        first.add(np.arange(3), CELLS[0], predict(range(3), CELLS[0]), pixels_of(range(3)))
        refused = second()
        assert f"another process is writing to {first.folder}; wait for it, or name" in refused
        first.checkpoint()
        assert open_run(first.folder).cells == (CELLS[0],)  # reading needs no lock
    assert second() == ""
    assert open_run(first.folder).complete(CELLS).all()
    assert labels_of(range(3)).tolist() == open_run(first.folder).labels.tolist()
