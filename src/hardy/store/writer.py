"""Adds predictions to a store; a kill at any moment corrupts nothing.

Rows are collected for some seconds, then written as one more part; only what was not written yet is
lost with the process. A process that is to do all the work holds the run, so that nobody does it
twice by accident; those that share it (`shared`) need no lock, and neither does reading.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.errors import HardyError, InputError
from hardy.files import CheckpointWriter, remove_for_good
from hardy.images.source import Ids
from hardy.places import is_url
from hardy.store import parts, records
from hardy.store.identity import (
    Identity,
    LabelOf,
    check_details,
    check_stored_images,
    images_of,
    quoted,
    unlike,
)
from hardy.store.parts import FOLDER, GROUP, Columns, merge_parts
from hardy.store.run_names import RunNames
from hardy.store.scan import read_again, scan_parts
from hardy.store.sessions import SESSIONS, SessionRecord, new_session_path, sweep, write_session
from hardy.store.waiting_rows import WaitingRows
from hardy.store.worst_images import WORST
from hardy.suites.cells import Cell

LOCK = "lock"


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
        shared: bool = False,
    ) -> None:
        """Open a run for images that are all, some, or more of those that are stored.

        `labels` has -1 for none, `frames` the number of frames of every cell that is a sequence.
        A run that is `shared` may be written to by other processes at the same time.
        """
        if (store / records.RUN).exists():
            raise InputError(f"{store} is a run itself; name the folder above it as the store")
        records.check_store(store)
        wanted = images_of(ids, labels)
        self.folder = identity.folder_in(store)
        _check_own(self.folder)
        self._taken: list[str] = []  # parts that no session lists yet
        self._merged = 0  # of the session's parts, those at the front that need no merging
        with self._disk():
            (self.folder / FOLDER).mkdir(parents=True, exist_ok=True)
            busy = (
                f"another process is writing to {self.folder}; wait for it, or name another store"
            )
            # A store of objects has no locks, and needs none: what is done twice is there once.
            held = None if shared or is_url(self.folder) else self.folder / LOCK
            super().__init__(held, busy)
        try:
            with self._disk():
                self._open(identity, wanted, classes, frames or {})
        except BaseException:
            self.release()
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
        }
        said: dict[str, Any] = {
            "classes": None if classes is None else list(classes),
            "frames": {str(cell): number for cell, number in frames.items()},
        }
        stored: LabelOf = {}
        listed = False
        if before is not None:
            check_details(before, now | said, self.folder)
            stored, listed = self._stored_images()
            if stored:
                check_stored_images(stored, wanted, self.folder)
        sweep(self.folder)
        images = wanted if len(wanted) > len(stored) else stored
        self._ids: Ids = sorted(images)  # type: ignore[assignment]
        self._labels = np.array([images[id] for id in self._ids], np.int32)
        if len(images) > len(stored) or not listed:
            records.write_images(self.folder, self._ids, self._labels)
        if before is None or before["store"] != records.VERSION:
            kept = ("model", "preprocessing", "classes", "width", "frames", "sessions")
            now |= {name: before[name] for name in kept} if before else {}
            records.write_details(self.folder, now)  # after the images: from now on it is a run
        self._path = new_session_path(self.folder)
        self._record = SessionRecord(run=said)
        self._names = [now["model"]] if before is None else [before["model"], *before[records.ALSO]]
        self._width: int | None = None if before is None else before["width"]
        self._save()
        place = {id: number for number, id in enumerate(self._ids)}
        self._places = np.array([place[id] for id in wanted], np.int64)
        self._there, self._pixels = read_again(
            lambda: scan_parts(self.folder, self._ids, self._labels)
        )
        self._waiting = WaitingRows(identity.hash(), self._ids, self._labels, dict(frames))

    def _stored_images(self) -> tuple[LabelOf, bool]:
        """The stored images, and whether their list is whole; a damaged list is made again."""
        try:
            return images_of(*records.read_images(self.folder)), True
        except InputError:
            ids, labels = records.recover_images(self.folder)
            return images_of(ids, labels) if ids else {}, False

    @property
    def session_file(self) -> Path:
        """What this process says of the run; nobody else has a file of this name."""
        return self._path

    @property
    def images(self) -> int:
        """How many the run has, which may be more than this session is about."""
        return len(self._ids)

    @property
    def width(self) -> int | None:
        """The number of classes, once it is known."""
        return self._width

    def set_width(self, width: int) -> None:
        if self._width is None:
            self._width = self._record.run["width"] = width
            self._save()
        elif self._width != width:
            raise InputError(
                f"{self.folder} holds predictions for {self._width:,} classes, the model now gives "
                f"{width:,}; name another store"
            )

    def add_session(self, session: Mapping[str, Any], names: RunNames | None = None) -> None:
        """Add a record made by `provenance.session`, of an evaluation under these names."""
        self._record.session = dict(session)
        if names is not None:
            self._record.run |= names.said_of(self._names)
        self._save()

    def plan_sample(self, plan: Mapping[str, int]) -> None:
        """Say in the session which sample of the run it takes."""
        assert self._record.session is not None  # it was added before the work began
        self._record.session["sample"] = dict(plan)
        self._save()

    def leave_out(self, kind: str, images: int) -> None:
        """Say in the session that images were left out, and why."""
        assert self._record.session is not None  # it was added before the work began
        self._record.session.setdefault("left_out", {})
        self._record.session["left_out"] |= {kind: images}
        self._save()

    def _save(self) -> None:
        with self._disk():
            write_session(self._path, self._record)

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
        if pixels is None:
            pixels = np.zeros(len(rows), np.uint64)
        self.add_together([(rows, cell, columns, pixels)])

    def add_together(
        self, entries: Sequence[tuple[npt.NDArray[Any], Cell, Columns, npt.NDArray[np.uint64]]]
    ) -> None:
        """Add what was predicted in one batch, of several cells: it is stored as a whole."""
        for rows, cell, columns, pixels in entries:
            self.check_pixels(rows, pixels)
            places = self._places[rows]
            self._pixels[places] = np.where(pixels == 0, self._pixels[places], pixels)
            self._waiting.add(places, cell, columns, pixels)
            self._there.setdefault(cell, np.zeros(len(self._ids), np.bool_))[places] = True
        if len(self._waiting) >= GROUP:
            self.checkpoint()
        self.checkpoint_if_due()

    def write_waiting(self) -> None:
        with self._disk():
            if len(self._waiting):
                self._taken.append(self._waiting.write(self.folder))
                self._waiting.clear()
            if self._taken:
                self.commit(self._taken)
                self._taken.clear()

    def add_part(self, name: str, rows: npt.NDArray[Any], pixels: npt.NDArray[np.uint64]) -> None:
        """Take over a part that a worker wrote, of images with these hashes.

        It counts from the next checkpoint: to list each one by itself would take longer than many
        workers take to make it.
        """
        self.check_pixels(rows, pixels)
        self._taken.append(name)

    def commit(self, names: Sequence[str]) -> None:
        """Make parts that were written count. The worst images are forgotten first, if this session
        has all images to choose them anew: one that is killed leaves none of older predictions."""
        if len(self._places) == len(self._ids) and (self.folder / WORST).exists():
            remove_for_good(self.folder / WORST)
        record = self._record
        record.parts += [name for name in names if name not in record.parts]
        self._save()
        single = record.parts[self._merged :]
        if len(single) < parts.MERGED:
            return
        # One that is gone was made by another process too, which has merged it.
        there = [name for name in single if (self.folder / FOLDER / name).exists()]
        try:
            record.parts[self._merged :] = [merge_parts(self.folder / FOLDER, there)] * bool(there)
        except FileNotFoundError:  # in this very moment
            return
        self._save()
        self._merged = len(record.parts)
        for name in single:
            (self.folder / FOLDER / name).unlink(missing_ok=True)

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
    """Refuse links, which may lead out of the store; at a URL there are none."""
    if is_url(folder):
        return
    within = ((FOLDER, "folder"), (SESSIONS, "folder"), (LOCK, "file"))
    for path, kind in ((folder, "folder"), *((folder / name, kind) for name, kind in within)):
        got = "link" if path.is_symlink() else "folder" if path.is_dir() else "file"
        if os.path.lexists(path) and got != kind:
            raise InputError(
                f"{path}: expected a {kind} of the run's own, got a {got}; remove it, or name "
                "another store"
            )
