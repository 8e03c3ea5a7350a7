"""The objects of the MAITE protocols at the door: models, data sets and images (C, H, W).

The library is not imported: its protocols are about what an object has. Each has `metadata`, a
dictionary with an "id", and where classes have names "index2label", from numbers to names.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from hardy.engine.door import UInt8
from hardy.engine.ops import is_tensor
from hardy.errors import InputError


def follows_maite(thing: object) -> bool:
    facts = getattr(thing, "metadata", None)
    return isinstance(facts, Mapping) and isinstance(facts.get("id"), str)


def index_names(thing: Any) -> tuple[str, ...] | None:
    """The names of its classes, in the order of their numbers; None: it has none."""
    found = thing.metadata.get("index2label")
    if not found:
        return None
    if not isinstance(found, Mapping) or sorted(map(str, found)) != sorted(
        map(str, range(len(found)))
    ):
        raise InputError(
            f'{thing.metadata["id"]}: expected "index2label" to name the classes 0 to '
            f"{max(0, len(found) - 1)}, got {str(found)[:80]}; leave it out, or name all of them"
        )
    return tuple(str(name) for _, name in sorted((int(number), n) for number, n in found.items()))


def on_host(array: Any) -> np.ndarray[Any, Any]:
    """Whatever makes an array, such as a tensor on a GPU."""
    return np.asarray(array.detach().cpu() if is_tensor(array) else array)


def gives_floats(dataset: Any) -> bool:
    """Whether the images of a data set of MAITE's are floats: so its models want them."""
    return follows_maite(dataset) and on_host(dataset[0][0]).dtype.kind == "f"


def maite_pixels(image: Any, where: str) -> UInt8:
    """The bytes (H, W, 3) of an image (3, H, W), be it bytes or floats from 0, black, to 1. A float
    x becomes the byte round(255 x), halves to even."""
    array = on_host(image)
    if array.ndim != 3 or array.shape[0] != 3:
        raise InputError(
            f"{where}: expected an RGB image (3, H, W), got {array.dtype} {array.shape}; convert "
            "grey ones to three channels"
        )
    if array.dtype.kind == "f":
        low, high = array.min(initial=1), array.max(initial=0)
        if not (low >= 0 and high <= 1):  # nor if one is not a number
            raise InputError(
                f"{where}: expected bytes, or floats from 0 to 1, got {array.dtype} from {low:g} "
                f"to {high:g}; leave normalising to the model"
            )
        array = np.rint(array.astype(np.float64) * 255).astype(np.uint8)
    if array.dtype != np.uint8:
        raise InputError(
            f"{where}: expected uint8, or floats from 0 to 1, got {array.dtype}; convert it"
        )
    return np.ascontiguousarray(np.moveaxis(array, 0, 2))


def maite_image(pixels: UInt8, like: Any) -> np.ndarray[Any, Any]:
    """The image (3, H, W) of bytes (H, W, 3), in floats, b / 255, if the one it is `like` was."""
    made = np.ascontiguousarray(np.moveaxis(pixels, 2, 0))
    kind = on_host(like).dtype
    return (made / 255).astype(kind) if kind.kind == "f" else made
