"""A suite's variants of a source's images, made on the fly.

`Variants` is what evaluation sees, whether pixels are made now or were stored: images in order,
in chunks, and for each chunk the batch of any cell. A chunk decodes its images once for all cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from hardy.arrays.ops import ops_for
from hardy.arrays.rng import derive_key, image_id
from hardy.corrupt import CORRUPTIONS, engine
from hardy.images.recipes import RECIPES
from hardy.images.source import Ids, Labels, Source
from hardy.suites import encode
from hardy.suites.cells import Cell
from hardy.suites.schema import Suite
from hardy.suites.stage import Stage

UInt8 = npt.NDArray[np.uint8]


class Chunk(Protocol):
    """Some images of a suite, under any of its cells."""

    def make(self, cell: Cell) -> UInt8:
        """(N, H, W, 3) of a corruption, (N, F, H, W, 3) of a perturbation."""


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
        recipe = RECIPES[self.suite.recipe]
        ids = [self.source.ids[index] for index in indices]
        if self.suite.kind == "perturbations":
            stage: Any = partial(Stage.of, recipe=recipe)
            return _Perturbed(self, [self.source.read(index, stage) for index in indices], ids)
        images = [self.source.read(index, recipe.prepare) for index in indices]
        return _Corrupted(self, images, ids)

    def describe(self) -> str:
        step = f" + {self.suite.storage}" if self.stored and self.suite.storage else ""
        return f"{self.source.describe()}, {self.suite.name} on the fly{step}"


@dataclass(frozen=True)
class _Corrupted:
    made_by: Generated
    images: list[UInt8]
    ids: Sequence[int | str]

    def make(self, cell: Cell) -> UInt8:
        suite = self.made_by.suite
        clean = np.stack(self.images)
        key = derive_key(self.made_by.seed, suite.edition.name, cell.name, cell.level)
        ids = np.array([image_id(value) for value in self.ids], np.uint64)
        params = suite.edition.params(cell.name, cell.level)
        made: UInt8 = engine.run(CORRUPTIONS[cell.name], clean, params, key=key, ids=ids)
        if self.made_by.stored and suite.storage:
            made = ops_for(made).jpeg(made, encode.jpeg_quality(suite.storage))
        return made


@dataclass(frozen=True)
class _Perturbed:
    """Frames as they are made: the video codec belongs to the files, and is not imitated."""

    made_by: Generated
    stages: list[Any]  # of Stage
    ids: Sequence[int | str]

    def make(self, cell: Cell) -> UInt8:
        edition, seed = self.made_by.suite.edition, self.made_by.seed
        return np.stack(
            [
                stage.frames(edition, cell.name, cell.level, seed=seed, id=id).array()
                for stage, id in zip(self.stages, self.ids, strict=True)
            ]
        )
