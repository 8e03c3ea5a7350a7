"""The filters among the defences, against formulas of their own."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from hardy.models.defences import defend
from hardy.models.defences.input_filters import clahe, median, noise_level, non_local_means
from tests.models.echo import Echo
from tests.photos import photos, random_images

IMAGES = random_images(5, 16, 24, seed=3)
GENERATOR = np.random.default_rng(1)
NOISY = np.clip(photos(24)[3] + GENERATOR.normal(0, 12, (24, 24, 3)), 0, 255).astype(np.uint8)


def test_median_of_nine() -> None:
    image = IMAGES[0]
    padded = np.pad(image, ((1, 1), (1, 1), (0, 0)), mode="edge")
    around = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(0, 1))
    np.testing.assert_array_equal(median(image), np.median(around, axis=(3, 4)))


def equalised(levels: np.ndarray, tiles: int) -> np.ndarray:
    """CLAHE of one channel, from its definition; `tiles` divides both sides."""
    height, width = (side // tiles for side in levels.shape)
    limit = max(1, int(2.0 * height * width / 256))
    tables = np.empty((tiles, tiles, 256))
    for row in range(tiles):
        for column in range(tiles):
            tile = levels[row * height :, column * width :][:height, :width]
            histogram = np.bincount(tile.ravel(), minlength=256)
            excess = int(np.maximum(histogram - limit, 0).sum())
            histogram = np.minimum(histogram, limit) + excess // 256
            if rest := excess % 256:
                histogram[:: max(256 // rest, 1)][:rest] += 1
            tables[row, column] = np.rint(histogram.cumsum() * 255 / (height * width))
    y, x = ((np.arange(side * tiles) / side - 0.5) for side in (height, width))
    rows, columns = np.floor(y).astype(int), np.floor(x).astype(int)
    down, across = (y - rows)[:, None], (x - columns)[None, :]
    result = np.zeros(levels.shape)
    for lower, share_y in ((0, 1 - down), (1, down)):
        for later, share_x in ((0, 1 - across), (1, across)):
            at = (
                np.clip(rows + lower, 0, tiles - 1)[:, None],
                np.clip(columns + later, 0, tiles - 1),
            )
            result += share_y * share_x * tables[at[0], at[1][None, :], levels]
    return np.clip(np.rint(result), 0, 255).astype(np.uint8)


@pytest.mark.parametrize(("side", "tiles"), [(16, 2), (32, 2), (84, 3), (224, 8), (248, 8)])
def test_clahe_equalises_the_luminance_tile_by_tile(side, tiles) -> None:
    image = photos(side)[2]
    lab = cv2.cvtColor(image, cv2.COLOR_RGB2LAB)
    lab[..., 0] = equalised(lab[..., 0], tiles)
    expected = cv2.cvtColor(lab, cv2.COLOR_LAB2RGB).astype(int)
    apart = np.abs(clahe(image) - expected)
    assert (apart > 2).mean() < 1e-3
    assert np.abs(expected - image).mean() > 3


def test_the_noise_of_a_flat_image_is_found() -> None:
    image = np.clip(120 + np.random.default_rng(0).normal(0, 9, (200, 201, 3)), 0, 255)
    assert noise_level(image.astype(np.uint8)) == pytest.approx(9, rel=0.03)


def test_the_noise_is_the_median_of_diagonal_differences() -> None:
    image = IMAGES[1]
    channels = []
    for channel in image.transpose(2, 0, 1).astype(float):
        blocks = channel.reshape(8, 2, 12, 2).swapaxes(1, 2).reshape(-1, 4)
        channels.append(np.median(abs(blocks @ [0.5, -0.5, -0.5, 0.5])) / 0.6745)
    assert noise_level(image) == pytest.approx(np.mean(channels))


def weighed(channels: np.ndarray, strength: float) -> np.ndarray:
    """Non-local means, from its definition: patches of 7, a window of 21, edges mirrored."""
    height, width, number = channels.shape
    padded = np.pad(channels.astype(float), ((13, 13), (13, 13), (0, 0)), mode="reflect")
    total, weights = np.zeros(channels.shape), np.zeros((height, width, 1))
    centre = padded[10 : 10 + height + 6, 10 : 10 + width + 6]
    for y in range(21):
        for x in range(21):
            moved = padded[y : y + height + 6, x : x + width + 6]
            squares = ((moved - centre) ** 2).sum(axis=2)
            patches = np.lib.stride_tricks.sliding_window_view(squares, (7, 7)).mean(axis=(2, 3))
            weight = np.exp(-patches / (strength**2 * number))[..., None]
            total += weight * moved[3:-3, 3:-3]
            weights += weight
    return np.rint(total / weights).astype(np.uint8)


def test_non_local_means_by_the_noise_of_the_image() -> None:
    strength = noise_level(NOISY) / 2
    lab = cv2.cvtColor(NOISY, cv2.COLOR_LRGB2LAB)
    clean = np.concatenate([weighed(lab[..., :1], strength), weighed(lab[..., 1:], strength)], 2)
    expected = cv2.cvtColor(clean, cv2.COLOR_LAB2LRGB).astype(int)
    apart = np.abs(non_local_means(NOISY) - expected)
    assert apart.mean() < 0.5
    assert np.abs(expected - NOISY).mean() > 5


def test_images_without_noise_pass_unchanged() -> None:
    ramp = np.repeat(np.arange(60, 92, dtype=np.uint8)[None, :, None], 32, axis=0).repeat(3, axis=2)
    assert noise_level(ramp) == 0
    assert non_local_means(ramp) is ramp
    echo = Echo()
    defend(echo, "nlm").logits(np.stack([ramp, np.resize(NOISY, (32, 32, 3))]))
    np.testing.assert_array_equal(echo.shown[0], ramp)
