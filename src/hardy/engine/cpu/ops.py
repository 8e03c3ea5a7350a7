"""The CPU engine: the primitives of `ops` in NumPy, OpenCV and numba."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from hardy.engine import rng
from hardy.engine.cpu import digital, filters, random, sequences, smears, warps, weather
from hardy.engine.cpu import noc_stamps as stamps
from hardy.engine.cpu.c_bar_ops import FUSED as BAR_FUSED
from hardy.engine.cpu.c_bar_ops import NumpyBarOps
from hardy.engine.cpu.noc_ops import NumpyStampOps
from hardy.engine.cpu.sequence_ops import NumpySequenceOps
from hardy.engine.tables import filter_weights as tables
from hardy.engine.tables import jpeg_constants as jpeg_tables
from hardy.errors import InputError

Bytes = NDArray[np.uint8]
Float64 = NDArray[np.float64]
Array = Any

_BORDERS = {"nearest": filters.NEAREST, "reflect": filters.REFLECT}
# From this many taps a side a filter is cheaper as matrix products.
_MANY_TAPS = 40
_EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.float32)


def _fused(run: Callable[..., None]) -> Callable[..., Bytes]:
    def call(images: Bytes, *arguments: Any) -> Bytes:
        out = np.empty_like(images)
        run(images, *arguments, out)
        return out

    return call


_FUSED = {
    "haze": _fused(weather.haze),
    "whiten": _fused(weather.whiten),
    "frosted": _fused(weather.frosted),
    "splash": _fused(weather.splash),
    "cover": _fused(weather.cover),
    "stretch": _fused(digital.stretch),
    "recolour": _fused(digital.recolour),
    "blanket": _fused(sequences.blanket),
    "brighten": _fused(stamps.brighten),
    "mix": _fused(stamps.mix),
    "fade": _fused(stamps.fade),
    "turn_hue": _fused(stamps.turn_hue),
}


class NumpyOps(NumpySequenceOps, NumpyStampOps, NumpyBarOps):
    name = "cpu"
    # Two photos at 224, a hundred at 32: few enough for the cache of a core, and enough that
    # threads meet seldom at the interpreter lock.
    pixels_at_once = 2 * 224 * 224
    fused: Mapping[str, Callable[..., Array]] = _FUSED | BAR_FUSED

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

    def host(self, table: Any) -> Array:
        return np.asarray(table)

    def cast(self, array: Array, dtype: str) -> Array:
        return array.astype(dtype)

    def float32(self, number: float) -> Any:
        return np.float32(number)

    def float64(self, number: float) -> Any:
        return np.float64(number)

    def join(self, batches: Sequence[Array]) -> Array:
        return np.concatenate(batches)

    def where(self, condition: Array, yes: Any, no: Any) -> Array:
        return np.where(condition, yes, no)

    def maximum(self, a: Any, b: Any) -> Array:
        return np.maximum(a, b)

    def minimum(self, a: Any, b: Any) -> Array:
        return np.minimum(a, b)

    def floor(self, array: Array) -> Array:
        return np.floor(array)

    def ceil(self, array: Array) -> Array:
        return np.ceil(array)

    def stack(self, arrays: Sequence[Array]) -> Array:
        return np.stack(arrays, axis=-1)

    def largest(self, array: Array) -> Array:
        return array.max(axis=tuple(range(1, array.ndim)), keepdims=True)

    def half_turn(self, array: Array) -> Array:
        return array[:, ::-1, ::-1]

    def unit(self, images: Bytes, dtype: str) -> Array:
        kind = np.dtype(dtype).type
        return images.astype(dtype) / kind(255)

    def to_bytes(self, unit: Array) -> Array:
        one = unit.dtype.type(1)
        return (np.clip(unit, 0 * one, one) * unit.dtype.type(255)).astype(np.uint8)

    def to_levels(self, levels: Array) -> Array:
        return np.clip(levels, 0, 255).astype(np.uint8)

    def table_noise(self, images: Bytes, words: Array, table: Array) -> Bytes:
        out = np.empty_like(images)
        random.table_noise(
            images.reshape(-1), words.reshape(-1), table.reshape(-1), out.reshape(-1)
        )
        return out

    def blur(self, images: Bytes, sigma: float, truncate: float = 4.0) -> Bytes:
        out = np.empty_like(images)
        filters.blur_bytes(images, tables.gaussian_weights(sigma, truncate), out)
        return out

    def disk(self, images: Bytes, radius: float, alias: float) -> Bytes:
        out = np.empty_like(images)
        smears.disk_bytes(images, *tables.disk_plan(radius, alias), out)
        return out

    def trail(self, images: Bytes, weights: Float64, rows: Array, columns: Array) -> Bytes:
        out = np.empty_like(images)
        smears.trail_bytes(images, weights, rows, columns, out)
        return out

    def shuffle(self, images: Bytes, moves: Array, reach: int) -> Bytes:
        out = images.copy()
        weather.shuffle_passes(out, moves, reach)
        return out

    def zoom_mean(self, images: Bytes, factors: Sequence[float]) -> Bytes:
        out = np.empty_like(images)
        _, height, width, _ = images.shape
        rows, row_weights = _zoom_tables(height, tuple(factors), 1)
        columns, column_weights = _zoom_tables(width, tuple(factors), 4)
        warps.zoom_mean_bytes(images, rows, row_weights, columns, column_weights, out)
        return out

    def elastic(self, images: Bytes, inverses: Float64, down: Array, along: Array) -> Bytes:
        out = np.empty_like(images)
        warps.elastic_bytes(images, inverses, down, along, out)
        return out

    def channel_means(self, images: Bytes) -> Float64:
        out = np.empty((len(images), 3))
        digital.channel_means(images, out)
        return out

    def crops(
        self,
        sources: Sequence[Bytes],
        which: Array,
        rows: Array,
        columns: Array,
        size: tuple[int, int],
    ) -> Bytes:
        height, width = size
        out = np.empty((len(which), height, width, 3), np.uint8)
        places = zip(which.tolist(), rows.tolist(), columns.tolist(), strict=True)
        for i, (k, y, x) in enumerate(places):
            window = sources[k][y : y + height, x : x + width] if 0 <= k < len(sources) else None
            if window is None or min(y, x) < 0 or window.shape != out.shape[1:]:
                raise InputError(
                    f"expected a window of {height} x {width} in one of {len(sources)} textures, "
                    f"got texture {k} at row {y}, column {x}, which lies outside"
                )
            out[i] = window
        return out

    def pixelate(self, images: Bytes, small: tuple[int, int]) -> Bytes:
        out = np.empty_like(images)
        _, height, width, _ = images.shape
        digital.box_bytes(
            images,
            *tables.box_shrink(height, small[0]),
            *tables.box_shrink(width, small[1]),
            tables.box_enlarge(small[0], height),
            tables.box_enlarge(small[1], width),
            out,
        )
        return out

    def jpeg(self, images: Bytes, quality: int) -> Bytes:
        """OpenCV carries the same libjpeg-turbo as Pillow and reaches it with fewer copies."""
        jpeg_tables.check_sides(*images.shape[1:3])
        out = np.empty_like(images)
        for image, target in zip(images, out, strict=True):
            swapped = cv2.cvtColor(image, cv2.COLOR_RGB2BGR)
            _, data = cv2.imencode(".jpg", swapped, [cv2.IMWRITE_JPEG_QUALITY, quality])
            target[:] = cv2.imdecode(data, cv2.IMREAD_COLOR_RGB)
        return out

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
        weather.plasma_fields(steps, float(decay), out)
        return out

    def relief(self, liquid: Bytes) -> Bytes:
        out = np.empty_like(liquid)
        distance = np.empty(liquid.shape, np.float32)
        edges = np.stack([cv2.Canny(layer, 50, 150) for layer in liquid]) > 0
        digital.chamfer(edges, distance)
        for depth, target in zip(np.minimum(distance, np.float32(20)), out, strict=True):
            even = cv2.equalizeHist(cv2.blur(depth, (3, 3)).astype(np.uint8))
            target[:] = cv2.blur(cv2.filter2D(even, -1, _EMBOSS), (3, 3))
        return out


@lru_cache(maxsize=64)
def _zoom_tables(side: int, factors: tuple[float, ...], step: int) -> tuple[Array, Array]:
    """First taps, `step` values to a pixel, and second weights of each zoom, (K, side)."""
    zooms = [tables.clipped_zoom(side, factor) for factor in factors]
    first = np.stack([(zoom.top + zoom.first) * step for zoom in zooms])
    return first.astype(np.uint32), np.stack([zoom.weight for zoom in zooms]).astype(np.float32)


OPS = NumpyOps()
