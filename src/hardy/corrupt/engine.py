"""Runs a corruption on a batch, a cache-sized part at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hardy.arrays.ops import Array, cpu_ops, ops_for
from hardy.arrays.rng import Draws
from hardy.corrupt.corruption import Corruption, Fields

Params = Mapping[str, Any]


def run(corruption: Corruption, images: Array, params: Params, *, key: int, ids: Array) -> Array:
    """Images (N, H, W, 3) uint8, contiguous -> the same, new; ids are N 64-bit numbers."""
    ops = ops_for(images)
    count, height, width, _ = images.shape
    size = (height, width)
    part = max(1, ops.pixels_at_once // (height * width))
    done = []
    for start in range(0, count, part):
        batch, numbers = images[start : start + part], ids[start : start + part]
        fields = corruption.draw(Draws(ops, key, numbers), size, **params)
        done.append(corruption.apply(ops, batch, fields, **params))
    return done[0] if len(done) == 1 else ops.join(done)


def draw(
    corruption: Corruption, size: tuple[int, int], params: Params, *, key: int, ids: Array
) -> dict[str, Array]:
    """The fields that `run` draws for images of `size`, one leading row per id."""
    return dict(corruption.draw(Draws(cpu_ops(), key, ids), size, **params))


def replay(corruption: Corruption, images: Array, params: Params, fields: Fields) -> Array:
    """The corruption with given fields instead of drawn ones."""
    ops = ops_for(images)
    moved = {name: ops.host(field) for name, field in fields.items()}
    return corruption.apply(ops, images, moved, **params)
