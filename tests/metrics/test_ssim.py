"""MS-SSIM against scikit-image's SSIM, scale by scale."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter
from skimage.metrics import structural_similarity

from hardy.errors import InputError
from hardy.metrics.ssim import WEIGHTS, ms_ssim, scales_for


def photo(height: int, width: int, seed: int) -> np.ndarray:
    field = np.random.default_rng(seed).normal(size=(height, width, 3))
    smooth = gaussian_filter(field, (4, 4, 0)) * 6
    return np.clip(127 + 60 * (smooth + 0.1 * field), 0, 255).astype(np.uint8)


def independent(a: np.ndarray, b: np.ndarray, weights: list[float]) -> float:
    """scikit-image gives SSIM = luminance × contrast-structure; a huge K1 makes luminance 1."""
    x, y = (np.dot(image, [0.299, 0.587, 0.114]) for image in (a, b))
    settings = {"gaussian_weights": True, "sigma": 1.5, "use_sample_covariance": False}
    product = 1.0
    for scale, weight in enumerate(weights):
        k1 = 0.01 if scale == len(weights) - 1 else 1e7
        term = structural_similarity(x, y, data_range=255, K1=k1, **settings)
        product *= max(term, 0) ** weight
        pads = [(0, side % 2) for side in x.shape]
        x, y = (np.pad(image, pads, mode="symmetric") for image in (x, y))
        x, y = (
            image.reshape(image.shape[0] // 2, 2, image.shape[1] // 2, 2).mean(axis=(1, 3))
            for image in (x, y)
        )
    return product


@pytest.mark.parametrize(
    ("height", "width", "scales"), [(224, 224, 5), (179, 203, 5), (64, 64, 3), (32, 40, 2)]
)
def test_against_scikit_image(height: int, width: int, scales: int) -> None:
    assert scales_for(height, width) == scales
    weights = [w / (1 if scales == 5 else sum(WEIGHTS[:scales])) for w in WEIGHTS[:scales]]
    clean = np.stack([photo(height, width, seed) for seed in range(3)])
    noise = np.random.default_rng(9).normal(0, 40, clean.shape)
    noisy = np.clip(clean + noise, 0, 255).astype(np.uint8)
    noisy[1] = gaussian_filter(clean[1], (2, 2, 0))
    noisy[2] = clean[2] // 2 + 100
    found = ms_ssim(noisy, clean)
    for one, a, b in zip(found, noisy, clean, strict=True):
        assert one == pytest.approx(independent(a, b, weights), abs=1e-9)
        assert 0.05 < one < 0.99


def test_equal_images_and_worse_ones() -> None:
    clean = photo(96, 96, 1)[None]
    assert ms_ssim(clean, clean) == pytest.approx([1.0])
    rng = np.random.default_rng(2)
    steps = [np.clip(clean + rng.normal(0, s, clean.shape), 0, 255) for s in (5, 15, 45, 135)]
    values = [ms_ssim(step.astype(np.uint8), clean)[0] for step in steps]
    assert values == sorted(values, reverse=True)


def test_inverted_structure_is_0_not_a_nan() -> None:
    clean = photo(64, 64, 3)[None]
    assert ms_ssim(255 - clean, clean) == [0.0]


def test_batch_of_one_is_a_row_of_a_batch() -> None:
    a = np.stack([photo(40, 48, seed) for seed in range(4)])
    b = a[::-1].copy()
    assert ms_ssim(a, b)[2] == ms_ssim(a[2:3], b[2:3])[0]


def test_scales() -> None:
    """A scale of 2 × 2 means has the larger half of an odd side."""
    assert [scales_for(s, 999) for s in (10, 11, 20, 21, 161, 160)] == [0, 1, 1, 2, 5, 4]


def test_refusals() -> None:
    small = np.zeros((1, 10, 40, 3), np.uint8)
    with pytest.raises(InputError, match="at least 11 × 11 pixels, the size of the window, got 10"):
        ms_ssim(small, small)
    with pytest.raises(InputError, match="two uint8 batches of the same shape"):
        ms_ssim(small, small[0])
    with pytest.raises(InputError, match="expected uint8 images, got float64"):
        ms_ssim(small * 1.0, small)  # type: ignore[arg-type]
