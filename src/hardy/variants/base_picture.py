"""A picture, ready for every sequence: its pixels, and the base image that a recipe makes of it.

A perturbation acts on the finished image, on the base it is cut from or on the picture, as the
edition says (`Steps.on`); so both are kept, made once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from hardy.corrupt import passes as engine
from hardy.corrupt.calls import choose_edition, perturbations
from hardy.corrupt.perturbation import PERTURBATIONS, View, Wanted, run_frames, whole_view
from hardy.engine import door
from hardy.engine.door import UInt8
from hardy.engine.keys import check_seed, image_ids, is_int
from hardy.engine.ops import Array, Ops, is_tensor, ops_for, to_device
from hardy.engine.rng import derive_key, image_id
from hardy.errors import InputError
from hardy.registry import unknown
from hardy.suites import edition as find_edition
from hardy.suites import editions
from hardy.suites.edition_files import Edition

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

    from hardy.images.image_files import Picture
    from hardy.images.recipes import Recipe


class Frames(Sequence[Array]):
    """The frames of one image, made when they are asked for; nothing is kept."""

    def __init__(self, make: Callable[[Wanted], Iterator[Array]], count: int, ops: Ops) -> None:
        """`make` gives the wanted frames, as batches of one image."""
        self._make, self._places, self._ops = make, range(count), ops

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Array]:
        return (batch[0] for batch in self._make(self._places))

    @overload
    def __getitem__(self, index: int) -> Array: ...

    @overload
    def __getitem__(self, index: slice) -> list[Array]: ...

    def __getitem__(self, index: int | slice) -> Any:
        if not isinstance(index, slice):
            return next(self._make([self._places[index]]))[0]
        places = self._places[index]
        if not places:
            return []
        made = dict(zip(sorted(places), self._make(sorted(places)), strict=True))
        return [made[k][0] for k in places]

    def array(self) -> Array:
        """All frames, (F, H, W, 3)."""
        return self._ops.join(list(self._make(self._places)))


@dataclass(frozen=True)
class BasePicture:
    """One picture or several alike, and their base images."""

    pixels: UInt8  # (1, H, W, 3); of several alike (N, H, W, 3)
    base: UInt8  # (1, h, w, 3)
    recipe: Recipe | None

    @classmethod
    def of(cls, picture: Picture, recipe: Recipe | None) -> BasePicture:
        """A picture as it was read; without a recipe it is its own base, and all of it is seen."""
        from hardy.images.image_files import rgb

        pixels = rgb(picture)[None]
        return cls(pixels, recipe.base(picture)[None] if recipe else pixels, recipe)

    @classmethod
    def bases(cls, pictures: Sequence[BasePicture]) -> BasePicture:
        """The base images of pictures, which are of one size, without what these were made of."""
        bases = np.concatenate([picture.base for picture in pictures])
        return cls(bases, bases, pictures[0].recipe)

    @classmethod
    def views(cls, pictures: Sequence[BasePicture]) -> BasePicture:
        """What is seen of pictures of any size, as pictures that are seen whole."""
        seen = np.stack([picture.view for picture in pictures])
        return cls(seen, seen, None)

    def on(self, device: str) -> BasePicture:
        """The base as a tensor on a device. The picture stays: it is asked for only where the
        recipe, and so Pillow, finishes frames."""
        return replace(self, base=to_device(self.base, device))

    @property
    def view(self) -> UInt8:
        """What is seen of one picture, (H, W, 3)."""
        (base,) = self.base
        return base if self.recipe is None else self.recipe.finish(base)

    @property
    def is_cut_out(self) -> bool:
        """Whether frames are cut out of the base; else Pillow has to finish every one of them."""
        return self.recipe is None or not self.recipe.side or self._seen == self.size

    @property
    def _seen(self) -> tuple[int, int]:
        """(H, W) of the part of the base that a recipe cuts out."""
        assert self.recipe is not None
        return self.recipe.window(*self.base.shape[1:3])[2:]

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
        make = self._maker(edition, name, level, seed, [id])
        return Frames(make, edition.steps(name).frames, ops_for(self.base))

    def all_frames(
        self, edition: Edition, name: str, level: int, *, seed: int, ids: Sequence[int | str]
    ) -> UInt8:
        """(N, F, H, W, 3): the frames of every picture."""
        steps = edition.steps(name)
        ops = ops_for(self._view(steps.on)[0])

        def made(some: slice) -> UInt8:
            part = replace(self, pixels=self.pixels[some], base=self.base[some])
            frames = list(part._maker(edition, name, level, seed, ids[some])(range(steps.frames)))
            joined: UInt8 = ops.join(frames)
            return joined.reshape((steps.frames, -1, *joined.shape[1:])).swapaxes(0, 1)

        whole: UInt8 = engine.in_parts(ops, made, len(ids), len(ids))
        return whole

    def _maker(
        self, edition: Edition, name: str, level: int, seed: int, ids: Sequence[int | str]
    ) -> Callable[[Wanted], Iterator[UInt8]]:
        steps = edition.steps(name)
        params = steps.params(level)
        images, view = self._view(steps.on)
        return lambda wanted: run_frames(
            PERTURBATIONS[name],
            images,
            params,
            wanted=wanted,
            key=derive_key(seed, edition.name, f"p/{name}", level),
            ids=np.array([image_id(id) for id in ids], np.uint64),
            view=view,
            on_base=steps.on != "view",
        )

    def _view(self, on: str) -> tuple[UInt8, View]:
        if self.recipe is None:
            return self.base, whole_view(self.base)
        if on == "picture":
            return self.pixels, View(whole_view(self.pixels).window, _each(self.recipe.prepare))
        window = self.recipe.window(self.base.shape[1], self.base.shape[2])
        done = window[2:] == self.size
        return self.base, View(window, None if done else _each(self.recipe.shrink))


def _each(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda images: np.stack([convert(image) for image in images])


def perturb(
    image: UInt8 | Image | Tensor,
    name: str,
    *,
    level: int = 1,
    seed: int = 0,
    id: int | str = 0,
    edition: str = "auto",
    recipe: str | Recipe | None = None,
) -> Frames:
    """Return the frames of a perturbation of one image: iterate, index, or take `.array()`.

    A frame is uint8 (H, W, 3) and is made when it is asked for; `.array()` is (F, H, W, 3). Frames
    depend on pixels, recipe, edition, name, level, seed and id alone.

    Without a recipe the frames are as large as the image, and black enters at the edge of what
    moves. With one, such as "resize256_rgb_crop224@1", the image is a picture as it was read: the
    recipe makes the base image that moves, and then cuts the frame out of it. `level` is the
    strength of noise, 1 to 3; other perturbations have level 1 only.

    >>> import hardy, numpy
    >>> image = numpy.full((64, 64, 3), 128, numpy.uint8)
    >>> hardy.perturb(image, "tilt")[30].shape
    (64, 64, 3)
    """
    if not isinstance(name, str):
        raise InputError(f'expected the name of a perturbation such as "tilt", got {name!r}')
    if name not in PERTURBATIONS:
        raise unknown("perturbation", name, perturbations())
    if not is_int(level):
        raise InputError(f"expected a level of 1, 2 or 3 as an int, got {level!r}")
    batch, _ = door.enter(image)
    if getattr(image, "ndim", 3) != 3:
        raise InputError(
            f"expected one image (H, W, 3), got a batch {tuple(batch.shape)}; go through them one "
            "by one, each with its id"
        )
    # Copies: frames are made later, and the caller may have changed the image by then.
    if is_tensor(image) and recipe is not None:
        raise InputError("a recipe expects an array or a PIL image, got a tensor; .cpu().numpy()")
    if is_tensor(image):
        pixels = batch.clone()
        base = BasePicture(pixels, pixels, None)
    else:
        picture = batch[0].copy() if isinstance(image, np.ndarray) else image
        base = BasePicture.of(picture, _recipe(recipe))
    constants = find_edition(choose_edition(edition, base.size, editions(name)))
    image_ids([id], 1)
    return base.frames(constants, name, int(level), seed=check_seed(seed), id=id)


def _recipe(recipe: object) -> Recipe | None:
    if recipe is None:
        return None
    # Imported here: it brings the readers of every kind of image set.
    from hardy.images.recipes import RECIPES, Recipe

    if isinstance(recipe, Recipe):
        return recipe
    if not isinstance(recipe, str):
        raise InputError(f'expected a recipe such as "resize256_crop224@1", got {recipe!r}')
    return RECIPES[recipe]
