"""Fixed operators as small host tables: filter weights, disk kernels, zooms, resizes.

They depend on parameters only, are built once in the reference's own arithmetic (the last bit of a
weight can decide a truncated byte) and are handed to whichever backend applies them.
"""

from collections.abc import Callable
from functools import lru_cache
from math import ceil, floor
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardy.engine import portable
from hardy.engine.portable import Float64, Int64
from hardy.engine.tables import frozen

Float32 = NDArray[np.float32]


@lru_cache(maxsize=256)
def gaussian_weights(sigma: float, truncate: float = 4.0) -> Float64:
    """Centre and right half (w_0 .. w_L) of SciPy's sampled Gaussian, L = floor(truncate*sigma+.5).

    sigma = 0 is the identity.
    """
    radius = int(truncate * sigma + 0.5) if sigma > 0 else 0
    factor = -0.5 / (sigma * sigma) if radius else 0.0
    half = np.array([portable.exp(factor * (i * i)) for i in range(radius + 1)])
    whole = np.concatenate([half[:0:-1], half])
    return frozen(half / portable.pairwise_sum(whole))


@lru_cache(maxsize=256)
def trail_weights(radius: float, sigma: float) -> Float64:
    """ImageMagick's one-sided motion kernel: 2*ceil(radius)+1 taps of a half Gaussian."""
    taps = 2 * ceil(radius) + 1
    weights = np.array([portable.exp(-(i * i) / (2.0 * sigma * sigma)) for i in range(taps)])
    return frozen(weights / weights.sum())


@lru_cache(maxsize=64)
def disk_kernel(radius: float, alias: float) -> Float32:
    """The un-renormalised antialiased disk, to the bit as OpenCV builds it with fused operations.

    The grid is 17x17 for every radius up to 8; the antialias window is 3x3 up to there, else 5x5.
    Reflection at the grid's edge inflates the sum (1.013 at radius 8), and it stays inflated.
    """
    reach, window = (8, 1) if radius <= 8 else (int(radius), 2)
    grid = np.arange(-reach, reach + 1)
    disk = (grid[:, None] ** 2 + grid**2 <= radius**2).astype(np.float32)
    disk /= disk.sum(dtype=np.float32)
    taps = np.array([portable.exp(-0.5 * j * j / (alias * alias)) for j in range(window + 1)])
    taps = (taps / (taps[0] + 2 * taps[1:].sum())).astype(np.float32)

    def side_sums(image: Float32, axis: int) -> list[Float32]:
        padded = np.pad(image, window, mode="reflect")
        middle = [slice(window, -window)] * 2
        sums = []
        for j in range(1, window + 1):
            before, after = list(middle), list(middle)
            before[axis] = slice(window - j, -window - j)
            after[axis] = slice(window + j, j - window or None)
            sums.append(padded[tuple(before)] + padded[tuple(after)])
        return sums

    sides = side_sums(disk, axis=1)
    rows = _fma(disk, taps[0], sides[0] * taps[1])
    for side, tap in zip(sides[1:], taps[2:], strict=True):
        rows = _fma(side, tap, rows)
    kernel = rows * taps[0]
    for side, tap in zip(side_sums(rows, axis=0), taps[1:], strict=True):
        kernel = _fma(side, tap, kernel)
    return frozen(kernel)


def _fma(a: Float32, b: np.float32, c: Float32) -> Float32:
    """Fused a*b+c in float32: the double product is exact, so one rounding to float32 remains."""
    return (a.astype(np.float64) * np.float64(b) + c.astype(np.float64)).astype(np.float32)


class DiskPlan(NamedTuple):
    """A disk kernel as (one weight on column runs) + (ring weights on groups of equal pixels)."""

    core_weight: float
    runs: NDArray[np.int32]  # (columns, 3): dx, first dy, last dy of the constant core
    ring_weights: Float64
    ring_starts: NDArray[np.int32]  # group g holds ring_offsets[starts[g]:starts[g + 1]]
    ring_offsets: NDArray[np.int32]  # (pixels, 2): dy, dx


@lru_cache(maxsize=64)
def disk_plan(radius: float, alias: float) -> DiskPlan:
    """Split a disk kernel so that its flat core costs a running sum instead of 300 products."""
    kernel = disk_kernel(radius, alias).astype(np.float64)
    reach = len(kernel) // 2
    # Tails of 1e-22 (alias 0.1) cannot reach a byte: their sum stays below 1e-15 grey levels.
    kernel[kernel < 1e-18] = 0.0
    values, counts = np.unique(kernel[kernel > 0], return_counts=True)
    core_weight = float(values[np.argmax(counts)])
    core = kernel == core_weight
    runs = []
    for column in range(len(kernel)):
        inside = np.flatnonzero(core[:, column])
        if len(inside) and np.all(np.diff(inside) == 1):
            runs.append((column - reach, inside[0] - reach, inside[-1] - reach))
        else:
            core[:, column] = False
    ring = np.where(core, 0.0, kernel)
    weights = np.unique(ring[ring > 0])
    groups = [np.argwhere(ring == weight) - reach for weight in weights]
    return DiskPlan(
        core_weight,
        np.array(runs, np.int32).reshape(-1, 3),
        weights,
        np.cumsum([0, *(len(group) for group in groups)]).astype(np.int32),
        np.concatenate([*groups, np.empty((0, 2), int)]).astype(np.int32),
    )


class Zoom(NamedTuple):
    """Crop [top, top + crop) of one axis, then enlarge it: output k mixes first[k], first[k] + 1.

    Places are counted from the crop's start; `weight` is that of the second tap.
    """

    top: int
    crop: int
    first: Int64
    weight: Float64


@lru_cache(maxsize=1024)
def clipped_zoom(side: int, factor: float) -> Zoom:
    """Crop ceil(side/factor) about the centre, spline-zoom (order 1) by factor, trim to side."""
    crop = ceil(side / factor)
    top = (side - crop) // 2
    out = round(crop * factor)
    trim = (out - side) // 2
    place = np.arange(trim, trim + side) * ((crop - 1) / (out - 1))
    # The last pixel has no second tap: it is the second tap of the one before, in full.
    first = np.minimum(np.floor(place), crop - 2)
    # SciPy keeps 1 - f and takes the second weight as 1 - (1 - f).
    weight = np.minimum(1.0 - (1.0 - (place - first)), 1.0)
    return Zoom(top, crop, frozen(first.astype(np.int64)), frozen(weight))


@lru_cache(maxsize=64)
def zoom_factors(stop: float, step: float) -> tuple[float, ...]:
    """[1, stop) in steps of `step`; floating-point ends include 1.11 and 1.06, as published."""
    return tuple(np.arange(1.0, stop, step).tolist())


class Box(NamedTuple):
    """Pillow's BOX shrink along one axis: `taps` equal taps from `first`, 22-bit weights."""

    first: Int64
    taps: Int64
    weight: Int64


@lru_cache(maxsize=256)
def box_shrink(n_in: int, n_out: int) -> Box:
    scale = n_in / n_out
    support = 0.5 * scale
    inverse = 1.0 / scale
    first, count = np.empty(n_out, np.int64), np.empty(n_out, np.int64)
    for i in range(n_out):
        centre = (i + 0.5) * scale
        low, high = max(int(centre - support + 0.5), 0), min(int(centre + support + 0.5), n_in)
        # Pillow's box is open on the left, and rounding may put an edge tap outside it.
        inside = [j for j in range(low, high) if -0.5 < (j - centre + 0.5) * inverse <= 0.5]
        first[i], count[i] = inside[0], len(inside)
    weight = np.trunc((1.0 / count) * (1 << 22) + 0.5).astype(np.int64)
    return Box(frozen(first), frozen(count), frozen(weight))


@lru_cache(maxsize=256)
def box_enlarge(n_in: int, n_out: int) -> Int64:
    """Pillow's BOX enlargement is a gather: the input index of every output."""
    return frozen(np.array([floor((i + 0.5) * (n_in / n_out)) for i in range(n_out)], np.int64))


def bilinear(n_in: int, n_out: int) -> tuple[Int64, Int64]:
    """Pillow's BILINEAR along one axis: first taps (out,), 22-bit weights (out, taps).

    See `torch.noc_ops.resample`, which does the same on the device.
    """
    return resampling(n_in, n_out, "bilinear")


@lru_cache(maxsize=1024)
def resampling(n_in: int, n_out: int, how: str) -> tuple[Int64, Int64]:
    """Pillow's filters that are antialiased, likewise: each is as wide as the shrinking, cut at the
    ends and normalised there."""
    support, shape = _SHAPES[how]
    scale = n_in / n_out
    wider = max(scale, 1.0)
    reach = support * wider
    centre = (np.arange(n_out) + 0.5) * scale
    first = np.maximum(np.trunc(centre - reach + 0.5), 0.0)
    last = np.minimum(np.trunc(centre + reach + 0.5), n_in)
    tap = first[:, None] + np.arange(int((last - first).max()))
    weight = shape((tap - centre[:, None] + 0.5) * (1.0 / wider))
    weight[tap >= last[:, None]] = 0.0
    total = np.zeros(n_out)
    for column in weight.T:
        total = total + column
    weight = weight / total[:, None] * (1 << 22)
    weight = np.trunc(weight + np.copysign(0.5, weight))
    return frozen(first.astype(np.int64)), frozen(weight.astype(np.int64))


def _triangle(x: Float64) -> Float64:
    return np.maximum(1.0 - np.abs(x), 0.0)


def _cubic(x: Float64) -> Float64:
    """Keys' cubic with a = −1/2."""
    x, a = np.abs(x), -0.5
    inner = ((a + 2.0) * x - (a + 3.0)) * x * x + 1
    outer = (((x - 5) * x + 8) * x - 4) * a
    return np.where(x < 1, inner, np.where(x < 2, outer, 0.0))


def _lanczos(x: Float64) -> Float64:
    return np.where((x >= -3) & (x < 3), np.sinc(x) * np.sinc(x / 3), 0.0)


_SHAPES: dict[str, tuple[float, Callable[[Float64], Float64]]] = {
    "bilinear": (1.0, _triangle),
    "bicubic": (2.0, _cubic),
    "lanczos": (3.0, _lanczos),
}


@lru_cache(maxsize=32)
def smoothing_halves(side: int, sigma: float, truncate: float, border: str) -> Float64:
    """The Gaussian filter of one axis, borders folded in, on its even and on its odd part.

    (2, half, half) with half = ceil(side / 2): inputs and outputs are sums, or differences, of a
    value and its mirror image.
    """
    weights = gaussian_weights(sigma, truncate)
    reach = len(weights) - 1
    matrix = np.zeros((side, side))
    rows = np.arange(side)
    for offset in range(-reach, reach + 1):
        place = rows + offset
        if border == "nearest":
            place = np.clip(place, 0, side - 1)
        else:
            place %= 2 * side
            place = np.where(place < side, place, 2 * side - 1 - place)
        np.add.at(matrix, (rows, place), weights[abs(offset)])
    half = -(-side // 2)
    left, right = matrix[:half, :half], matrix[:half, ::-1][:, :half]
    even = left + right
    if side % 2:
        even[:, -1] = left[:, -1]  # the middle is its own mirror image, and was doubled already
    return frozen(np.stack([even, left - right]))
