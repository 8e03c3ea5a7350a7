"""Appends predictions to a store; one process at a time, and a kill at any moment corrupts nothing.

Rows are collected for some seconds, then written as one more file; only what was not written yet is
lost with the process. Reading needs no lock.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from hardy.errors import HardyError, InputError, printable
from hardy.files import CheckpointWriter
from hardy.images.source import Ids
from hardy.store import records
from hardy.store.identity import (
    Identity,
    LabelOf,
    check_details,
    check_stored_images,
    quoted,
    unlike,
)
from hardy.store.parts import COLUMNS, FOLDER, GROUP, Columns, append, merge_tail, sweep, table
from hardy.store.scan import scan_parts
from hardy.suites.cells import Cell

LOCK = "lock"
WAITING = {"place": (np.int32, ("image",)), "frame": (np.int16, ("frame",)), **COLUMNS}


class RunWriter(CheckpointWriter):
    def __init__(
        self,
        store: Path,
        identity: Identity,
        *,
        ids: Ids,
        labels: npt.NDArray[Any],
        classes: tuple[str, ...] | None,
        frames: Mapping[Cell, int] | None = None,
    ) -> None:
        """Open a run for images that are all, some, or more of those that are stored.

        `labels` has -1 for none, `frames` the number of frames of every cell that is a sequence.
        """
        if (store / records.RUN).exists():
            raise InputError(f"{store} is a run itself; name the folder above it as the store")
        records.check_store(store)
        wanted = _images_of(ids, labels)
        self.folder = identity.folder_in(store)
        _check_own(self.folder)
        self._waiting: list[tuple[Cell, Columns]] = []
        self._rows = 0
        with self._disk():
            (self.folder / FOLDER).mkdir(parents=True, exist_ok=True)
            busy = (
                f"another process is writing to {self.folder}; wait for it, or name another store"
            )
            super().__init__(self.folder / LOCK, busy)
        try:
            with self._disk():
                self._open(identity, wanted, classes, frames or {})
        except BaseException:
            self._held.release()
            raise

    def _open(
        self,
        identity: Identity,
        wanted: LabelOf,
        classes: tuple[str, ...] | None,
        frames: Mapping[Cell, int],
    ) -> None:
        before = records.read_details(self.folder)
        now: dict[str, Any] = {
            **asdict(identity),
            "defence": [asdict(one) for one in identity.defence] or None,
            "identity": identity.hash(),
            "classes": None if classes is None else list(classes),
            "width": None,
            "frames": {str(cell): number for cell, number in frames.items()},
            "sessions": [],
        }
        stored: LabelOf = {}
        listed = False
        if before is not None:
            check_details(before, now, self.folder)
            stored, listed = self._stored_images()
            if stored:
                check_stored_images(stored, wanted, self.folder)
            now |= {name: before[name] for name in ("model", "preprocessing", "width", "sessions")}
            now["classes"] = max(before["classes"] or [], now["classes"] or [], key=len) or None
            now["frames"] = before["frames"] | now["frames"]
        sweep(self.folder)
        sweep(self.folder / FOLDER)
        images = wanted if len(wanted) > len(stored) else stored
        self._ids: Ids = sorted(images)  # type: ignore[assignment]
        self._labels = np.array([images[id] for id in self._ids], np.int32)
        if len(images) > len(stored) or not listed:
            records.write_images(self.folder, self._ids, self._labels)
        records.write_details(self.folder, now)  # after the images: from now on it is a run
        self._details = now
        self._id_array = records.id_array(self._ids)
        place = {id: number for number, id in enumerate(self._ids)}
        self._places = np.array([place[id] for id in wanted], np.int64)
        self._there, self._pixels = scan_parts(self.folder, self._ids)
        self._frames = dict(frames)

    def _stored_images(self) -> tuple[LabelOf, bool]:
        """The stored images, and whether their list is whole; a damaged list is made again."""
        try:
            return _images_of(*records.read_images(self.folder)), True
        except InputError:
            ids, labels = records.recover_images(self.folder)
            return _images_of(ids, labels) if ids else {}, False

    @property
    def width(self) -> int | None:
        """The number of classes, once it is known."""
        width: int | None = self._details["width"]
        return width

    def set_width(self, width: int) -> None:
        if self.width is None:
            self._save({"width": width})
        elif self.width != width:
            raise InputError(
                f"{self.folder} holds predictions for {self.width:,} classes, the model now gives "
                f"{width:,}; name another store"
            )

    def add_session(self, session: Mapping[str, Any]) -> None:
        """Add a record made by `provenance.session`."""
        self._save({"sessions": [*self._details["sessions"], dict(session)]})

    def rename(self, model: str) -> None:
        """Call the model so from now on; the folder keeps the name that it was begun under."""
        if self._details["model"] != printable(model):
            self._save({"model": printable(model)})

    def leave_out(self, kind: str, images: int) -> None:
        """Say in the last session that images were left out, and why."""
        *before, last = self._details["sessions"]
        left_out = {**last.get("left_out", {}), kind: images}
        self._save({"sessions": [*before, {**last, "left_out": left_out}]})

    def _save(self, change: Mapping[str, Any]) -> None:
        with self._disk():
            records.write_details(self.folder, self._details | dict(change))
        self._details |= change

    def have(self, cells: Sequence[Cell]) -> npt.NDArray[np.bool_]:
        """(images, cells): which predictions are stored or added."""
        have = np.zeros((len(self._places), len(cells)), np.bool_)
        for column, cell in enumerate(cells):
            if cell in self._there:
                have[:, column] = self._there[cell][self._places]
        return have

    def check_pixels(self, rows: npt.NDArray[Any], pixels: npt.NDArray[np.uint64]) -> None:
        """Refuse images that are not what they were; `pixels` are hashes of the clean images."""
        places = self._places[rows]
        stored = self._pixels[places]
        other = np.flatnonzero((stored != pixels) & (stored != 0) & (pixels != 0))  # 0: unknown
        if len(other):
            raise unlike(
                self.folder,
                f"image {quoted(self._ids[places[other[0]]])} has the same id as before, and other "
                f"pixels ({len(other):,} of {len(pixels):,} images looked at)",
            )

    def add(
        self,
        rows: npt.NDArray[Any],
        cell: Cell,
        columns: Columns,
        pixels: npt.NDArray[np.uint64] | None = None,
    ) -> None:
        """Add what `reduce` gave for the images `rows` (indices into the ids) under a cell."""
        places = self._places[rows]
        if pixels is None:
            pixels = np.zeros(len(places), np.uint64)
        else:
            self.check_pixels(rows, pixels)
            self._pixels[places] = np.where(pixels == 0, self._pixels[places], pixels)
        frames = self._frames.get(cell, 1)
        size = len(places) * frames
        given = columns if cell in self._frames else columns | {"zipf": np.full((size, 4), np.nan)}
        given = given | {
            "place": np.repeat(places, frames),
            "frame": np.tile(np.arange(frames), len(places)),
            "label": np.repeat(self._labels[places], frames),
            "pixels": np.repeat(pixels, frames),
        }
        # Copies: what is given may be a view of something large.
        kept = {name: np.array(given[name], kind) for name, (kind, _) in WAITING.items()}
        for name, values in kept.items():
            if values.size != size * len(WAITING[name][1]):
                raise ValueError(f"expected {size} rows of {name}, got shape {values.shape}")
        self._waiting.append((cell, kept))
        self._rows += size
        self._there.setdefault(cell, np.zeros(len(self._ids), np.bool_))[places] = True
        if self._rows >= GROUP:
            self.checkpoint()
        self.checkpoint_if_due()

    def write_waiting(self) -> None:
        if self._waiting:
            with self._disk():
                append(self.folder / FOLDER, self._table())
                self._waiting.clear()
                self._rows = 0
                merge_tail(self.folder / FOLDER)

    def _table(self) -> pa.Table:
        """The rows that wait, in the order in which they came."""
        made = {
            name: np.concatenate([columns[name] for _, columns in self._waiting])
            for name in WAITING
        }
        entry = np.repeat(
            np.arange(len(self._waiting)), [len(columns["frame"]) for _, columns in self._waiting]
        )
        cells = [cell for cell, _ in self._waiting]
        return table(
            self._id_array.take(pa.array(made["place"])),
            pa.array([cell.name for cell in cells]).take(pa.array(entry)),
            np.array([cell.level for cell in cells], np.int8)[entry],
            made,
        )

    @contextmanager
    def _disk(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise HardyError(
                f"cannot write to {self.folder}: {error}; what was written is kept: see to the "
                "disk, then run the same command again"
            ) from error


def _check_own(folder: Path) -> None:
    """Refuse links, which may lead out of the store."""
    for path, kind in ((folder, "folder"), (folder / FOLDER, "folder"), (folder / LOCK, "file")):
        got = "link" if path.is_symlink() else "folder" if path.is_dir() else "file"
        if os.path.lexists(path) and got != kind:
            raise InputError(
                f"{path}: expected a {kind} of the run's own, got a {got}; remove it, or name "
                "another store"
            )


def _images_of(ids: Ids, labels: npt.NDArray[Any]) -> LabelOf:
    kinds = {"names" if isinstance(id, str) else "whole numbers" for id in ids}
    if len(kinds) != 1:
        raise InputError(f"expected ids of one kind, got {' and '.join(sorted(kinds)) or 'none'}")
    if np.shape(labels) != (len(ids),):
        raise InputError(f"expected {len(ids)} labels, one per image, got {np.shape(labels)}")
    plain = (id if isinstance(id, str) else int(id) for id in ids)
    images = dict(zip(plain, np.asarray(labels).tolist(), strict=True))
    if len(images) != len(ids):
        raise InputError(
            f"expected an id per image, got {len(images):,} for {len(ids):,} images; rename "
            "images, or take another id rule"
        )
    return images
