"""How streamed training images are cut: at random scales, as of ImageNet, or shifted, as of CIFAR.

What is drawn for an image is a row of numbers in 0..1, which hang on seed, epoch and the image's id
alone. To cut is then a function of the picture and this row.
"""

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from hardy.engine.door import SMALLEST_SIDE, UInt8, check_side, rgb_picture
from hardy.errors import InputError, sides
from hardy.images.image_files import Picture
from hardy.images.recipes import RECIPES, Recipe, eight_sevenths
from hardy.registry import unknown

if TYPE_CHECKING:
    from PIL.Image import Image

Drawn = npt.NDArray[np.float64]

_TRIES = 10  # at a crop that lies within the image
_REDUCED = (8, 4, 2)  # by which libjpeg decodes smaller pictures at once
_LARGEST = 4096
# Who decodes JPEG files, and the share of them that is then decoded on the GPU.
DECODED_THERE = {"threads": 0.0, "both": 0.5, "gpu": 1.0}


@dataclass(frozen=True)
class ScaleCrop:
    """A part of the image, of an area that is a share of it within `scale` and of an aspect within
    `ratio`, resized to a square of `side`; every other one mirrored, by chance.

    As torchvision's RandomResizedCrop: of ten drawn parts the first that fits is taken, or else the
    middle, at the nearest aspect. Pillow's antialiased bilinear filter resizes; a JPEG is decoded
    at 1/2, 1/4 or 1/8 of its size where the part then is still as large as the square.
    """

    side: int
    scale: tuple[float, float] = (0.08, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    numbers = 2 * _TRIES + 3

    def __post_init__(self) -> None:
        for name in ("scale", "ratio"):
            if len(getattr(self, name)) != 2:
                raise InputError(f"expected `{name}` as two numbers, got {getattr(self, name)}")
        if not 1 <= self.side <= _LARGEST:
            raise InputError(f"expected `side` from 1 to {_LARGEST:,} pixels, got {self.side}")
        low, high = self.scale
        if not 0 < low <= high <= 1:
            raise InputError(f"expected `scale` as two shares of the area, got {low:g},{high:g}")
        low, high = self.ratio
        if not 0.01 <= low <= high <= 100:
            raise InputError(f"expected `ratio` as two aspects, width by height, got {low},{high}")

    @property
    def shape(self) -> tuple[int, int]:
        return self.side, self.side

    @property
    def tested(self) -> Recipe:
        """How images are prepared that are looked at as they are."""
        return eight_sevenths(self.side)

    def described(self) -> dict[str, Any]:
        return {"kind": "scale", **asdict(self)}

    def box(self, height: int, width: int, drawn: Drawn) -> tuple[int, int, int, int]:
        """Top, left, height and width of the part."""
        (small, large), (tall, wide) = self.scale, (math.log(one) for one in self.ratio)
        for share, aspect in drawn[: 2 * _TRIES].reshape(_TRIES, 2):
            area = (small + (large - small) * share) * height * width
            shape = math.exp(tall + (wide - tall) * aspect)
            w, h = round(math.sqrt(area * shape)), round(math.sqrt(area / shape))
            if 0 < w <= width and 0 < h <= height:
                down, along = drawn[2 * _TRIES : 2 * _TRIES + 2]
                return int(down * (height - h + 1)), int(along * (width - w + 1)), h, w
        own = width / height
        if own < self.ratio[0]:
            w, h = width, min(height, max(1, round(width / self.ratio[0])))
        elif own > self.ratio[1]:
            w, h = min(width, max(1, round(height * self.ratio[1]))), height
        else:
            w, h = width, height
        return (height - h) // 2, (width - w) // 2, h, w

    def cut(self, picture: Picture, drawn: Drawn) -> UInt8:
        from PIL import Image

        part = self._part(picture, drawn)
        square = part.resize((self.side, self.side), Image.Resampling.BILINEAR)
        made = np.asarray(square)
        return made[:, ::-1] if drawn[-1] < 0.5 else made

    def _part(self, picture: Picture, drawn: Drawn) -> "Image":
        if isinstance(picture, np.ndarray):
            from PIL.Image import fromarray

            height, width = picture.shape[:2]
            check_side(height, width)
            top, left, tall, wide = self.box(height, width, drawn)
            return fromarray(picture[top : top + tall, left : left + wide])
        width, height = picture.size
        top, left, tall, wide = self.box(height, width, drawn)
        if picture.format == "JPEG":
            fits = (by for by in _REDUCED if min(tall, wide) >= by * max(self.side, SMALLEST_SIDE))
            by = next(fits, 1)
            if by > 1:
                picture.draft(picture.mode, (width // by, height // by))
        image = rgb_picture(picture)
        x, y = image.width / width, image.height / height
        return image.crop(
            (round(left * x), round(top * y), round((left + wide) * x), round((top + tall) * y))
        )


@dataclass(frozen=True)
class ShiftCrop:
    """The image as a recipe prepares it, within black edges of an eighth of its side; a crop of the
    old size anywhere in that, and every other one mirrored, by chance: as images in memory are."""

    recipe: str
    shape: tuple[int, int]
    numbers = 3

    @property
    def tested(self) -> Recipe:
        return RECIPES[self.recipe]

    def described(self) -> dict[str, Any]:
        return {"kind": "shift", "recipe": self.recipe}

    def cut(self, picture: Picture, drawn: Drawn) -> UInt8:
        image = RECIPES[self.recipe].prepare(picture)
        height, width = self.shape
        if image.shape[:2] != self.shape:
            raise InputError(
                f"expected an image of {sides(height, width)} like the first, got "
                f"{sides(*image.shape[:2])}; say a `side` to cut them to, or a `recipe`"
            )
        edge = max(1, min(height, width) // 8)
        top, left = (int(number * (2 * edge + 1)) for number in drawn[:2])
        padded = np.pad(image, ((edge, edge), (edge, edge), (0, 0)))
        made = padded[top : top + height, left : left + width]
        return made[:, ::-1] if drawn[-1] < 0.5 else made


Crop = ScaleCrop | ShiftCrop


def scale_crop(side: int | None, **shapes: tuple[float, float]) -> ScaleCrop | None:
    """The crop that is asked for by its side, if it is."""
    if side is not None:
        return ScaleCrop(side, **shapes)
    if shapes:
        raise InputError("expected `scale` and `ratio` with `side`, got them alone; say a `side`")
    return None


def check_decode(decode: str, crop: ScaleCrop | None) -> str:
    if decode not in DECODED_THERE:
        raise unknown("way to decode", decode, DECODED_THERE)
    if DECODED_THERE[decode] and crop is None:
        raise InputError(
            f"expected crops at random scales, by `side`, for `decode` {decode}, got none; say a "
            "`side`, such as 224, or leave `decode` out"
        )
    return decode
