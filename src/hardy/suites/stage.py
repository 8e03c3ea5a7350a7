"""One picture, ready for every sequence: what moves, the part of it that is seen, and the picture.

Where a perturbation acts is the edition's choice (`Steps.on`), so a stage keeps all that may be
asked for, made once: the picture's pixels, and the base image the recipe makes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hardy.arrays.ops import ops_for
from hardy.arrays.rng import derive_key, image_id
from hardy.corrupt.perturbation import PERTURBATIONS, Frames, View, Wanted, run, whole
from hardy.suites.schema import Edition

if TYPE_CHECKING:
    from hardy.images.files import Picture
    from hardy.images.recipes import Recipe

UInt8 = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Stage:
    pixels: UInt8  # (1, H, W, 3)
    base: UInt8  # (1, h, w, 3)
    recipe: Recipe | None

    @classmethod
    def of(cls, picture: Picture, recipe: Recipe | None) -> Stage:
        """A picture as it was read; without a recipe it is its own base, and all of it is seen."""
        from hardy.images.files import rgb

        pixels = rgb(picture)[None]
        return cls(pixels, recipe.base(picture)[None] if recipe else pixels, recipe)

    @property
    def size(self) -> tuple[int, int]:
        """(H, W) of the frames."""
        height, width = self.base.shape[1:3]
        if self.recipe is None:
            return height, width
        side = self.recipe.side
        return (side, side) if side else self.recipe.window(height, width)[2:]

    def frames(
        self, edition: Edition, name: str, level: int, *, seed: int, id: int | str
    ) -> Frames:
        """The frames of one perturbation, made when they are asked for."""
        steps, perturbation = edition.steps(name), PERTURBATIONS[name]
        params = steps.params(level)
        key = derive_key(seed, edition.name, f"p/{name}", level)
        ids = np.array([image_id(id)], np.uint64)
        images, view = self._view(steps.on)

        def make(wanted: Wanted) -> Iterator[UInt8]:
            return run(
                perturbation,
                images,
                params,
                wanted=wanted,
                key=key,
                ids=ids,
                view=view,
                on_base=steps.on != "view",
            )

        return Frames(make, steps.frames, ops_for(images))

    def _view(self, on: str) -> tuple[UInt8, View]:
        if self.recipe is None:
            return self.base, whole(self.base)
        if on == "picture":
            return self.pixels, View(whole(self.pixels).window, _each(self.recipe.prepare))
        window = self.recipe.window(self.base.shape[1], self.base.shape[2])
        done = window[2:] == self.size
        return self.base, View(window, None if done else _each(self.recipe.shrink))


def _each(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda images: np.stack([convert(image) for image in images])
