"""The CPU engine: the primitives of `ops` in NumPy, OpenCV and numba."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

import cv2
import numpy as np
from numpy.typing import NDArray

from hardy.engine import rng
from hardy.engine.cpu import (
    boxes,
    c_bar_noise,
    c_bar_shapes,
    c_bar_warps,
    fields,
    filters,
    frames,
    noc_ops,
    points,
    random,
    smears,
    warps,
)
from hardy.engine.door import UInt8
from hardy.engine.ops import Array, Window, one_by_one
from hardy.engine.portable import Float64, Int64
from hardy.engine.tables import filter_weights as tables
from hardy.engine.tables import jpeg_constants
from hardy.engine.tables.filter_weights import Float32

_Filled = TypeVar("_Filled")

_BORDERS = {"nearest": filters.NEAREST, "reflect": filters.REFLECT}
# From this many taps a side a filter is cheaper as matrix products.
_MANY_TAPS = 40


def _filled(kernel: Callable[..., None]) -> Callable[..., UInt8]:
    """A kernel that fills its last argument, as a function that returns a new image.

    Arguments are laid out whole: what came out of a comparison of axes may be a view.
    """

    def call(images: UInt8, *arguments: Any) -> UInt8:
        laid = (np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in arguments)
        out = np.empty(images.shape, np.uint8)
        return _fill(out, kernel, np.ascontiguousarray(images), *laid)

    return call


def _fill(out: _Filled, kernel: Callable[..., None], *arguments: Any) -> _Filled:
    """What a kernel has filled, which is its last argument."""
    kernel(*arguments, out)
    return out


def _stamps(
    rows: Any, columns: Any, used: Any, stamp: Int64, size: tuple[int, int], counted: bool
) -> Int64:
    out = np.zeros((len(rows), *size), np.int64)
    return _fill(out, noc_ops.stamps, rows, columns, used, stamp, counted)


def _caustics(images: UInt8, time: Float64, scale: Float64) -> Float64:
    return _fill(np.empty(images.shape[:3]), c_bar_warps.caustics, time, scale)


def _glisten(liquid: UInt8, relief: UInt8, strength: float) -> Float32:
    return _fill(np.empty(liquid.shape, np.float32), points.glisten, liquid, relief, strength)


_FUSED: dict[str, Callable[..., Array]] = {
    kernel.__name__: _filled(kernel)
    for kernel in (
        *(points.haze, points.whiten, points.flakes, points.frosted),
        *(points.splash, points.cover, points.stretch, points.recolour, points.blanket),
        *(noc_ops.brighten, noc_ops.mix, noc_ops.fade, noc_ops.turn_hue),
        *(c_bar_noise.blacken, c_bar_noise.add_noises, c_bar_noise.stir, c_bar_noise.cloud),
        *(c_bar_shapes.chequer, c_bar_shapes.ring, c_bar_shapes.stripe, c_bar_shapes.sparkle),
        *(c_bar_shapes.window, c_bar_shapes.rule),
        *(c_bar_warps.displace, c_bar_warps.fringe, c_bar_warps.refract, c_bar_warps.spin),
    )
} | {"caustics": _caustics, "glisten": _glisten}


class NumpyOps:
    name = "cpu"
    # Two photos at 224, a hundred at 32: few enough for the cache of a core, and enough that
    # threads meet seldom at the interpreter lock.
    pixels_at_once = 2 * 224 * 224
    fused: Mapping[str, Callable[..., Array]] = _FUSED
    kernels: frozenset[str] = frozenset()  # a part is small anyway

    # Random words and what is made of them.
    def words(self, key: int, ids: NDArray[np.uint64], stream: int, count: int) -> Array:
        out = np.empty((len(ids), -(-count // 4), 4), np.uint32)
        random.philox_words(np.uint64(key), ids, np.uint32(stream), out)
        return np.ascontiguousarray(out.reshape(len(ids), out.shape[1] * 4)[:, :count])

    def uniform(self, words: Array, low: float, high: float) -> Float64:
        out = np.empty(words.shape)
        random.uniforms(words.reshape(-1), float(low), float(high), out.reshape(-1))
        return out

    def normal(self, words: Array) -> Float64:
        out = np.empty(words.shape)
        random.normals(words.reshape(-1), rng.normal_segments(), out.reshape(-1))
        return out

    def scaled(self, words: Array, below: Any) -> Array:
        if isinstance(below, np.ndarray):
            scaled = words.astype(np.uint64) * below.astype(np.uint64) >> np.uint64(32)
            return scaled.astype(np.int64)
        out = np.empty_like(words)
        random.scaled(words.reshape(-1), np.uint64(below), out.reshape(-1))
        return out

    # Arrays.
    host = staticmethod(np.asarray)
    float32 = staticmethod(np.float32)
    float64 = staticmethod(np.float64)
    join = staticmethod(np.concatenate)
    where = staticmethod(np.where)
    maximum = staticmethod(np.maximum)
    minimum = staticmethod(np.minimum)
    floor = staticmethod(np.floor)
    ceil = staticmethod(np.ceil)

    def cast(self, array: Array, dtype: str) -> Array:
        return array.astype(dtype)

    def stack(self, arrays: Sequence[Array]) -> Array:
        return np.stack(arrays, axis=-1)

    def largest(self, array: Array) -> Array:
        return array.max(axis=tuple(range(1, array.ndim)), keepdims=True)

    def half_turn(self, array: Array) -> Array:
        return array[:, ::-1, ::-1]

    # Between bytes and numbers.
    def unit(self, images: UInt8, dtype: str) -> Array:
        kind = np.dtype(dtype).type
        return images.astype(dtype) / kind(255)

    def to_bytes(self, unit: Array) -> Array:
        one = unit.dtype.type(1)
        levels = np.clip(unit, 0 * one, one)
        levels *= unit.dtype.type(255)
        return levels.astype(np.uint8)

    def to_levels(self, levels: Array) -> Array:
        return np.clip(levels, 0, 255).astype(np.uint8)

    # Images to images.
    def table_noise(self, images: UInt8, words: Array, table: Array) -> UInt8:
        out = np.empty_like(images)
        random.table_noise(
            images.reshape(-1), words.reshape(-1), table.reshape(-1), out.reshape(-1)
        )
        return out

    def blur(self, images: UInt8, sigma: float, truncate: float = 4.0) -> UInt8:
        weights = tables.gaussian_weights(sigma, truncate)
        return _fill(np.empty_like(images), filters.blur_bytes, images, weights)

    def disk(self, images: UInt8, radius: float, alias: float) -> UInt8:
        plan = tables.disk_plan(radius, alias)
        return _fill(np.empty_like(images), smears.disk_bytes, images, *plan)

    trail = staticmethod(_filled(smears.trail_bytes))

    def shuffle(self, images: UInt8, moves: Array, reach: int) -> UInt8:
        out = images.copy()
        fields.shuffle_passes(out, moves, reach)
        return out

    zoom_mean = staticmethod(warps.zoom_mean)
    elastic = staticmethod(_filled(warps.elastic_bytes))

    def channel_means(self, images: UInt8) -> Float64:
        return _fill(np.empty((len(images), 3)), points.channel_means, images)

    crops = staticmethod(boxes.crops)
    pixelate = staticmethod(boxes.pixelate)

    def jpeg(self, images: UInt8, quality: int) -> UInt8:
        """OpenCV carries the same libjpeg-turbo as Pillow and reaches it with fewer copies."""
        jpeg_constants.check_sides(*images.shape[1:3])
        done: list[Any] = []
        for image in images:
            swapped = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
            _, data = cv2.imencode(".jpg", swapped, [cv2.IMWRITE_JPEG_QUALITY, quality])
            done.append(cv2.imdecode(data, cv2.IMREAD_COLOR_RGB))
        return done[0][None] if len(done) == 1 else np.stack(done)

    # Fields.
    def smooth(self, fields: Float64, sigma: float, truncate: float, border: str) -> Float64:
        out = np.empty_like(fields)
        weights = tables.gaussian_weights(sigma, truncate)
        if len(weights) <= _MANY_TAPS:
            filters.smooth_fields(fields, weights, _BORDERS[border], out)
        else:
            down, along = (
                tables.smoothing_halves(side, sigma, truncate, border) for side in fields.shape[1:]
            )
            filters.smooth_by_halves(fields, down, along, out)
        return out

    def zoom(self, fields: Float64, factor: float, size: tuple[int, int]) -> Float64:
        if factor == 1:
            return fields
        out = np.empty((len(fields), *size))
        down, along = (tables.clipped_zoom(side, factor) for side in size)
        warps.zoom_fields(fields, down.first, down.weight, along.first, along.weight, out)
        return out

    def plasma(self, steps: Float64, decay: float, side: int) -> Float64:
        out = np.empty((len(steps), side, side))
        return _fill(out, fields.plasma_fields, steps, float(decay))

    relief = staticmethod(fields.relief)

    # Sequences.
    def canvas(self, images: UInt8) -> Array:
        n, height, width, _ = images.shape
        return _fill(np.empty((n, height + 2, width + 2), np.uint32), frames.lay_out, images)

    def affine(self, canvas: Array, inverse: Sequence[float], window: Window) -> UInt8:
        place = (np.array(inverse), *window[:2])
        return _fill(_window(canvas, window), frames.affine_bytes, canvas, *place)

    def perspective(self, canvas: Array, inverse: Sequence[float], window: Window) -> UInt8:
        place = (np.array(inverse), *window[:2])
        return _fill(_window(canvas, window), frames.perspective_bytes, canvas, *place)

    def slide(self, images: UInt8, right: int, window: Window) -> UInt8:
        return _fill(_window(images, window), frames.slide_bytes, images, right, *window[:2])

    def affines(self, canvas: Array, inverses: Sequence[Any], window: Window) -> Iterable[UInt8]:
        return one_by_one(self.affine)(canvas, inverses, window)

    def perspectives(
        self, canvas: Array, inverses: Sequence[Any], window: Window
    ) -> Iterable[UInt8]:
        return one_by_one(self.perspective)(canvas, inverses, window)

    def slides(self, images: UInt8, right: Sequence[int], window: Window) -> Iterable[UInt8]:
        return one_by_one(self.slide)(images, right, window)

    def run_down(self, fields: Array, taps: Sequence[float], first: int) -> Array:
        return _fill(np.empty_like(fields), frames.run_down, fields, np.array(taps), first)

    def running_mean(self, images: UInt8, total: Array, count: int) -> tuple[UInt8, Array]:
        return _fill(np.empty_like(images), frames.running_mean, images, total, count), total

    # ImageNet-NOC.
    look_up = staticmethod(_filled(noc_ops.look_up))
    blocks = staticmethod(_filled(noc_ops.blocks))
    nearest = staticmethod(_filled(noc_ops.nearest))

    def level_sums(self, images: UInt8) -> Int64:
        sums: Int64 = images.reshape(len(images), -1).sum(axis=1, dtype=np.int64)
        return sums

    def box_sums(self, images: UInt8, passes: int) -> Float64:
        return _fill(np.empty(images.shape), noc_ops.box_sums, images, passes)

    def resample(
        self, images: UInt8, first: Int64, length: Int64, target: Int64, shrink: float
    ) -> UInt8:
        out = np.zeros_like(images)
        between = np.empty((images.shape[1], 3 * images.shape[2]), np.uint8)
        windows = zip(first.tolist(), length.tolist(), target.tolist(), strict=True)
        for image, goal, ((top, left), sides, goals) in zip(images, out, windows, strict=True):
            down, along = map(tables.bilinear, sides, goals)
            noc_ops.resample(image, top, left, *down, *along, between, goal)
        return out

    last_stamp = staticmethod(partial(_stamps, counted=False))
    stamp_counts = staticmethod(partial(_stamps, counted=True))

    # ImageNet-C-bar.
    sqrt = staticmethod(np.sqrt)

    def power(self, base: Float64, exponent: float) -> Float64:
        out = np.empty(base.shape)
        points.powers(np.ascontiguousarray(base).reshape(-1), float(exponent), out.reshape(-1))
        return out

    def order(self, words: Array) -> Array:
        return words.argsort(axis=-1, kind="stable")

    def shifted(self, fields: Float64, down: int, right: int) -> Float64:
        _, height, width = fields.shape
        out = np.zeros_like(fields)
        out[:, max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)] = (
            fields[:, max(-down, 0) : height - max(down, 0), max(-right, 0) : width - max(right, 0)]
        )
        return out

    wave_noise = staticmethod(c_bar_noise.wave_noise)


def _window(batch: Array, window: Window) -> UInt8:
    return np.empty((len(batch), window[2], window[3], 3), np.uint8)


OPS = NumpyOps()
