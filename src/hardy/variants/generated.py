"""A suite's variants of a source's images, made on the fly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.corrupt import CORRUPTIONS
from hardy.corrupt import passes as engine
from hardy.engine.door import SMALLEST_SIDE, UInt8
from hardy.engine.ops import ops_for, to_device
from hardy.engine.rng import derive_key, image_id
from hardy.errors import InputError, sides
from hardy.images.recipes import RECIPES, recipe_for
from hardy.images.source import Ids, Labels, Source, decodes_files, size_of
from hardy.suites.cells import CLEAN, Cell, choose_cells
from hardy.suites.suite import Suite
from hardy.variants import Chunk, DecodedImage
from hardy.variants.base_picture import BasePicture
from hardy.variants.disk import encode
from hardy.variants.kernels_ahead import wait_for_kernels

_LOOKED_AT = 4  # images, to tell whether all have the suite's size


@dataclass(frozen=True)
class Generated:
    """`Variants` made on the fly; `stored` applies the storage step of the published files."""

    suite: Suite
    source: Source
    seed: int = 0
    stored: bool = True
    device_can_make: ClassVar[bool] = True

    def __post_init__(self) -> None:
        RECIPES[self.suite.recipe]  # a suite of the user's may name one that nobody knows

    @property
    def recipe(self) -> str:
        # Sequences move the picture within its surroundings, which a square has not.
        size = size_of(self.source) if self.suite.kind == "corruptions" else None
        return recipe_for(self.suite.recipe, size)

    @property
    def cells(self) -> tuple[Cell, ...]:
        return choose_cells(self.suite, ["all"])

    @property
    def ids(self) -> Ids:
        return self.source.ids

    @property
    def labels(self) -> Labels | None:
        return self.source.labels

    @property
    def classes(self) -> tuple[str, ...] | None:
        return self.source.classes

    @property
    def made(self) -> str:
        jpeg = self.stored and self.suite.storage and self.suite.kind == "corruptions"
        return f"on the fly + {self.suite.storage}" if jpeg else "on the fly"

    def __len__(self) -> int:
        return len(self.source)

    @property
    def decodes_files(self) -> bool:
        """Whether reading is the work of a decoder, and needs but the names of files."""
        return decodes_files(self.source)

    def read(self, index: int) -> DecodedImage:
        file, recipe = self.source.files[index], RECIPES[self.recipe]
        if self.suite.kind == "perturbations":
            to_base: Any = partial(BasePicture.of, recipe=recipe)
            base: Any = self.source.read(index, to_base)
            image = DecodedImage(file, base.pixels, base, (*base.size, 3))
        else:
            pixels = self.source.read(index, recipe.prepare)
            image = DecodedImage(file, pixels, pixels, pixels.shape)
        least = min(image.pixels.shape[-3:-1])
        if least < SMALLEST_SIDE:
            raise InputError(
                f"cannot use {file}: expected at least {SMALLEST_SIDE} pixels per side, got {least}"
            )
        return image

    def chunk(self, indices: Sequence[int], images: Sequence[DecodedImage] | None = None) -> Chunk:
        if images is None:
            images = [self.read(index) for index in indices]
        shapes = sorted({image.shape for image in images})
        if len(shapes) > 1:
            raise InputError(
                f"expected images of one size, got {shapes[0]} and {shapes[-1]}; bring them to one"
            )
        ids = [self.source.ids[index] for index in indices]
        made_of = [image.made_of for image in images]
        if self.suite.kind == "perturbations":
            alone = [_Alike(base, (place,)) for place, base in enumerate(made_of)]
            return _Perturbed(self, ids, dict.fromkeys(("view", "base", "picture"), alone))
        numbers = np.array([image_id(value) for value in ids], np.uint64)
        return _Corrupted(self, np.stack(made_of), numbers)

    def without_pixels(self, images: Any) -> Chunk:
        """A chunk of tensors on the device "meta": what its cells launch is noted, and not run."""
        ids = range(len(images))
        if self.suite.kind == "corruptions":
            return _Corrupted(self, images, np.arange(len(ids), dtype=np.uint64))
        alike = [_Alike(BasePicture(images, images, None), ids)]
        return _Perturbed(self, ids, dict.fromkeys(("view", "base", "picture"), alike))

    def clean_image(self, index: int) -> UInt8:
        return self.source.read(index, RECIPES[self.recipe].prepare)

    def resized_again(self) -> bool:
        """Whether images that have the suite's size already are brought to it by its recipe."""
        side = self.suite.edition.side
        if self.recipe != self.suite.recipe or RECIPES[self.recipe].side is None:
            return False
        try:
            few = range(min(_LOOKED_AT, len(self.source)))
            shapes = {self.source.read(row, RECIPES["none@1"].prepare).shape[:2] for row in few}
        except InputError:  # told when it is its turn
            return False
        return shapes == {(side, side)}

    def describe(self) -> str:
        taken = "" if self.recipe == self.suite.recipe else " taken as they are"
        return f"{self.source.describe()}{taken}, {self.suite.name} {self.made}"


def check_formulas(suite: Suite, cells: Sequence[Cell]) -> None:
    """Refuse corruptions without a formula, or with a plug-in that cannot be used, before the
    others are made."""
    if suite.kind == "corruptions":
        for name in {cell.name: None for cell in cells}:
            CORRUPTIONS[name]


def check_suite_size(suite: Suite, image: DecodedImage) -> None:
    """Refuse an image of another size than the suite's, where no recipe brings it to that."""
    side, size = suite.edition.side, image.shape[:2]
    if RECIPES[suite.recipe].side is None and size != (side, side):
        raise InputError(
            f"expected images of {side} x {side} for {suite.title}, which takes them as they are, "
            f"got {sides(*size)}; resize them, or take another suite"
        )


@dataclass(frozen=True)
class _Corrupted:
    """Clean images of one size, and the corruptions made of them."""

    made_by: Generated
    clean: UInt8
    ids: npt.NDArray[np.uint64]

    def on(self, device: str) -> _Corrupted:
        return replace(self, clean=to_device(self.clean, device))

    def make(self, cell: Cell) -> UInt8:
        if cell == CLEAN:  # never stored: a benchmark's clean images are those of its source
            return self.clean
        wait_for_kernels()
        suite = self.made_by.suite
        key = derive_key(self.made_by.seed, suite.edition.name, cell.name, cell.level)
        params = suite.edition.params(cell.name, cell.level)
        corruption = CORRUPTIONS[cell.name]
        made: UInt8 = engine.run_pass(corruption, self.clean, params, key=key, ids=self.ids)
        if not self.made_by.stored or not suite.storage:
            return made
        ops, count, quality = ops_for(made), len(made), encode.jpeg_quality(suite.storage)
        done: UInt8 = engine.in_parts(ops, lambda some: ops.jpeg(made[some], quality), count, count)
        return done

    def readable(self, cell: Cell) -> tuple[Chunk, Mapping[int, str]]:
        return self, {}  # made of pixels that were read already


class _Alike(NamedTuple):
    """One picture or several alike, which are perturbed together."""

    pictures: BasePicture
    places: Sequence[int]  # of these among all


@dataclass(frozen=True)
class _Perturbed:
    """Sequences as they are made: the video codec belongs to the files, and is not imitated."""

    made_by: Generated
    ids: Sequence[int | str]
    alike: Mapping[str, Sequence[_Alike]]  # by what a perturbation acts on, as `Steps.on` has it

    def on(self, device: str) -> _Perturbed:
        """What is seen of all pictures is batched there, and bases of one size are. A batch of its
        own for each picture would have the device wait for the host."""
        pictures = [one.pictures for one in self.alike["picture"]]
        views = BasePicture.views(pictures).on(device)
        alike = {**self.alike, "view": [_Alike(views, range(len(pictures)))]}
        if all(picture.is_cut_out for picture in pictures):
            sizes: dict[tuple[int, ...], list[int]] = {}
            for place, picture in enumerate(pictures):
                sizes.setdefault(picture.base.shape, []).append(place)
            alike["base"] = [
                _Alike(BasePicture.bases([pictures[place] for place in places]).on(device), places)
                for places in sizes.values()
            ]
        return replace(self, alike=alike)

    def make(self, cell: Cell) -> UInt8:
        wait_for_kernels()
        edition, seed = self.made_by.suite.edition, self.made_by.seed
        made: list[UInt8] = []
        order: list[int] = []
        for pictures, places in self.alike[edition.steps(cell.name).on]:
            ids = [self.ids[place] for place in places]
            made.append(pictures.all_frames(edition, cell.name, cell.level, seed=seed, ids=ids))
            order += places
        if len(made) == 1:
            return made[0]
        ops = ops_for(made[0])
        frames: UInt8 = ops.join(made)
        return frames if order == sorted(order) else frames[ops.host(np.argsort(order))]

    def readable(self, cell: Cell) -> tuple[Chunk, Mapping[int, str]]:
        return self, {}  # made of pictures that were read already
