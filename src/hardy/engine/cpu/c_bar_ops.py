"""The CPU engine's part for ImageNet-C-bar: see `ops.BarOps` and the formulas in corrupt.bar_*."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hardy.engine import portable
from hardy.engine.cpu import c_bar_noise as bar_noise
from hardy.engine.cpu import c_bar_shapes as bar_shapes
from hardy.engine.cpu import c_bar_warps as bar_warps
from hardy.engine.cpu import maths, waves
from hardy.engine.tables.c_bar_waves import WavePlan

Bytes = NDArray[np.uint8]
Float64 = NDArray[np.float64]
Array = Any


class NumpyBarOps:
    def sqrt(self, array: Array) -> Array:
        return np.sqrt(array)

    def power(self, base: Float64, exponent: float) -> Float64:
        out = np.empty(base.shape)
        maths.powers(np.ascontiguousarray(base).reshape(-1), float(exponent), out.reshape(-1))
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

    def wave_noise(self, phases: Float64, plan: WavePlan, width: int) -> Float64:
        count, height = phases.shape[0] * phases.shape[1], phases.shape[2]
        flat = phases.reshape(count, -1)
        cosines, sines = np.empty_like(flat), np.empty_like(flat)
        maths.cosines_and_sines(flat.reshape(-1), cosines.reshape(-1), sines.reshape(-1))
        half = np.empty((2, count, plan.first.size))
        tables = (table.reshape(-1) for table in plan)
        bar_noise.half_spectra(cosines, sines, *tables, half[0], half[1])
        real, imaginary = half.reshape(2, count, *plan.first.shape)
        fields = np.empty((count, height, width))
        waves.real_fields(real, imaginary, _chirp(height), _chirp(width), fields)
        bar_noise.divide_by_deviation(fields.reshape(count, -1))
        return fields.reshape(*phases.shape[:2], height, width)


@lru_cache(maxsize=16)
def _chirp(n: int) -> tuple[Float64, Float64, Float64]:
    """For transforms of length n: exp(pi i j^2 / n); the spectrum of its conjugate; twiddles."""
    m = 1 << (2 * n - 2).bit_length()
    # Squares count modulo 2 n, a whole turn.
    angle = np.array([j * j % (2 * n) for j in range(n)]) * (portable.PI / n)
    chirp = np.stack([portable.cosine(angle), portable.sine(angle)])
    turn = np.arange(m // 2) * (2.0 * portable.PI / m)
    twiddle = np.stack([portable.cosine(turn), -portable.sine(turn)])
    spectrum = np.zeros((2, m, 1))
    spectrum[:, :n, 0] = chirp * np.array([[1.0], [-1.0]])
    spectrum[:, m - n + 1 :, 0] = spectrum[:, n - 1 : 0 : -1, 0]
    waves.transform(spectrum[0], spectrum[1], twiddle)
    return chirp, spectrum[:, :, 0] * (1.0 / m), twiddle


def _filled(run: Callable[..., None]) -> Callable[..., Bytes]:
    """Arguments laid out whole: what came out of a comparison of axes may be a view."""

    def call(images: Bytes, *arguments: Any) -> Bytes:
        out = np.empty(images.shape, np.uint8)
        laid = (np.ascontiguousarray(a) if isinstance(a, np.ndarray) else a for a in arguments)
        run(np.ascontiguousarray(images), *laid, out)
        return out

    return call


def _caustics(images: Bytes, time: Float64, scale: Float64) -> Float64:
    out = np.empty(images.shape[:3])
    bar_warps.caustics(time, scale, out)
    return out


FUSED: dict[str, Callable[..., Array]] = {
    kernel.__name__: _filled(kernel)
    for kernel in (
        *(bar_noise.blacken, bar_noise.add_noises, bar_noise.stir, bar_noise.cloud),
        *(bar_shapes.chequer, bar_shapes.ring, bar_shapes.stripe, bar_shapes.sparkle),
        *(bar_shapes.window, bar_shapes.rule),
        *(bar_warps.displace, bar_warps.refract, bar_warps.spin),
    )
} | {"caustics": _caustics}
