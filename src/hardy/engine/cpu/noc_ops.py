"""The primitives of ImageNet-NOC on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardy.engine.cpu import noc_stamps as stamps
from hardy.engine.tables import noc_shapes as stamp_tables

Bytes = NDArray[np.uint8]
Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]


class NumpyStampOps:
    def look_up(self, images: Bytes, tables: Bytes) -> Bytes:
        out = np.empty_like(images)
        stamps.look_up(images, tables, out)
        return out

    def level_sums(self, images: Bytes) -> Int64:
        sums: Int64 = images.reshape(len(images), -1).sum(axis=1, dtype=np.int64)
        return sums

    def box_sums(self, images: Bytes, passes: int) -> Float64:
        out = np.empty(images.shape)
        stamps.box_sums(images, passes, out)
        return out

    def blocks(self, images: Bytes, sides: Int64) -> Bytes:
        out = np.empty_like(images)
        stamps.blocks(images, sides, out)
        return out

    def resample(
        self, images: Bytes, first: Int64, length: Int64, target: Int64, shrink: float
    ) -> Bytes:
        out = np.zeros_like(images)
        between = np.empty((images.shape[1], 3 * images.shape[2]), np.uint8)
        windows = zip(first.tolist(), length.tolist(), target.tolist(), strict=True)
        for image, goal, ((top, left), sides, goals) in zip(images, out, windows, strict=True):
            down, along = map(stamp_tables.bilinear, sides, goals)
            stamps.resample(image, top, left, *down, *along, between, goal)
        return out

    def nearest(self, images: Bytes, maps: Int64) -> Bytes:
        out = np.empty_like(images)
        stamps.nearest(images, maps, out)
        return out

    def last_stamp(
        self, rows: Any, columns: Any, used: Any, stamp: Int64, size: tuple[int, int]
    ) -> Int64:
        out = np.zeros((len(rows), *size), np.int64)
        stamps.stamps(rows, columns, used, stamp, False, out)
        return out

    def stamp_counts(
        self, rows: Any, columns: Any, used: Any, stamp: Int64, size: tuple[int, int]
    ) -> Int64:
        out = np.zeros((len(rows), *size), np.int64)
        stamps.stamps(rows, columns, used, stamp, True, out)
        return out
