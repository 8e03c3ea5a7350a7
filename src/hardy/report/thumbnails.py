"""Pictures as a page has them."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.images.inline import TINY, encode

UInt8 = npt.NDArray[np.uint8]


def reencode(picture: bytes) -> bytes:
    """A thumbnail as a run keeps it, some five times smaller."""
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as opened:
        return encode(np.asarray(opened.convert("RGB")))


def is_tiny(picture: bytes) -> bool:
    from PIL import Image

    with Image.open(io.BytesIO(picture)) as opened:
        return min(opened.size) <= TINY


def strip(images: Sequence[npt.NDArray[Any]]) -> UInt8:
    """Side by side; the page shows one of them at a time."""
    return np.concatenate([np.asarray(image, np.uint8) for image in images], axis=1)
