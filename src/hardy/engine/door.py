"""The image convention at the door: uint8 RGB, HWC or NHWC, in and out.

| what comes                                       | what happens                                  |
|--------------------------------------------------|-----------------------------------------------|
| uint8 array (H, W, 3) or (N, H, W, 3)            | taken, any strides; a new array of that shape |
| uint8 torch tensor of such a shape               | the same, on the tensor's device              |
| empty batch (0, H, W, 3)                         | taken; an empty batch comes back              |
| PIL image RGB                                    | taken; a new RGB image comes back             |
| PIL image 1, L, P, CMYK, YCbCr, HSV, LAB         | converted by Pillow; an RGB image comes back  |
| PIL image with transparency                      | dropped if opaque everywhere, else refused    |
| PIL image of more than 8 bits (I, I;16, F, ...)  | refused                                       |
| PIL image of several frames (MPO: the first)     | refused                                       |
| PIL image of a file of another format            | refused, as such files are                    |
| either grey (H, W) or (H, W, 1), RGBA, CHW, 5-D  | refused: an array comes back in its own shape |
| either of floats, bool, int64, objects           | refused: the range would have to be guessed   |
| list, path, array of another framework           | refused                                       |
| a side below 8 pixels                            | refused                                       |

Each refusal says what was expected, what came and what to do.

Draws that are to be replayed come in here too: they must fit what the formula reads.
"""

import re
import sys
from collections.abc import Callable
from typing import IO, TYPE_CHECKING, Any, TypeGuard, TypeVar

import numpy as np
import numpy.typing as npt

from hardy.engine.keys import is_int
from hardy.engine.ops import is_tensor
from hardy.errors import InputError, sides
from hardy.limits import PIXELS

if TYPE_CHECKING:
    from PIL.Image import Image
    from torch import Tensor

UInt8 = npt.NDArray[np.uint8]
HostArray = npt.NDArray[Any]
# Same type back: an array for an array, an image for an image, a tensor for a tensor.
Images = TypeVar("Images", UInt8, "Image", "Tensor")

# Formats of the files that are read, the commonest first. The list is closed, since Pillow goes by
# what is in a file, whatever its name, and starts another program for some: Ghostscript for EPS.
FORMATS = ("JPEG", "PNG", "BMP", "GIF", "PPM", "TIFF", "WEBP", "JPEG2000", "AVIF")
SMALLEST_SIDE = 8
EXPECTED = "expected a PIL image or a uint8 RGB array or tensor (H, W, 3) or (N, H, W, 3)"
# Pillow's raw modes of files that it would cut from 16 bits to 8. (BGR;16 is 5 + 6 + 5 bits.)
_DEEP = re.compile(r"(L|LA|RGB|RGBA|RGBX|RGBa|CMYK)+;16[BLN]")


def enter(images: object) -> tuple[Any, Callable[[Any], Any]]:
    """The batch, NHWC, contiguous and writable; and what turns a result into the caller's type."""
    if is_pil(images):
        from PIL.Image import fromarray

        return from_pil(images)[None], lambda out: fromarray(out[0])
    batch: Any
    if isinstance(images, np.ndarray):
        _check_dtype(images)
        _check_shape(images)
        ready = type(images) is np.ndarray and images.flags.carray
        batch = images if ready else np.require(images, requirements=["C", "W", "E"])
    elif is_tensor(images):
        _check_tensor_dtype(images)
        _check_shape(images)
        batch = images.contiguous()
    else:
        raise InputError(f"{EXPECTED}, got {_not_an_array(images)}")
    if images.ndim == 4:
        return batch, lambda out: out
    return batch[None], lambda out: out[0]


def is_pil(thing: object) -> TypeGuard["Image"]:
    """Whether it is a PIL image. Pillow is not imported to ask: without it nobody can have one."""
    module = sys.modules.get("PIL.Image")
    return module is not None and isinstance(thing, module.Image)


def open_pil(file: IO[bytes]) -> "Image":
    """Open an image file of one of the `FORMATS` by Pillow, which decodes it when it is used."""
    from PIL import Image, UnidentifiedImageError

    Image.preinit()  # else Pillow looks for the first format among all of its plug-ins
    try:
        return Image.open(file, formats=FORMATS)
    except KeyError as error:  # it is none of the others, and Pillow has AVIF since 11.3
        raise UnidentifiedImageError("cannot identify image file") from error


def from_pil(image: "Image") -> UInt8:
    """RGB pixels (H, W, 3) by the rules of the table above."""
    return np.array(rgb_picture(image))


def rgb_picture(image: "Image") -> "Image":
    """The image, decoded and in RGB, by the same rules."""
    if image.format not in (None, "MPO", *FORMATS):
        raise InputError(
            f"expected a PIL image of a file that is {', '.join(FORMATS)}, got {image.format}, for "
            "which Pillow may start other programs; if you trust it: image = image.copy()"
        )
    # An MPO file is a camera's JPEG with a preview behind the photograph.
    if getattr(image, "is_animated", False) and image.format != "MPO":
        # How many is not told: to count the pages of a TIFF, Pillow reads all of them.
        raise InputError(
            f"expected a still image, got {image.format} of several frames; take one out first: "
            "image.seek(0); image = image.copy()"
        )
    if deep := _deep_mode(image):
        raise InputError(
            f"expected 8 bits per channel, got a PIL image of mode {deep}; scale it to 0..255 "
            "yourself, because only you know its range, and make it RGB"
        )
    check_side(image.height, image.width)
    try:
        if image.has_transparency_data:
            image = image.convert("RGBA")
            if np.asarray(image)[..., 3].min() < 255:
                raise InputError(
                    "expected an image without transparency, got transparent pixels; paste it on "
                    'a background of your choice, or drop alpha: image.convert("RGB")'
                )
        if image.mode != "RGB":
            return image.convert("RGB")
        image.load()
        return image
    except InputError:
        raise
    except ValueError as error:
        raise InputError(f"{EXPECTED}, got PIL mode {image.mode} ({error})") from error
    except (OSError, SyntaxError) as error:  # Pillow decodes a file when pixels are first wanted
        raise InputError(f"expected an image that can be decoded, got {error}") from error


def _deep_mode(image: "Image") -> str | None:
    if image.mode in ("I", "F") or image.mode.startswith("I;"):
        return image.mode
    # Pillow opens some 16-bit files as 8-bit modes; only the tiles of a file not yet read show it.
    for tile in getattr(image, "tile", ()):
        arguments = tile[3] if isinstance(tile[3], tuple) else (tile[3],)
        for argument in arguments:
            if isinstance(argument, str) and _DEEP.match(argument):
                return argument
        if tile[0].startswith("ppm") and arguments[-1] > 255:
            return f"{image.mode} with values up to {arguments[-1]}"
    return None


def _not_an_array(thing: object) -> str:
    name = f"{type(thing).__module__}.{type(thing).__qualname__}".removeprefix("builtins.")
    if isinstance(thing, list | tuple):
        return f"a {name}; np.stack images of one size, else pass them one by one with their ids"
    if isinstance(thing, str) or hasattr(thing, "__fspath__"):
        return f"a path; open it first: PIL.Image.open({str(thing)!r})"
    return f"{name}; convert it with np.asarray"


def _check_dtype(images: npt.NDArray[Any]) -> None:
    if images.dtype == np.uint8:
        return
    if images.dtype == object:
        todo = "np.stack images of one size, else pass them one by one with their ids"
    elif images.dtype == bool:
        todo = "if True is white: images.astype(np.uint8) * 255"
    elif images.dtype.kind in "iuf" and images.size:
        low, high = images.min(), images.max()
        scaled = "images * 255" if high <= 1 and images.dtype.kind == "f" else "images"
        todo = (
            f"its values go from {low:g} to {high:g}; "
            f"if they mean black to white: np.clip({scaled}, 0, 255).astype(np.uint8)"
        )
    else:
        todo = "convert it with .astype(np.uint8)"
    raise InputError(f"{EXPECTED}, got {images.dtype} {images.shape}; {todo}")


def _check_tensor_dtype(images: "Tensor") -> None:
    kind = str(images.dtype).removeprefix("torch.")
    if kind == "uint8":
        return
    if kind == "bool":
        todo = "if True is white: images.byte() * 255"
    elif images.is_complex() or not images.numel():
        todo = "convert it with .byte()"
    else:
        low, high = images.min().item(), images.max().item()
        scaled = "(images * 255)" if high <= 1 and images.is_floating_point() else "images"
        todo = (
            f"its values go from {low:g} to {high:g}; "
            f"if they mean black to white: {scaled}.clamp(0, 255).byte()"
        )
    raise InputError(f"{EXPECTED}, got {kind} {tuple(images.shape)}; {todo}")


def _check_shape(images: "npt.NDArray[Any] | Tensor") -> None:
    shape, axes = tuple(images.shape), images.ndim
    if axes in (3, 4) and shape[-1] == 3:
        check_side(shape[-3], shape[-2])
        return
    if is_tensor(images):
        repeat, move = "{}.repeat_interleave(3, -1)", "images.movedim({}, -1)"
    else:
        repeat, move = "np.repeat({}, 3, axis=-1)", "np.moveaxis(images, {}, -1)"
    if axes == 2:
        todo = "grey becomes RGB by " + repeat.format("image[..., None]")
    elif axes in (3, 4) and shape[-3] == 3:
        todo = "channels go last: " + move.format(axes - 3)
    elif axes in (3, 4) and shape[-1] == 1:
        todo = "grey becomes RGB by " + repeat.format("images")
    elif axes in (3, 4) and shape[-1] == 4:
        todo = "drop alpha with images[..., :3], or paste the image on a background of your choice"
    else:
        todo = "reshape it"
    raise InputError(f"{EXPECTED}, got uint8 {shape}; {todo}")


def check_side(height: int, width: int) -> None:
    """Refuse an image that is too small for the formulas."""
    if min(height, width) < SMALLEST_SIDE:
        raise InputError(
            f"expected at least {SMALLEST_SIDE} pixels per side, got {sides(height, width)}; "
            "enlarge the image first"
        )


def check_size(size: object) -> tuple[int, int]:
    """A size (H, W) as users give it."""
    if not (isinstance(size, tuple | list) and len(size) == 2 and all(map(is_int, size))):
        raise InputError(f"expected a size (height, width) of two ints, got {size!r}")
    if min(size) < SMALLEST_SIDE:
        raise InputError(f"expected sides of at least {SMALLEST_SIDE} pixels, got {size!r}")
    PIXELS.check(int(size[0]) * int(size[1]), "size")
    return int(size[0]), int(size[1])


def per_value(size: tuple[int, int]) -> HostArray:
    """What a draw with one float64 per channel value of one image looks like."""
    return np.empty((1, *size, 3))


def fitting_draw(name: str, values: object, like: HostArray, count: int) -> HostArray:
    """A draw for `count` images as an array of the shape and type of `like`, the draw for one."""
    field, shape = np.ascontiguousarray(values), (count, *like.shape[1:])
    whole = field.dtype.kind in "iu" and like.dtype.kind in "iu"
    if field.shape != shape or not (whole or np.can_cast(field.dtype, like.dtype, "same_kind")):
        raise InputError(
            f"expected the draw {name!r} as {like.dtype} {shape}, "
            f"got {field.dtype} {field.shape}; hardy.draw makes one that fits"
        )
    return field.astype(like.dtype, copy=False)


def check_range(name: str, field: HostArray, low: int, high: int) -> None:
    """Refuse values that a table has no entry for."""
    outside = field[(field < low) | (field > high)]
    if outside.size:
        raise InputError(
            f"expected the draw {name} from {low} to {high}, got {outside[0]}; "
            "hardy.draw makes one that fits"
        )
