"""Where a suite's pixels come from: made on the fly (`generated`), or read (`stored`).

`Variants` is all that an evaluation knows of either: images in order, taken in chunks, and for each
chunk the batch of any cell. A chunk decodes its images once for all cells.

Internal: it may change in any release.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:  # `import hardy` passes through here, and needs no images
    from collections.abc import Mapping, Sequence

    from hardy.engine.door import UInt8
    from hardy.images.source import Ids, Labels
    from hardy.suites.cells import Cell
    from hardy.suites.suite import Suite


# What a suite of each kind can be built as.
BUILD_FORMATS = {"corruptions": ("jpeg", "png", "npy", "tar"), "perturbations": ("mp4", "npy")}


class DecodedImage(NamedTuple):
    """One image as it was read: what all of its cells are made of."""

    file: str  # its name, for messages
    pixels: UInt8  # what tells it from other images
    made_of: Any  # the same pixels, or for sequences a `BasePicture`
    shape: tuple[int, ...]  # (H, W, 3) of one image that comes out


class Chunk(Protocol):
    """Some images of a suite, under any of its cells."""

    def make(self, cell: Cell) -> UInt8:
        """(N, H, W, 3) of a corruption, (N, F, H, W, 3) of a perturbation."""

    def on(self, device: str) -> Chunk:
        """The same images; a device makes their cells, as tensors, where it can."""

    def readable(self, cell: Cell) -> tuple[Chunk, Mapping[int, str]]:
        """The images whose cell can be read, and the faults of the others by their place."""


class Variants(Protocol):
    @property
    def suite(self) -> Suite: ...

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Those that can be had; the clean images are not among them."""

    @property
    def ids(self) -> Ids: ...

    @property
    def labels(self) -> Labels | None: ...

    @property
    def classes(self) -> tuple[str, ...] | None: ...

    @property
    def seed(self) -> int | None:
        """The seed of their randomness; official files do not tell theirs."""

    @property
    def made(self) -> str:
        """How the pixels came about, as scores say it."""

    @property
    def recipe(self) -> str:
        """How source images were prepared: the suite's recipe, or none for arrays of its size."""

    @property
    def device_can_make(self) -> bool:
        """Whether `Chunk.on` moves the work to a device; what is read stays on the host."""

    def __len__(self) -> int: ...

    def read(self, index: int) -> DecodedImage | None:
        """One image, or an InputError; None where there are files of cells alone."""

    def chunk(self, indices: Sequence[int], images: Sequence[DecodedImage] | None = None) -> Chunk:
        """Images together; `images` are what `read` made of them, where that is done already."""

    def clean_image(self, index: int) -> UInt8 | None:
        """One image after the suite's preprocessing, where clean images are at hand."""

    def describe(self) -> str: ...
