"""What models are shown: chosen images of a source under chosen cells of a suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError
from hardy.images.recipes import RECIPES
from hardy.images.source import Ids
from hardy.models import Model
from hardy.run.labels import Classes
from hardy.suites.cells import CLEAN, Cell
from hardy.suites.suite import Suite
from hardy.variants.generated import Chunk, Generated, Prepared
from hardy.variants.stored import Stored

UInt8 = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int64]

# Images worked on together. Enough for a model's batch; of sequences as many frames.
SMALL_SIDE, SMALL, LARGE = 64, 1024, 64
# A GPU wants more at a time: 1,024 photos at 224.
MOST_ON_DEVICE, PIXELS_ON_DEVICE = 8192, 1024 * 224 * 224


class Piece(NamedTuple):
    """Some of the images as they were read."""

    rows: list[int]  # that could be
    images: list[Prepared]  # of them; of stored cells without clean images there are none
    pixels: npt.NDArray[np.uint64]
    faults: dict[int, str]


class Loaded(NamedTuple):
    """Some of the images, decoded, and what is wrong with the others."""

    rows: Rows
    chunk: Chunk | None  # none where no image could be read
    pixels: npt.NDArray[np.uint64]  # a hash of each clean image; 0 where there is none
    faults: dict[int, str]


@dataclass(frozen=True)
class Subject:
    """Rows are places in `indices`; `clean` makes the clean images of a suite that is stored."""

    variants: Generated | Stored
    clean: Generated | None
    cells: tuple[Cell, ...]
    indices: Rows  # into the variants
    classes: Classes  # of the chosen images
    subset: dict[str, Any] | None = None  # how they were chosen
    device: str | None = None  # that makes the images; none is the host
    sequences_of: int = 1  # in a block their number is a multiple of it

    def near(self, models: Sequence[Model]) -> Subject:
        """Made on the one GPU that all models are on and take tensors from; else, or where it is
        read, on the host."""
        devices = {
            model.device if getattr(model, "takes_tensors", False) else "cpu" for model in models
        }
        here = len(devices) == 1 and "cuda" in next(iter(devices))
        if not here or isinstance(self.variants, Stored):
            return self
        return replace(self, device=devices.pop())

    @property
    def suite(self) -> Suite:
        return self.variants.suite

    @property
    def made(self) -> str:
        """How the pixels came about, as scores say it."""
        if isinstance(self.variants, Stored):
            return self.variants.made
        if self.suite.kind == "corruptions" and self.variants.stored and self.suite.storage:
            return f"on the fly + {self.suite.storage}"
        return "on the fly"

    @cached_property
    def ids(self) -> Ids:
        every = self.variants.ids
        return [every[index] for index in self.indices]

    def __len__(self) -> int:
        return len(self.indices)

    def frames(self, cell: Cell) -> int | None:
        """Of a sequence; corruptions have none."""
        if self.suite.kind == "corruptions":
            return None
        return self.suite.edition.steps(cell.name).frames

    @property
    def predictions(self) -> int:
        """Of one model: an image per cell, or a frame."""
        return len(self) * sum(self.frames(cell) or 1 for cell in self.cells)

    @property
    def chunk_size(self) -> int:
        """Fixed, so that a run that was stopped goes on in the same batches."""
        side = self.suite.edition.side
        size = SMALL if side <= SMALL_SIDE else LARGE
        if self.device is not None:
            size = min(MOST_ON_DEVICE, PIXELS_ON_DEVICE // side**2)
        if self.suite.kind == "corruptions":
            return size
        sequences = max(1, size // max(self.frames(cell) or 1 for cell in self.cells))
        return -(-sequences // self.sequences_of) * self.sequences_of

    def load(self, rows: Rows) -> Loaded:
        return self.together([self.read(rows)])

    def read(self, rows: Rows) -> Piece:
        """The images of some rows; one that cannot be read is a fault, and left out."""
        images: list[Prepared] = []
        good: list[int] = []
        faults: dict[int, str] = {}
        for row in map(int, rows):
            try:
                images += self._read(int(self.indices[row]))
            except InputError as error:
                faults[row] = str(error)
            else:
                good.append(row)
        pixels = pixel_hashes(images) if images else np.zeros(len(good), np.uint64)
        return Piece(good, images, pixels, faults)

    def together(self, pieces: Sequence[Piece]) -> Loaded:
        good = [row for piece in pieces for row in piece.rows]
        images = [image for piece in pieces for image in piece.images]
        pixels = np.concatenate([piece.pixels for piece in pieces])
        faults = {row: fault for piece in pieces for row, fault in piece.faults.items()}
        kept = np.array(good, np.int64)
        if not good:
            return Loaded(kept, None, pixels, faults)
        indices = self.indices[good].tolist()
        if isinstance(self.variants, Generated):
            return Loaded(kept, self.variants.together(indices, images), pixels, faults)
        clean = np.stack([image.image for image in images]) if images else None
        return Loaded(kept, StoredImages(self.variants, indices, clean), pixels, faults)

    def _read(self, index: int) -> list[Prepared]:
        """The image that all cells are made of; of stored cells the clean one, if there are any."""
        if isinstance(self.variants, Generated):
            image = self.variants.read(index)
            self._check_shape(image, index)
            return [image]
        if self.clean is None:
            return []
        return [self.clean.read(self._clean_place[self.variants.ids[index]])]

    def clean_images(self, rows: Rows) -> UInt8 | None:
        """The images before anything is done to them, for a look at the model beforehand."""
        maker = self.clean or self.variants
        if not isinstance(maker, Generated):
            return None
        prepare = RECIPES[self.suite.recipe].prepare
        every = self.variants.ids
        places = [int(self.indices[row]) for row in rows]
        if self.clean is not None:
            places = [self._clean_place[every[place]] for place in places]
        return np.stack([maker.source.read(place, prepare) for place in places])

    @cached_property
    def _clean_place(self) -> dict[Any, int]:
        assert self.clean is not None
        return {id: place for place, id in enumerate(self.clean.ids)}

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        """Of the first image that can be read: a suite has one size."""
        assert isinstance(self.variants, Generated)
        fault: InputError | None = None
        for index in self.indices:
            try:
                shape = self.variants.read(int(index)).shape
            except InputError as error:
                fault = fault or error
                continue
            side = self.suite.edition.side
            if RECIPES[self.suite.recipe].side is None and shape[:2] != (side, side):
                raise InputError(
                    f"expected images of {side} x {side} for {self.suite.title}, which takes them "
                    f"as they are, got {shape[0]} x {shape[1]}; resize them, or take another suite"
                )
            return shape
        raise InputError(f"none of the {len(self):,} images can be read: {fault}")

    def _check_shape(self, image: Prepared, index: int) -> None:
        assert isinstance(self.variants, Generated)
        if image.shape != self._shape:
            raise InputError(
                f"cannot use {self.variants.source.files[index]}: expected the size of the first "
                f"image, {self._shape}, got {image.shape}; a suite has one size"
            )


@dataclass(frozen=True)
class StoredImages:
    """Cells out of files, and the clean images they were made of, where these are at hand."""

    variants: Stored
    indices: list[int]
    clean: UInt8 | None

    def on(self, device: str) -> StoredImages:
        return self  # read on the host; the model brings each batch over

    def make(self, cell: Cell) -> UInt8:
        if cell == CLEAN and self.clean is not None:
            return self.clean
        return self.variants.chunk(self.indices).make(cell)

    def readable(self, cell: Cell) -> tuple[list[int], dict[int, str]]:
        """Places of the images whose file of this cell can be read, and what ails the others."""
        good, bad = [], {}
        for place, index in enumerate(self.indices):
            try:
                self.variants.chunk([index]).make(cell)
            except InputError as error:
                bad[place] = str(error)
            else:
                good.append(place)
        return good, bad

    def part(self, places: list[int]) -> StoredImages:
        clean = None if self.clean is None else self.clean[places]
        return StoredImages(self.variants, [self.indices[place] for place in places], clean)


def pixel_hashes(images: Sequence[Prepared]) -> npt.NDArray[np.uint64]:
    return np.array([int(image.hash()[:16], 16) or 1 for image in images], np.uint64)
