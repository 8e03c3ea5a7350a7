"""What models are shown: chosen images of a source under chosen cells of a suite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.images.labels import Classes
from hardy.images.source import Ids
from hardy.models import Model
from hardy.models.model import facts_of
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite
from hardy.variants import Chunk, DecodedImage, Variants
from hardy.variants.disk.manifest import content_hash
from hardy.variants.generated import Generated, check_suite_size
from hardy.variants.kernels_ahead import begin_kernels

Rows = npt.NDArray[np.int64]

# Images worked on together. Enough for a model's batch; of sequences as many frames.
SMALL_SIDE, SMALL, LARGE = 64, 1024, 64
# A GPU wants more at a time: 1,024 photos at 224.
MOST_ON_DEVICE, PIXELS_ON_DEVICE = 8192, 1024 * 224 * 224
# Of sequences as many times more: to ask for frames takes the host as long for few images as for
# many, and nearly as long as a model takes to look at so many.
_BLOCKS_OF_SEQUENCES = 4


class Piece(NamedTuple):
    """Some of the images as they were read."""

    rows: list[int]  # whose images could be read
    images: list[DecodedImage]  # none where there are files of cells alone
    pixels: npt.NDArray[np.uint64]  # a hash of each; 0 where there is no clean image
    faults: dict[int, str]


class Loaded(NamedTuple):
    """Some of the images, decoded, and what is wrong with the others."""

    rows: Rows
    chunk: Chunk | None  # none where no image could be read
    pixels: npt.NDArray[np.uint64]  # a hash of each clean image; 0 where there is none
    faults: dict[int, str]


@dataclass(frozen=True)
class Subject:
    """What models are shown. Its rows are places in `indices`."""

    variants: Variants
    cells: tuple[Cell, ...]
    indices: Rows  # into the variants
    classes: Classes  # of the chosen images
    subset: dict[str, Any] | None = None  # how they were chosen
    device: str | None = None  # that makes the images; none is the host
    sequences_of: int = 1  # in a block their number is a multiple of it

    def near(self, models: Sequence[Model]) -> Subject:
        """Make the images on the models' GPU if all share one and take tensors; otherwise, or if
        images are read from disk, on the host."""
        devices = {model.device if facts_of(model).takes_tensors else "cpu" for model in models}
        here = len(devices) == 1 and "cuda" in next(iter(devices))
        if not here or not self.variants.device_can_make:
            return self
        return replace(self, device=devices.pop())

    def begin_kernels(self) -> None:
        """Have what a GPU will need be compiled, while models are loaded and images are read."""
        if isinstance(self.variants, Generated):
            at_once = replace(self, device="cuda").chunk_size
            begin_kernels(self.variants, self.cells, at_once)

    @property
    def suite(self) -> Suite:
        return self.variants.suite

    @property
    def made(self) -> str:
        """How the pixels came about, as scores say it."""
        return self.variants.made

    @cached_property
    def ids(self) -> Ids:
        every = self.variants.ids
        return [every[index] for index in self.indices]

    def __len__(self) -> int:
        return len(self.indices)

    def frames(self, cell: Cell) -> int | None:
        """How many frames a sequence has; None for a corruption."""
        if self.suite.kind != "perturbations":
            return None
        return self.suite.edition.steps(cell.name).frames

    @property
    def sequences(self) -> dict[Cell, int]:
        """The cells that are sequences, and how many frames each has."""
        return {cell: frames for cell in self.cells if (frames := self.frames(cell))}

    @property
    def predictions(self) -> int:
        """How many predictions one model makes: one for each image and cell, or for each frame."""
        return len(self) * sum(self.frames(cell) or 1 for cell in self.cells)

    @property
    def chunk_size(self) -> int:
        """Fixed, so that a run that was stopped goes on in the same batches."""
        side = self.suite.edition.side
        size = SMALL if side <= SMALL_SIDE else LARGE
        if self.device is not None:
            size = min(MOST_ON_DEVICE, PIXELS_ON_DEVICE // side**2)
        if self.suite.kind != "perturbations":
            return size
        if self.device is not None:
            size *= _BLOCKS_OF_SEQUENCES
        sequences = max(1, size // max(self.frames(cell) or 1 for cell in self.cells))
        return -(-sequences // self.sequences_of) * self.sequences_of

    def block_of(self, row: int) -> int:
        """The number of the block that a row is worked on in."""
        return int(row) // self.chunk_size

    def load(self, rows: Rows) -> Loaded:
        return self.join([self.read(rows)])

    def read(self, rows: Rows) -> Piece:
        """The images of some rows; one that cannot be read is a fault, and left out."""
        images: list[DecodedImage] = []
        good: list[int] = []
        faults: dict[int, str] = {}
        for row in map(int, rows):
            try:
                image = self.variants.read(int(self.indices[row]))
                if image is not None:
                    self._check_shape(image)
                    images.append(image)
            except InputError as error:
                faults[row] = str(error)
            else:
                good.append(row)
        pixels = np.zeros(len(good), np.uint64)
        if images:
            pixels = pixel_hashes(image.pixels for image in images)
        return Piece(good, images, pixels, faults)

    def join(self, pieces: Sequence[Piece]) -> Loaded:
        good, images, pixels, faults = one_piece(pieces)
        chunk = self.variants.chunk(self.indices[good].tolist(), images) if good else None
        return Loaded(np.array(good, np.int64), chunk, pixels, faults)

    def clean_images(self, rows: Rows) -> UInt8 | None:
        """The images before anything is done to them, for a look at the model beforehand."""
        found = [self.variants.clean_image(int(self.indices[row])) for row in rows]
        images = [image for image in found if image is not None]
        return np.stack(images) if images else None

    @cached_property
    def _shape(self) -> tuple[int, ...]:
        """(H, W, 3) of the first image that can be read: a suite has one size."""
        fault: InputError | None = None
        for index in self.indices:
            try:
                image = self.variants.read(int(index))
            except InputError as error:
                fault = fault or error
                continue
            assert image is not None  # asked for where there are images
            check_suite_size(self.suite, image)
            return image.shape
        raise InputError(f"none of the {len(self):,} images can be used: {fault}")

    def _check_shape(self, image: DecodedImage) -> None:
        if image.shape != self._shape:
            raise InputError(
                f"cannot use {image.file}: expected the size of the first image, {self._shape}, "
                f"got {image.shape}; a suite has one size"
            )


def one_piece(pieces: Sequence[Piece]) -> Piece:
    return Piece(
        [row for piece in pieces for row in piece.rows],
        [image for piece in pieces for image in piece.images],
        np.concatenate([piece.pixels for piece in pieces]),
        {row: fault for piece in pieces for row, fault in piece.faults.items()},
    )


def pixel_hashes(images: Iterable[UInt8]) -> npt.NDArray[np.uint64]:
    return np.array([int(content_hash(pixels)[:16], 16) or 1 for pixels in images], np.uint64)
