"""MS-SSIM to the clean image: how far a corruption takes an image from where it was.

Wang, Simoncelli & Bovik 2003, on luma Y = 0.299 R + 0.587 G + 0.114 B in 0..255: 11 × 11 Gaussian
window of σ = 1.5, only where it fits into the image; population moments; K1 = 0.01, K2 = 0.03; five
scales, each the 2 × 2 means of the one before (an odd last row or column is repeated). An image too
small for five scales uses as many as the window fits into, with the first weights divided by
their sum.
"""

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from hardy.errors import InputError
from hardy.metrics.classification import Floats

WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
WINDOW, SIGMA = 11, 1.5
_C1, _C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
_LUMA = np.array([0.299, 0.587, 0.114])
_BELL = np.exp(-((np.arange(WINDOW) - WINDOW // 2) ** 2) / (2 * SIGMA**2))
_GAUSSIAN = _BELL / _BELL.sum()


def scales_for(height: int, width: int) -> int:
    """How many of the five scales an image of that size has."""
    side, scales = min(height, width), 0
    while side >= WINDOW and scales < len(WEIGHTS):
        scales += 1
        side = (side + 1) // 2
    return scales


def ms_ssim(images: npt.NDArray[np.uint8], clean: npt.NDArray[np.uint8]) -> Floats:
    """Per image of two uint8 batches (N, H, W, 3): 1 where equal, towards 0 the further apart.

    Π_j cs_j^w_j · l_M^w_M with cs_j the mean contrast-structure term of scale j and l the luminance
    term, which counts at the last scale only. A negative mean (inverted structure) counts as 0.
    """
    if images.shape != clean.shape or images.ndim != 4 or images.shape[-1] != 3:
        raise InputError(
            "expected two uint8 batches of the same shape (N, H, W, 3), got shapes "
            f"{images.shape} and {clean.shape}"
        )
    if images.dtype != np.uint8 or clean.dtype != np.uint8:
        raise InputError(f"expected uint8 images, got {images.dtype} and {clean.dtype}")
    scales = scales_for(*images.shape[1:3])
    if scales == 0:
        raise InputError(
            f"expected images of at least {WINDOW} × {WINDOW} pixels, the size of the window, got "
            f"{images.shape[1]} × {images.shape[2]}"
        )
    weights = np.array(WEIGHTS[:scales]) / (
        1.0 if scales == len(WEIGHTS) else sum(WEIGHTS[:scales])
    )
    # One image at a time: the moments of a batch would take 40 times its own memory.
    return np.array(
        [_one(a @ _LUMA, b @ _LUMA, weights) for a, b in zip(images, clean, strict=True)]
    )


def _one(x: Floats, y: Floats, weights: Floats) -> float:
    product = 1.0
    for scale, weight in enumerate(weights):
        if scale:
            x, y = _half(x), _half(y)
        mean_x, mean_y = _window(x), _window(y)
        variances = _window(x * x + y * y) - mean_x**2 - mean_y**2
        covariance = _window(x * y) - mean_x * mean_y
        terms = (2 * covariance + _C2) / (variances + _C2)
        if scale == len(weights) - 1:
            terms *= (2 * mean_x * mean_y + _C1) / (mean_x**2 + mean_y**2 + _C1)
        product *= max(float(terms.mean()), 0.0) ** weight
    return product


def _half(image: Floats) -> Floats:
    height, width = image.shape
    even = np.pad(image, ((0, height % 2), (0, width % 2)), mode="edge")
    return (even[::2, ::2] + even[1::2, ::2] + even[::2, 1::2] + even[1::2, 1::2]) / 4


def _window(image: Floats) -> Floats:
    """The Gaussian-weighted mean, without BLAS, whose threads would wait for one another in each
    of the caller's."""
    down = np.einsum("ijk,k->ij", sliding_window_view(image, WINDOW, axis=0), _GAUSSIAN)
    means: Floats = np.einsum("ijk,k->ij", sliding_window_view(down, WINDOW, axis=1), _GAUSSIAN)
    return means
