"""Preprocessing on the processor, for models that are not torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.models.model import Preprocessing, UInt8


def resized(images: UInt8, size: int | None, interpolation: str) -> UInt8:
    if size is None or images.shape[1:3] == (size, size):
        return images
    from PIL import Image

    how = Image.Resampling[interpolation.upper()]
    return np.stack([np.asarray(Image.fromarray(i).resize((size, size), how)) for i in images])


def normalised(images: UInt8, preprocessing: Preprocessing) -> npt.NDArray[np.float32]:
    """Float32, and in the order of operations that torch's transforms have."""
    pixels: npt.NDArray[Any] = images.astype(np.float32)
    pixels /= np.float32(255)
    pixels -= np.array(preprocessing.mean, np.float32)
    pixels /= np.array(preprocessing.std, np.float32)
    return pixels
