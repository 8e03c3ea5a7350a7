"""Natural shifts: images that are shown as they are, and, where they are given, clean ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from hardy.engine.door import SMALLEST_SIDE, UInt8
from hardy.errors import InputError
from hardy.images.recipes import RECIPES
from hardy.images.shift_folders import Right, ShiftedImages
from hardy.images.source import Ids, Labels
from hardy.suites.cells import IS_CLEAN, Cell, choose_cells
from hardy.suites.suite import Suite
from hardy.variants import Chunk, DecodedImage


@dataclass(frozen=True)
class Shifted:
    """`Variants` with one cell: the shifted images, and behind them the clean ones."""

    suite: Suite
    parts: tuple[ShiftedImages, ...]  # the shifted ones; and clean ones of the same classes
    made: str
    kept: Right  # the classes whose logits count; none: all
    seed: int | None = None
    held_out: str | None = None  # from training: an icon protocol and its words, or the suite
    device_can_make: ClassVar[bool] = False

    @property
    def recipe(self) -> str:
        return self.suite.recipe

    @property
    def cells(self) -> tuple[Cell, ...]:
        return choose_cells(self.suite)

    @cached_property
    def ids(self) -> Ids:
        first, *clean = self.parts
        return [*map(str, first.ids), *(f"{IS_CLEAN}{id}" for part in clean for id in part.ids)]

    @cached_property
    def labels(self) -> Labels:
        """The first of the right classes, −1 where there is none."""
        return np.array([one[0] if one else -1 for one in self.right], np.int64)

    @cached_property
    def right(self) -> list[Right]:
        """The classes that are right for each image."""
        return [one for part in self.parts for one in part.right]

    @property
    def classes(self) -> tuple[str, ...] | None:
        return self.parts[0].classes

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    def read(self, index: int) -> DecodedImage:
        place = index
        for part in self.parts:
            if place < len(part):
                break
            place -= len(part)
        pixels = part.read(place, RECIPES[self.recipe].prepare)
        if min(pixels.shape[:2]) < SMALLEST_SIDE:
            raise InputError(
                f"cannot use {part.files[place]}: expected at least {SMALLEST_SIDE} pixels per "
                f"side, got {min(pixels.shape[:2])}"
            )
        return DecodedImage(part.files[place], pixels, pixels, pixels.shape)

    def chunk(self, indices: Sequence[int], images: Sequence[DecodedImage] | None = None) -> Chunk:
        if images is None:
            images = [self.read(index) for index in indices]
        return _AsTheyAre(np.stack([image.pixels for image in images]))

    def is_clean(self, index: int) -> bool:
        """Whether it is one of the clean images; relabelled ones are, too."""
        assert self.suite.shift is not None
        return self.suite.shift.layout == "labels" or index >= len(self.parts[0])

    def clean_image(self, index: int) -> UInt8 | None:
        return self.read(index).pixels if self.is_clean(index) else None

    def describe(self) -> str:
        told = [f"{self.suite.title}: {self.parts[0].describe()}"]
        told += [f"clean ones beside them: {part.describe()}" for part in self.parts[1:]]
        return "; ".join(told)


@dataclass(frozen=True)
class _AsTheyAre:
    pixels: UInt8

    def on(self, device: str) -> _AsTheyAre:
        return self  # read on the host; the model brings each batch over

    def make(self, cell: Cell) -> UInt8:
        return self.pixels

    def readable(self, cell: Cell) -> tuple[Chunk, Mapping[int, str]]:
        return self, {}  # read already
