"""Philox4x32-10 as it was published, which every back end has to give."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hardy.engine import rng


def philox4x32(counter: NDArray[np.uint32], key: tuple[int, int]) -> NDArray[np.uint32]:
    """The published function, readable: counter (..., 4) -> four random words (..., 4)."""
    c0, c1, c2, c3 = (counter[..., i].astype(np.uint64) for i in range(4))
    k0, k1 = key
    for _ in range(rng.ROUNDS):
        p0, p1 = c0 * np.uint64(rng.MULTIPLIERS[0]), c2 * np.uint64(rng.MULTIPLIERS[1])
        high0, low0 = p0 >> np.uint64(32), p0 & np.uint64(rng.LOW_32)
        high1, low1 = p1 >> np.uint64(32), p1 & np.uint64(rng.LOW_32)
        c0, c1, c2, c3 = high1 ^ c1 ^ np.uint64(k0), low1, high0 ^ c3 ^ np.uint64(k1), low0
        k0, k1 = (k0 + rng.KEY_STEPS[0]) & rng.LOW_32, (k1 + rng.KEY_STEPS[1]) & rng.LOW_32
    return np.stack([c0, c1, c2, c3], axis=-1).astype(np.uint32)
