"""What the 23 corruptions of ImageNet-NOC share: every image draws a strength from a range.

They are called as in the benchmark's code, behind "noc_": some of its names are also ImageNet-C's,
for other formulas. In place of severities there is one range, `low` to `high`. Lengths are those at
224 pixels, see `noc_shapes`. The benchmark is bds-ailab/common_corruption_benchmark.
"""

from typing import Any

from hardy.corrupt.corruption import Fields, Size
from hardy.engine.ops import Array, Ops
from hardy.engine.rng import Draws
from hardy.engine.tables.noc_shapes import lengths


def integers(draws: Draws, name: str, shape: tuple[int, ...], below: Any) -> Array:
    """Whole numbers 0 .. below - 1 as int64, with which every backend can calculate."""
    return draws.integers(name, shape, draws.host([below]) if isinstance(below, int) else below)


def real(draws: Draws, low: float, high: float) -> Fields:
    return {"strength": draws.uniform("strength", (), low, high)}


def whole_strength(draws: Draws, low: float, high: float) -> Fields:
    """Both ends included."""
    first, last = int(low), int(high)
    return {"strength": first + integers(draws, "strength", (), last - first + 1)}


def sign(draws: Draws, name: str = "negative") -> Fields:
    return {name: integers(draws, name, (), 2)}


def grey(draws: Draws, *shape: int) -> Fields:
    """Levels 0 .. 254: a number in 0..1, times 255 and truncated."""
    return {"grey": integers(draws, "grey", shape, 255)}


def draw_real(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    return real(draws, low, high)


def draw_whole(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    return whole_strength(draws, low, high)


def draw_signed(draws: Draws, size: Size, *, low: float, high: float) -> Fields:
    return {**real(draws, low, high), **sign(draws)}


def signed(ops: Ops, strength: Array, negative: Array) -> Array:
    return ops.where(negative == 1, -strength, strength)


def pixels(ops: Ops, fields: Fields, low: float, high: float, size: Size, least: int = 1) -> Array:
    """The drawn length, (N,) int64, in pixels of this size."""
    table = ops.host(lengths(int(low), int(high), min(size), least))
    return table[fields["strength"] - int(low)]


def strength_levels(ops: Ops) -> Array:
    return ops.host(list(range(256)))


def for_all_channels(ops: Ops, images: Array, table: Array) -> Array:
    """The images through a table of bytes each, (N, 256)."""
    return ops.look_up(images, ops.stack([table] * 3))
