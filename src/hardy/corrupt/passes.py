"""Runs a corruption on a batch, a cache-sized part at a time."""

from collections.abc import Callable, Mapping
from typing import Any

from hardy.corrupt.corruption import Corruption, Fields
from hardy.engine.ops import Array, Ops, cpu_ops, ops_for, out_of_memory
from hardy.engine.rng import Draws

Params = Mapping[str, Any]

# Plain array arithmetic holds some 200 bytes for each pixel (noc_hue): not more than 3 GB.
PIXELS_IN_STEPS = 256 * 224 * 224


def run_pass(
    corruption: Corruption, images: Array, params: Params, *, key: int, ids: Array
) -> Array:
    """Images (N, H, W, 3) uint8, contiguous -> the same, new; ids are N 64-bit numbers."""
    ops = ops_for(images)
    count, height, width, _ = images.shape
    size = (height, width)

    def corrupted(some: slice) -> Array:
        fields = corruption.draw(Draws(ops, key, ids[some]), size, **params)
        return corruption.apply(ops, images[some], fields, **params)

    most = ops.pixels_at_once
    if ops.kernels.isdisjoint(corruption.steps):
        most = min(most, PIXELS_IN_STEPS)
    return in_parts(ops, corrupted, count, most // (height * width))


def in_parts(ops: Ops, work: Callable[[slice], Array], count: int, part: int) -> Array:
    """A part at a time. What does not fit into a device's memory is tried again in halves."""
    part = max(1, part)
    done, start = [], 0
    while start < count:
        part = min(part, count - start)
        try:
            done.append(work(slice(start, start + part)))
        except Exception as error:
            if part == 1 or not out_of_memory(error):
                raise
        else:
            start += part
            continue
        # Only here, after `error`, does nothing hold on to the arrays that filled up.
        part //= 2
    return done[0] if len(done) == 1 else ops.join(done)


def draw_pass(
    corruption: Corruption, size: tuple[int, int], params: Params, *, key: int, ids: Array
) -> dict[str, Array]:
    """The fields that `run` draws for images of `size`, one leading row per id."""
    return dict(corruption.draw(Draws(cpu_ops(), key, ids), size, **params))


class _Extreme(Draws):
    """Every draw is the least that it can be, or the greatest."""

    def __init__(self, ops: Ops, ids: Array, greatest: bool) -> None:
        super().__init__(ops, 0, ids)
        self._greatest = greatest

    def words(self, name: str, shape: tuple[int, ...]) -> Array:
        words = super().words(name, shape)
        return words | 0xFFFF_FFFF if self._greatest else words & 0


def extremes(
    corruption: Corruption, size: tuple[int, int], params: Params, *, ids: Array
) -> tuple[Fields, Fields]:
    """The least and the greatest that can be drawn, for whole numbers that depend on no others."""
    least, greatest = (
        corruption.draw(_Extreme(cpu_ops(), ids, end), size, **params) for end in (False, True)
    )
    return least, greatest


def replay_pass(corruption: Corruption, images: Array, params: Params, fields: Fields) -> Array:
    """The corruption with given fields instead of drawn ones."""
    ops = ops_for(images)
    moved = {name: ops.host(field) for name, field in fields.items()}
    return corruption.apply(ops, images, moved, **params)
