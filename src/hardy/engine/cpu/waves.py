"""Sums of waves: a Fourier transform for sides of any length, in plain steps of a fixed order.

FFT libraries differ in their last bits from one machine to the next; here nothing does. A length n
is turned into a convolution with a chirp (Bluestein), which powers of two can do.
"""

from __future__ import annotations

import numpy as np

from hardy.engine.cpu.compile import kernel

_LINES = 16  # so many at a time: they fill the vector units, and the buffers stay in the cache


@kernel
def transform(real, imaginary, twiddle):
    """In place along the first axis of (m, lines), m a power of two; twiddle (2, m / 2).

    Stockham's order of steps. With real and imaginary part exchanged it is the inverse, times m.
    """
    m, lines = real.shape
    first, second = real.reshape(-1), imaginary.reshape(-1)
    third, fourth = np.empty_like(first), np.empty_like(second)
    half, run = m // 2, lines
    swapped = False
    while half >= 1:
        for p in range(half):
            cos, sin = twiddle[0, p * (run // lines)], twiddle[1, p * (run // lines)]
            low, high = first[p * run : (p + 1) * run], second[p * run : (p + 1) * run]
            further = (half + p) * run
            low2, high2 = first[further : further + run], second[further : further + run]
            even, even2 = third[2 * p * run :], fourth[2 * p * run :]
            odd, odd2 = third[(2 * p + 1) * run :], fourth[(2 * p + 1) * run :]
            for k in range(run):
                a, b, c, d = low[k], high[k], low2[k], high2[k]
                even[k], even2[k] = a + c, b + d
                a, b = a - c, b - d
                odd[k], odd2[k] = a * cos - b * sin, a * sin + b * cos
        first, third = third, first
        second, fourth = fourth, second
        swapped = not swapped
        half, run = half // 2, run * 2
    if swapped:
        third[:], fourth[:] = first, second


@kernel
def _waves(real, imaginary, chirp, spectrum, twiddle):
    """The sum of values times exp(2 pi i j k / n), in place along the first axis of (n, lines)."""
    n, lines = real.shape
    m = spectrum.shape[1]
    a, b = np.empty((m, _LINES)), np.empty((m, _LINES))
    for start in range(0, lines, _LINES):
        count = min(_LINES, lines - start)
        a[:], b[:] = 0.0, 0.0
        for j in range(n):
            cos, sin = chirp[0, j], chirp[1, j]
            for k in range(count):
                x, y = real[j, start + k], imaginary[j, start + k]
                a[j, k], b[j, k] = x * cos - y * sin, x * sin + y * cos
        transform(a, b, twiddle)
        for j in range(m):
            cos, sin = spectrum[0, j], spectrum[1, j]
            for k in range(_LINES):
                x, y = a[j, k], b[j, k]
                a[j, k], b[j, k] = x * cos - y * sin, x * sin + y * cos
        transform(b, a, twiddle)
        for j in range(n):
            cos, sin = chirp[0, j], chirp[1, j]
            for k in range(count):
                x, y = a[j, k], b[j, k]
                real[j, start + k] = x * cos - y * sin
                imaginary[j, start + k] = x * sin + y * cos


@kernel
def real_fields(real, imaginary, down, along, out):
    """Fields (M, H, W) from half their spectra (M, H, W // 2 + 1), which are used up.

    `down` and `along` are the three tables for H and for W. Two rows at a time make one complex
    line, as its real and as its imaginary part.
    """
    fields, height, width = out.shape
    half, pairs = real.shape[2], (height + 1) // 2
    a, b = np.empty((width, pairs)), np.empty((width, pairs))
    for i in range(fields):
        _waves(real[i], imaginary[i], down[0], down[1], down[2])
        for k in range(pairs):
            y = 2 * k
            for x in range(width):
                # The other half is the first one's mirror image, conjugated.
                place, sign = (x, 1.0) if x < half else (width - x, -1.0)
                a[x, k], b[x, k] = real[i, y, place], sign * imaginary[i, y, place]
                if x == 0 or 2 * x == width:
                    b[x, k] = 0.0
                if y + 1 < height:
                    if x != 0 and 2 * x != width:
                        a[x, k] -= sign * imaginary[i, y + 1, place]
                    b[x, k] += real[i, y + 1, place]
        _waves(a, b, along[0], along[1], along[2])
        for k in range(pairs):
            for x in range(width):
                out[i, 2 * k, x] = a[x, k]
            if 2 * k + 1 < height:
                for x in range(width):
                    out[i, 2 * k + 1, x] = b[x, k]
