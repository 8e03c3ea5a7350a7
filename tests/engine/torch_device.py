"""Where the torch engine is tested, on a GPU if there is one, and what it is tested on."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from tests.photos import photos, random_images

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


def moved(array: Any) -> torch.Tensor:
    return torch.tensor(np.asarray(array), device=DEVICE)


def assert_same(result: torch.Tensor, expected: Any) -> None:
    assert result.device.type == DEVICE
    seen = result.cpu().numpy()
    assert seen.dtype == expected.dtype
    np.testing.assert_array_equal(seen, expected)


@contextmanager
def no_waiting() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it does not notice everything
        torch.cuda.set_sync_debug_mode("error")
    try:
        yield
    finally:
        torch.cuda.set_sync_debug_mode("default")


def _extremes(height: int, width: int) -> np.ndarray:
    """Flat areas of black and white with sharp edges: where a last bit decides a byte."""
    images = random_images(3, height, width) // 128 * 255
    images[1, : height // 2] = 255
    images[2] = 0
    images[2, height // 3 :, width // 2 :] = 255
    return images


BATCHES = {
    "photos": np.ascontiguousarray(photos(45, 37)[:3]),
    "random": random_images(3, 26, 41),
    "extremes": _extremes(32, 32),
    "smallest": random_images(1, 8, 8),
    "narrow": random_images(1, 8, 51),
}
