"""A suite's variants of a source's images, made on the fly.

`Variants` is what evaluation sees, whether pixels are made now or were stored: images in order,
in chunks, and for each chunk the batch of any cell. A chunk decodes its images once for all cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from hardy.corrupt import CORRUPTIONS
from hardy.corrupt import passes as engine
from hardy.engine.door import SMALLEST_SIDE
from hardy.engine.ops import ops_for, to_device
from hardy.engine.rng import derive_key, image_id
from hardy.errors import InputError
from hardy.images.recipes import RECIPES
from hardy.images.source import Ids, Labels, Source
from hardy.suites.cells import CLEAN, Cell
from hardy.suites.suite import Suite
from hardy.variants.base_picture import Stage
from hardy.variants.disk import encode
from hardy.variants.disk.manifest import content_hash

UInt8 = npt.NDArray[np.uint8]


class Chunk(Protocol):
    """Some images of a suite, under any of its cells."""

    def make(self, cell: Cell) -> UInt8:
        """(N, H, W, 3) of a corruption, (N, F, H, W, 3) of a perturbation."""

    def on(self, device: str) -> Chunk:
        """The same, from now on made on a device, as tensors."""


class Variants(Protocol):
    suite: Suite

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Those that are there."""

    @property
    def ids(self) -> Ids: ...

    @property
    def labels(self) -> Labels | None: ...

    @property
    def classes(self) -> tuple[str, ...] | None: ...

    def __len__(self) -> int: ...

    def chunk(self, indices: Sequence[int]) -> Chunk: ...

    def describe(self) -> str: ...


class Prepared(NamedTuple):
    image: Any  # pixels, or the Stage of sequences
    shape: tuple[int, ...]  # of one image that comes out

    def hash(self) -> str:
        """Of the pixels it is made of."""
        pixels = self.image.pixels if isinstance(self.image, Stage) else self.image
        return content_hash(np.ascontiguousarray(pixels).data.cast("B"))


@dataclass(frozen=True)
class Generated:
    """On the fly. `stored` applies the suite's storage step, as the published files have it."""

    suite: Suite
    source: Source
    cells: tuple[Cell, ...]
    seed: int = 0
    stored: bool = True

    @property
    def ids(self) -> Ids:
        return self.source.ids

    @property
    def labels(self) -> Labels | None:
        return self.source.labels

    @property
    def classes(self) -> tuple[str, ...] | None:
        return self.source.classes

    def __len__(self) -> int:
        return len(self.source)

    def chunk(self, indices: Sequence[int]) -> Chunk:
        """Reads and prepares the images; an image that cannot be read is an InputError."""
        return self.together(indices, [self.read(index) for index in indices])

    def read(self, index: int) -> Prepared:
        """One image, ready for all of its cells."""
        recipe = RECIPES[self.suite.recipe]
        if self.suite.kind == "perturbations":
            stage: Any = partial(Stage.of, recipe=recipe)
            image: Any = self.source.read(index, stage)
            least, shape = min(image.pixels.shape[1:3]), (*image.size, 3)
        else:
            image = self.source.read(index, recipe.prepare)
            least, shape = min(image.shape[:2]), image.shape
        if least < SMALLEST_SIDE:
            raise InputError(
                f"cannot use {self.source.files[index]}: expected at least {SMALLEST_SIDE} pixels "
                f"per side, got {least}"
            )
        return Prepared(image, shape)

    def together(self, indices: Sequence[int], images: Sequence[Prepared]) -> Chunk:
        ids = [self.source.ids[index] for index in indices]
        made_of = [image.image for image in images]
        shapes = sorted({image.shape for image in images})
        if len(shapes) > 1:
            raise InputError(
                f"expected images of one size, got {shapes[0]} and {shapes[-1]}; bring them to one"
            )
        if self.suite.kind == "perturbations":
            return _Perturbed(self, made_of, ids, range(len(ids)))
        numbers = np.array([image_id(value) for value in ids], np.uint64)
        return _Corrupted(self, np.stack(made_of), numbers)

    def describe(self) -> str:
        step = f" + {self.suite.storage}" if self.stored and self.suite.storage else ""
        return f"{self.source.describe()}, {self.suite.name} on the fly{step}"


@dataclass(frozen=True)
class _Corrupted:
    made_by: Generated
    clean: UInt8
    ids: npt.NDArray[np.uint64]

    def on(self, device: str) -> _Corrupted:
        """The same images as tensors on a device: it makes the cells."""
        return replace(self, clean=to_device(self.clean, device))

    def make(self, cell: Cell) -> UInt8:
        if cell == CLEAN:  # never stored: a benchmark's clean images are those of its source
            return self.clean
        suite = self.made_by.suite
        key = derive_key(self.made_by.seed, suite.edition.name, cell.name, cell.level)
        params = suite.edition.params(cell.name, cell.level)
        corruption = CORRUPTIONS[cell.name]
        made: UInt8 = engine.run(corruption, self.clean, params, key=key, ids=self.ids)
        if self.made_by.stored and suite.storage:
            made = self._stored(made, encode.jpeg_quality(suite.storage))
        return made

    def _stored(self, made: UInt8, quality: int) -> UInt8:
        ops, count = ops_for(made), len(made)
        done: UInt8 = engine.in_parts(ops, lambda some: ops.jpeg(made[some], quality), count, count)
        return done


@dataclass(frozen=True)
class _Perturbed:
    """Frames as they are made: the video codec belongs to the files, and is not imitated."""

    made_by: Generated
    stages: list[Any]  # of Stage, each for one or more pictures
    ids: Sequence[int | str]
    places: Sequence[int]  # of the pictures, as they come on the stages

    def on(self, device: str) -> _Perturbed:
        """Pictures of one size stand together there, in the order of their first."""
        sizes: dict[Any, list[int]] = {}
        for place, stage in enumerate(self.stages):
            sizes.setdefault((stage.pixels.shape, stage.base.shape), []).append(place)
        return replace(
            self,
            stages=[
                Stage.together([self.stages[place] for place in places]).on(device)
                for places in sizes.values()
            ],
            places=[place for places in sizes.values() for place in places],
        )

    def make(self, cell: Cell) -> UInt8:
        edition, seed = self.made_by.suite.edition, self.made_by.seed
        ids, made = iter([self.ids[place] for place in self.places]), []
        for stage in self.stages:
            some = list(islice(ids, len(stage.base)))
            made.append(stage.all_frames(edition, cell.name, cell.level, seed=seed, ids=some))
        frames: UInt8 = ops_for(made[0]).join(made)
        if list(self.places) == sorted(self.places):
            return frames
        return frames[np.argsort(self.places)]
