"""Named preprocessing: from a picture as it was read to the square the benchmark corrupts.

A recipe has two halves, because perturbations that move the picture act between them: `base` makes
the image that is moved, with what lies outside the square still there, `finish` cuts or shrinks it
to the square. To the byte, they are torchvision's `Resize` and `CenterCrop` on PIL images:

* shorter side to n: the longer one becomes trunc(n · longer / shorter); bilinear, which in Pillow
  is antialiased;
* centre crop: offset round((side − crop) / 2), halves to even.

The number behind the @ is the recipe's version: other bytes need another number.

An array whose images are the suite's square already, such as 224 x 224, was prepared by whoever
made it: it is taken as it is (`recipe_for`), where a recipe would enlarge or crop it once more.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from hardy.engine.door import UInt8, rgb_picture
from hardy.images.image_files import Convert, Picture, rgb
from hardy.registry import Registry


@dataclass(frozen=True)
class Recipe:
    name: str  # with its version: "none@1"
    summary: str
    id_rule: str  # of the benchmarks made with it; see `hardy.images.source`
    side: int | None  # of the square that comes out; None: the image keeps its size
    base: Convert
    crop: Callable[[int, int], tuple[int, int]]  # how much of a base (H, W) is kept

    def window(self, height: int, width: int) -> tuple[int, int, int, int]:
        """The part of a base of that size that is kept: top, left, height, width."""
        tall, wide = self.crop(height, width)
        return _offset(height, tall), _offset(width, wide), tall, wide

    def finish(self, base: UInt8) -> UInt8:
        top, left, height, width = self.window(*base.shape[:2])
        return self.shrink(np.ascontiguousarray(base[top : top + height, left : left + width]))

    def shrink(self, cropped: UInt8) -> UInt8:
        """What `finish` does to the window: to the square's side, if it is not that already."""
        return cropped if self.side is None else resize(cropped, self.side, self.side)

    def prepare(self, picture: Picture) -> UInt8:
        return self.finish(self.base(picture))

    def __reduce__(self) -> tuple[Any, ...]:
        """A recipe that has a name travels by it, under which every process has it: functions that
        are defined within others do not travel."""
        if self.name in RECIPES and RECIPES[self.name] is self:
            return _by_name, (self.name,)
        return super().__reduce__()  # type: ignore[return-value]


_AS_IS = "as_is@1"
RECIPES: Registry[Recipe] = Registry("recipe", "hardy.recipes", of=Recipe)


def _by_name(name: str) -> Recipe:
    return RECIPES[name]


@cache
def recipe_for(name: str, size: tuple[int, int] | None) -> str:
    """The recipe of a suite, or that which does nothing, for an array of images (H, W) that are the
    square already, and would not stay what they are."""
    recipe = RECIPES[name]
    if size is None or size != (recipe.side, recipe.side):
        return name
    base = recipe.base(np.zeros((*size, 3), np.uint8)).shape[:2]
    return name if recipe.window(*base) == (0, 0, *size) else _AS_IS


def resize(image: UInt8, height: int, width: int) -> UInt8:
    from PIL import Image

    if image.shape[:2] == (height, width):
        return image
    size = (width, height)
    return np.array(Image.fromarray(image).resize(size, Image.Resampling.BILINEAR))


def _offset(side: int, crop: int) -> int:
    return round((side - crop) / 2)  # Python rounds halves to even


def _shorter_side(height: int, width: int, length: int) -> tuple[int, int]:
    shorter = min(height, width)
    return length * height // shorter, length * width // shorter


def resize_shorter(picture: Picture, length: int) -> UInt8:
    """RGB pixels, the shorter side of so many."""
    from PIL import Image

    # It stays Pillow's until it is small: copies of all the pixels of a photograph would hold
    # Python's lock, for which other threads wait.
    image = Image.fromarray(picture) if isinstance(picture, np.ndarray) else rgb_picture(picture)
    height, width = _shorter_side(image.height, image.width, length)
    if image.size != (width, height):
        image = image.resize((width, height), Image.Resampling.BILINEAR)
    return np.array(image)


def _resize_shorter_then_rgb(picture: Picture, length: int) -> UInt8:
    from PIL import Image

    if isinstance(picture, np.ndarray) or picture.mode in ("L", "RGB"):
        return resize_shorter(picture, length)  # the same bytes in either order
    rgb_picture(picture)  # the door's checks need the picture as it came from the file
    height, width = _shorter_side(picture.height, picture.width, length)
    return rgb(picture.resize((width, height), Image.Resampling.BILINEAR))


def _square(side: int) -> Callable[[int, int], tuple[int, int]]:
    return lambda height, width: (side, side)


def _everything(height: int, width: int) -> tuple[int, int]:
    return height, width


def eight_sevenths(side: int) -> Recipe:
    """A centre square of any side, in the proportion of 224 to 256: to look at, in no benchmark."""
    return Recipe(
        f"square{side}@1",
        f"Shorter side to 8/7 of {side} (bilinear), then the centre {side} x {side}.",
        id_rule="file_stem",
        side=side,
        base=lambda picture: resize_shorter(picture, round(side * 8 / 7)),
        crop=_square(side),
    )


for _recipe in (
    Recipe(
        "resize256_crop224@1",
        "Shorter side to 256 by Pillow's antialiased bilinear filter, the longer side truncated to "
        "whole pixels; then the centre 224 x 224, offsets rounded half to even.",
        id_rule="file_stem",
        side=224,
        base=lambda picture: resize_shorter(picture, 256),
        crop=_square(224),
    ),
    Recipe(
        "resize256_rgb_crop224@1",
        "Shorter side to 256 by Pillow's antialiased bilinear filter, the longer side truncated to "
        "whole pixels, in the file's own colours; then RGB; then the centre 224 x 224, offsets "
        "rounded half to even. Grey and RGB images come out as from resize256_crop224.",
        id_rule="file_stem",
        side=224,
        base=lambda picture: _resize_shorter_then_rgb(picture, 256),
        crop=_square(224),
    ),
    Recipe(
        "crop87.5_resize299@1",
        "The centre 87.5 % of each side, lengths truncated and offsets rounded half to even; then "
        "Pillow's antialiased bilinear filter to exactly 299 x 299, aspect ratio not kept.",
        id_rule="file_stem",
        side=299,
        base=rgb,
        crop=lambda height, width: (height * 7 // 8, width * 7 // 8),
    ),
    Recipe(
        "resize64_exact@1",
        "Pillow's antialiased bilinear filter to exactly 64 x 64, aspect ratio not kept, no crop.",
        id_rule="file_stem",
        side=64,
        base=lambda picture: resize(rgb(picture), 64, 64),
        crop=_everything,
    ),
    Recipe(
        "resize32_exact@1",
        "Pillow's antialiased bilinear filter to exactly 32 x 32, aspect ratio not kept, no crop; "
        "images of that size stay as they are.",
        id_rule="relative_path",
        side=32,
        base=lambda picture: resize(rgb(picture), 32, 32),
        crop=_everything,
    ),
    Recipe(
        "resize64_crop64@1",
        "Shorter side to 64 by Pillow's antialiased bilinear filter, the longer side truncated to "
        "whole pixels; then the centre 64 x 64, offsets rounded half to even.",
        id_rule="file_stem",
        side=64,
        base=lambda picture: resize_shorter(picture, 64),
        crop=_square(64),
    ),
    Recipe(
        _AS_IS,
        "None: arrays of images that have the suite's size already are taken as they are.",
        id_rule="row_index",
        side=None,
        base=rgb,
        crop=_everything,
    ),
    Recipe(
        "none@1",
        "None: the 32 x 32 images are taken as they are.",
        id_rule="row_index",
        side=None,
        base=rgb,
        crop=_everything,
    ),
):
    RECIPES.add(_recipe.name, _recipe)
