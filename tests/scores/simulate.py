"""Models whose true errors are known, with variants of an image that fail together.

Image i has difficulty z_i ~ N(0, 1); a prediction is wrong when a·z_i + e > t with e ~ N(0, 1) and
a threshold t per cell, so its error is Φ(−t / √(1 + a²)).
"""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

COUPLING = 1.5  # a: a correlation of a²/(1 + a²) = 0.69 between the variants of an image
THRESHOLDS = np.array([[0.8, 0.4, 0.0, -0.4, -0.8], [1.6, 1.2, 0.8, 0.2, -1.2], [0.4] * 5])
CLEAN = 1.4


def true_errors(thresholds: np.ndarray | float) -> np.ndarray:
    return norm.cdf(-np.asarray(thresholds) / np.sqrt(1 + COUPLING**2))


def draw(
    rng: np.random.Generator, images: int, difficulty: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Ranks of the label, 0 or 1: (images,) for clean images, (images, 3, 5) for corrupted ones."""
    z = rng.normal(size=images) if difficulty is None else difficulty
    clean = COUPLING * z + rng.normal(size=images) > CLEAN
    noise = rng.normal(size=(images, *THRESHOLDS.shape))
    cells = COUPLING * z[:, None, None] + noise > THRESHOLDS
    return clean.astype(np.int8), cells.astype(np.int8)
