"""The CPU engine's part for perturbation sequences; see `ops.SequenceOps`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardy.engine.cpu import sequences
from hardy.engine.ops import Window

Bytes = NDArray[np.uint8]
Array = Any


class NumpySequenceOps:
    def canvas(self, images: Bytes) -> Array:
        n, height, width, _ = images.shape
        out = np.empty((n, height + 2, width + 2), np.uint32)
        sequences.lay_out(images, out)
        return out

    def affine(self, canvas: Array, inverse: Sequence[float], window: Window) -> Bytes:
        out = _window(canvas, window)
        sequences.affine_bytes(canvas, np.array(inverse), window[0], window[1], out)
        return out

    def perspective(self, canvas: Array, inverse: Sequence[float], window: Window) -> Bytes:
        out = _window(canvas, window)
        sequences.perspective_bytes(canvas, np.array(inverse), window[0], window[1], out)
        return out

    def slide(self, images: Bytes, right: int, window: Window) -> Bytes:
        out = _window(images, window)
        sequences.slide_bytes(images, right, window[0], window[1], out)
        return out

    def run_down(self, fields: Array, taps: Sequence[float], first: int) -> Array:
        out = np.empty_like(fields)
        sequences.run_down(fields, np.array(taps), first, out)
        return out

    def running_mean(self, images: Bytes, total: Array, count: int) -> tuple[Bytes, Array]:
        out = np.empty_like(images)
        sequences.running_mean(images, total, count, out)
        return out, total


def _window(batch: Array, window: Window) -> Bytes:
    return np.empty((len(batch), window[2], window[3], 3), np.uint8)
