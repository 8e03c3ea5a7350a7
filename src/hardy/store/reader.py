"""Reads stored predictions: what is there, and any columns of it as arrays.

A store is a folder of runs, a run is one model on one suite. Nothing here needs the model, its
library or the images. A run may be read while it is written: what is complete by then is seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.models.model import DefenceFacts, Trained, in_words
from hardy.registry import unknown
from hardy.store.identity import Identity
from hardy.store.parts import COLUMNS, Columns, damaged
from hardy.store.provenance import (
    read_asked,
    read_doubts,
    read_left_out,
    read_prompts_used,
    read_seen,
    read_trained,
)
from hardy.store.records import ALSO, FORMER, RUN, read_defences, read_details, read_images
from hardy.store.scan import Bools, Ints, RowBatch, StoredCells, read_again, row_batches, scan_parts
from hardy.suites import load, suite_in
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite

# What `read` gives: also the best class alone, at a fifth of the memory.
READABLE = COLUMNS | {"top1": (np.int32, ("class_1",)), "confidence": (np.float32, ("prob_1",))}


def find_runs(
    store: Path, faults: list[str] | None = None, besides: Sequence[Path] = ()
) -> list[StoredRun]:
    """All runs of a store, by name, but for folders that are known for something else; in the
    folder of a single run, that run.

    A run that cannot be read, such as another version's, is added to the faults if these are given,
    and raised otherwise.
    """
    if (store / RUN).exists():
        return [open_run(store)]
    if not store.is_dir():
        raise InputError(
            f"expected a folder with predictions, got {store}, which is "
            f"{'a file' if store.exists() else 'not there'}; `hardy eval --store` makes one"
        )
    there = (path.parent for path in store.glob(f"*/{RUN}"))
    folders = sorted(folder for folder in there if folder not in besides)
    if not folders:
        raise InputError(
            f"expected predictions in {store}, found none; `hardy eval --store {store}` makes some"
        )
    runs = []
    for folder in folders:
        try:
            runs.append(open_run(folder))
        except InputError as error:
            if faults is None:
                raise
            faults.append(str(error))
    return runs


def open_run(folder: Path) -> StoredRun:
    details = read_details(folder)
    if details is None:
        raise InputError(f"expected the folder of a run of `hardy eval`, got {folder}")
    copy = suite_in(folder, details["suite"])
    own = None if copy == details["suite"] else load(copy)
    return StoredRun(folder, details, *read_images(folder), own)


@dataclass(frozen=True, eq=False)
class StoredRun:
    folder: Path
    # run.json: the identity, and one entry per session of `hardy eval`.
    details: dict[str, Any] = field(repr=False)
    # Sorted, so that runs of the same images have the same order.
    ids: list[int] | list[str] = field(repr=False)
    labels: npt.NDArray[np.int32] = field(repr=False)  # -1: none
    # The suite, where it is none of Hardy's: others may have the same name.
    own_suite: Suite | None = field(default=None, repr=False)

    def sharing(self, ids: list[Any]) -> StoredRun:
        """The run with this very list of ids if it has the same: many lists take gigabytes."""
        return replace(self, ids=ids) if self.ids == ids else self

    @property
    def identity(self) -> Identity:
        said = {field.name: self.details[field.name] for field in fields(Identity)}
        return Identity(**said | {"defence": self.defences})

    @property
    def model(self) -> str:
        return str(self.details["model"])

    @property
    def names(self) -> tuple[str, ...]:
        """What the model is called, and what else it was evaluated by."""
        return (self.model, *self.details[ALSO])

    @property
    def former_names(self) -> tuple[str, ...]:
        """What the model was called before, in the order of the sessions."""
        return tuple(self.details[FORMER])

    @property
    def suite(self) -> str:
        return str(self.details["suite"])

    @property
    def classes(self) -> tuple[str, ...] | None:
        names = self.details["classes"]
        return None if names is None else tuple(names)

    @property
    def defences(self) -> tuple[DefenceFacts, ...]:
        """What stands before the model, the nearest first."""
        return read_defences(self.details["defence"])

    @property
    def defence(self) -> str | None:
        """The defences in words."""
        return in_words(self.defences) or None

    @property
    def adapted(self) -> bool:
        """Whether the model took statistics of the images that it was tested on."""
        return self.details["batches"] is not None

    @property
    def seen(self) -> tuple[str, ...] | None:
        """Corruptions that the model was trained on; None where no session says."""
        return read_seen(self.details["sessions"])

    @property
    def prompts(self) -> str | None:
        """The sentences by which the model was told its classes; None where no session says."""
        return read_prompts_used(self.details["sessions"])

    @property
    def left_out(self) -> dict[str, int]:
        """How many images of which kind were left out of the run, as far as a session says."""
        return read_left_out(self.details["sessions"])

    @property
    def doubts(self) -> list[str]:
        """What was warned of before the run, and what could not be checked, without the model's
        name in front, which stands before it wherever it is shown."""
        told = read_doubts(self.details["sessions"])
        for name in (*self.names, *self.former_names):
            plain = name
            for defence in reversed(self.defences):  # of a defended model it names the model
                plain = plain.removesuffix(f"+{defence.label}")
            told = [text.removeprefix(f"{name}: ").removeprefix(f"{plain}: ") for text in told]
        return told

    @property
    def asked(self) -> frozenset[str]:
        """The cells that were to be run, such as "fog:3", as far as a session says."""
        return read_asked(self.details["sessions"])

    @property
    def trained(self) -> Trained | None:
        """How `hardy train` made the model; None for other models, and where no session says."""
        return read_trained(self.details["sessions"])

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The cells that at least one image has, sorted."""
        return tuple(sorted(self._contents.there))

    def frames(self, cell: Cell) -> int | None:
        """Frames per image; None for a corruption, which has none."""
        frames: int | None = self.details["frames"].get(str(cell))
        return frames

    def have(self, cells: Sequence[Cell]) -> Bools:
        """(images, cells): which predictions are there."""
        none = np.zeros(len(self.ids), np.bool_)
        return np.stack([self._contents.there.get(cell, none) for cell in cells], axis=1)

    def complete(self, cells: Sequence[Cell]) -> Bools:
        """Which images have all of these cells."""
        complete = np.ones(len(self.ids), np.bool_)
        for cell in cells:
            complete &= self._contents.there.get(cell, False)
        return complete

    @property
    def pixels(self) -> npt.NDArray[np.uint64]:
        """A hash of each clean image, 0 where none was at hand."""
        return self._contents.pixels

    @cached_property
    def _contents(self) -> StoredCells:
        return read_again(lambda: scan_parts(self.folder, self.ids, self.labels))

    def read(
        self, cells: Sequence[Cell], columns: Sequence[str], images: npt.NDArray[Any] | None = None
    ) -> Columns:
        """Each column as an array (images, cells), for sequences (images, cells, frames); `top5`,
        `top5_prob` and `zipf` have one more axis.

        `images` are indices into `ids`, all if left out; every image must have all cells.
        """
        for name in columns:
            if name not in READABLE:
                raise unknown("column", name, tuple(READABLE))
        chosen = np.arange(len(self.ids)) if images is None else np.asarray(images, np.int64)
        shape = (len(chosen), len(cells), *self._common_frames(cells))
        row_of = np.full(len(self.ids), -1)
        row_of[chosen] = np.arange(len(chosen))

        def place_of(image: Ints, column: Ints) -> Ints:
            row = row_of[image]
            return np.where(row >= 0, row * len(cells) + column, -1)

        return read_again(lambda: self._read(cells, columns, shape, place_of))

    def read_some(self, cells: Sequence[Cell], columns: Sequence[str], wanted: Bools) -> Columns:
        """The same of pairs (image, cell), those that are `wanted`, (images, cells); one after the
        other, image by image."""
        number = np.where(wanted, np.cumsum(wanted).reshape(wanted.shape) - 1, -1)
        shape = (int(wanted.sum()), *self._common_frames(cells))
        return read_again(
            lambda: self._read(cells, columns, shape, lambda image, cell: number[image, cell])
        )

    def _read(
        self,
        cells: Sequence[Cell],
        columns: Sequence[str],
        shape: tuple[int, ...],
        place_of: Callable[[Ints, Ints], Ints],
    ) -> Columns:
        """Columns of that shape; `place_of` gives the place of an image under a cell, -1 for none,
        and frames of it follow one another."""
        frames = prod(self._common_frames(cells))
        filled = np.zeros(prod(shape), np.bool_)
        made = {
            name: np.empty((len(filled), len(READABLE[name][1])), READABLE[name][0])
            for name in columns
        }
        column_of = {cell: column for column, cell in enumerate(cells)}
        parts = [part for name in columns for part in READABLE[name][1]]
        for batch in row_batches(self.folder, self.ids, parts):
            column = batch.numbered(column_of)
            use = np.flatnonzero((batch.image >= 0) & (column >= 0))
            place = place_of(batch.image[use], column[use])
            use, place = use[place >= 0], place[place >= 0]
            frame = batch["frame"][use]
            if len(use) and frame.max() >= frames:
                raise damaged(batch.path, f"expected frame below {frames}, got {frame.max()}")
            self._check_predictions(batch, use, parts)
            place = place * frames + frame
            filled[place] = True
            for name, array in made.items():
                for number, part in enumerate(READABLE[name][1]):
                    array[place, number] = batch[part][use]
        if not filled.all():
            lacking = np.count_nonzero(~filled.reshape(shape[0], -1).all(axis=1))
            raise InputError(
                f"expected predictions for all {shape[0]:,} images in {self.folder}, but "
                f"{lacking:,} lack some; the same `hardy eval` adds what is missing"
            )
        return {
            name: array.reshape(*shape, *(() if array.shape[1] == 1 else array.shape[1:]))
            for name, array in made.items()
        }

    def _check_predictions(self, batch: RowBatch, rows: Ints, columns: Sequence[str]) -> None:
        """Refuse what no prediction can be on an image with a label, among so many classes."""
        if "log_prob" in columns:
            lacking = np.isnan(batch["log_prob"][rows]) & (self.labels[batch.image[rows]] >= 0)
            if lacking.any():
                raise damaged(batch.path, "log_prob cannot be nan where there is a label")
        width = self.details["width"]
        for name in {"rank", *READABLE["top5"][1]} & {*columns} if width and len(rows) else ():
            if (most := batch[name][rows].max()) >= width:
                raise damaged(batch.path, f"expected {name} below {width}, got {most}")

    def _common_frames(self, cells: Sequence[Cell]) -> tuple[int, ...]:
        frames = {self.frames(cell) for cell in cells}
        if len(frames) > 1:
            raise InputError(
                f"expected cells of one number of frames, got {', '.join(map(str, cells))}; read "
                "them one by one"
            )
        return tuple(number for number in frames if number is not None)
