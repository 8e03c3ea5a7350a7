"""What every adapter does around the call of its model: batches and pixels in, logits out, and
errors in the model's name."""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8
from hardy.errors import HardyError, InputError, told
from hardy.models.model import Logits, Preprocessing

_WRAP = "wrap the model so that it returns them"


def in_batches(
    images: UInt8, size: int | Literal["auto"], logits: Callable[[UInt8], Logits], name: str
) -> Logits:
    """The logits of all images, `size` at a time; "auto" means all at once."""
    check_images(images)
    step = len(images) if size == "auto" else size
    outputs = [logits(images[start : start + step]) for start in range(0, len(images), step)]
    check_widths(outputs, name)
    return np.concatenate(outputs)


def resized(images: UInt8, size: int | None, interpolation: str) -> UInt8:
    """Both sides brought to `size` by Pillow, for models that are not torch's."""
    if size is None or images.shape[1:3] == (size, size):
        return images
    from PIL import Image

    how = Image.Resampling[interpolation.upper()]
    return np.stack([np.asarray(Image.fromarray(i).resize((size, size), how)) for i in images])


def normalised(images: UInt8, preprocessing: Preprocessing) -> npt.NDArray[np.float32]:
    """(x / 255 − mean) / std in float32, in the order of operations of torch's transforms; then
    blue comes first if it is to."""
    pixels: npt.NDArray[Any] = images.astype(np.float32)
    pixels /= np.float32(255)
    pixels -= np.array(preprocessing.mean, np.float32)
    pixels /= np.array(preprocessing.std, np.float32)
    return pixels[..., ::-1] if preprocessing.bgr else pixels


def shape_in_words(shape: Sequence[int | None]) -> str:
    """A shape, of which some sides may be free."""
    return f"({', '.join('any' if side is None else str(side) for side in shape)})"


@contextmanager
def in_its_name(name: str, images: Any, todo: str) -> Iterator[None]:
    """Whatever the model raises, even `sys.exit`, becomes an error with its name; Ctrl-C passes."""
    try:
        yield
    except HardyError:
        raise
    except (Exception, SystemExit) as error:
        raise failure(name, error, images, todo) from error


def failure(name: str, error: BaseException, images: Any, todo: str) -> HardyError:
    shape = tuple(images.shape)
    return HardyError(f"{name} raised {told(error)}, given images {shape}; {todo}")


def check_images(images: Any) -> None:
    """Refuse what is not uint8 (N, H, W, 3), be it an array or a tensor."""
    if _kind(images) != "uint8" or images.ndim != 4:
        got = f"{images.dtype} {tuple(images.shape)}"
        raise InputError(f"expected images as uint8 (N, H, W, 3), got {got}")
    if images.shape[3] != 3 or not len(images):
        raise InputError(f"expected at least one RGB image (N, H, W, 3), got {tuple(images.shape)}")


def as_logits(output: Any, rows: int, name: str, todo: str = _WRAP) -> Logits:
    """The output of a model as float32 (N, K), or an error with its name."""
    try:
        array = np.asarray(output)
    except Exception as error:  # a ragged list, or a tensor that is not numpy's to read
        raise InputError(
            f"{name}: expected logits ({rows}, classes), got a {type(output).__name__} that makes "
            f"no array ({told(error)}); {todo}"
        ) from error
    check_logits(array, rows, name, todo)
    with np.errstate(over="ignore"):  # beyond float32 is infinite, which is refused by name later
        return array.astype(np.float32, copy=False)


def check_logits(output: Any, rows: int, name: str, todo: str = _WRAP) -> None:
    """Refuse logits, array or tensor, that are not a row of numbers per image."""
    shape = tuple(output.shape)
    numbers = re.match(r"b?float|u?int", _kind(output))
    if len(shape) != 2 or shape[0] != rows or not shape[1] or not numbers:
        raise InputError(
            f"{name}: expected logits ({rows}, classes), one row per image, got "
            f"{_kind(output)} {shape}; {todo}"
        )


def check_widths(outputs: Sequence[Any], name: str) -> None:
    widths = sorted({output.shape[1] for output in outputs})
    if len(widths) > 1:
        raise InputError(
            f"{name}: expected logits for the same classes in every batch, got "
            f"{' and '.join(map(str, widths))} classes"
        )


def _kind(array: Any) -> str:
    return str(array.dtype).removeprefix("torch.")
