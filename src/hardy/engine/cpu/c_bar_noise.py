"""The noises of ImageNet-C-bar: fused passes of corrupt.c_bar.waves, and the noise made of waves.

FFT libraries differ in their last bits from one machine to the next. The Fourier transform here
takes plain steps of a fixed order: a side of any length n is turned into a convolution with a chirp
(Bluestein), which powers of two can do.
"""

from functools import lru_cache

import numpy as np

from hardy.engine import portable
from hardy.engine.cpu.compile import kernel
from hardy.engine.cpu.maths import cosine, sine
from hardy.engine.portable import Float64
from hardy.engine.tables.c_bar_waves import WavePlan

_TABLE_MASK = np.int64(255)


@kernel
def level(value):
    return np.uint8(np.int32(min(max(value, 0.0), 255.0)))


@kernel
def _half_spectra(cosines, sines, first, second, first_weight, second_weight, real, imaginary):
    """See tables.c_bar_waves.WavePlan; cosines, sines (M, phases), the others flat but for M."""
    for m in range(len(cosines)):
        for k in range(first.size):
            a, b = first[k], second[k]
            u, v = first_weight[k], second_weight[k]
            real[m, k] = cosines[m, a] * u + cosines[m, b] * v
            imaginary[m, k] = sines[m, a] * u - sines[m, b] * v


@kernel
def _divide_by_deviation(fields):
    """(M, pixels), in place."""
    for field in fields:
        total = 0.0
        for value in field:
            total += value
        mean = total / field.size
        square = 0.0
        for value in field:
            square += (value - mean) * (value - mean)
        deviation = np.sqrt(square / field.size)
        for k in range(field.size):
            field[k] /= deviation


@kernel
def blacken(images, noise, threshold, out):
    n, height, width, _ = images.shape
    for i in range(n):
        for y in range(height):
            for x in range(width):
                hidden = noise[i, y, x] <= threshold
                for c in range(3):
                    out[i, y, x, c] = np.uint8(0) if hidden else images[i, y, x, c]


@kernel
def add_noises(images, noise, strength, out):
    n, height, width, _ = images.shape
    for i in range(n):
        for y in range(height):
            for x in range(width):
                for c in range(3):
                    out[i, y, x, c] = level(images[i, y, x, c] + strength * noise[i, c, y, x])


@kernel
def stir(images, time, rounds, sharpness, scale, strength, out):
    n, height, width, _ = images.shape
    across, down = np.empty(width), np.empty(width)
    red, green, blue = np.empty(width), np.empty(width), np.empty(width)
    keep = 1.0 - strength / 255.0
    for i in range(n):
        t, fall = time[i], 2.25 - sharpness[i]
        shift = sine(t)
        for y in range(height):
            for x in range(width):
                across[x], down[x] = x / scale[i], y / scale[i]
            finer, slower, weaker = 1.0, 1.0, 1.0
            for _ in range(min(rounds[i], 6)):
                phase = t / slower
                for x in range(width):
                    one = cosine(finer * down[x] + phase) / weaker
                    two = sine(finer * across[x] + phase) / weaker
                    across[x] += one - 0.3 * two
                    down[x] += two + 0.3 * one
                finer, slower, weaker = finer * 1.93, slower * 1.15, weaker * fall
            for x in range(width):
                red[x] = keep * images[i, y, x, 0] + strength * sine(across[x] - t)
            for x in range(width):
                middle = ((across[x] + down[x]) + shift) * 0.5
                green[x] = keep * images[i, y, x, 1] + strength * sine(middle)
            for x in range(width):
                blue[x] = keep * images[i, y, x, 2] + strength * sine(down[x] + t)
            for x in range(width):
                out[i, y, x, 0], out[i, y, x, 1] = level(red[x]), level(green[x])
                out[i, y, x, 2] = level(blue[x])


@kernel
def cloud(images, order, gradients, weight, out):
    """Squares share their corners' gradients, so a row goes square by square."""
    n, height, width, _ = images.shape
    side = min(height, width)
    turbulence = np.empty(width)
    keep, veil = 1.0 - weight, 255.0 * weight
    for i in range(n):
        hashes, arrows = order[i], gradients[i]
        for y in range(height):
            turbulence[:] = 0.0
            octave = 1.0
            for _ in range(5):
                step = octave * 7.0 / side
                place = y * step
                top = np.floor(place)
                dy = place - top
                row = np.int64(top)
                upper = hashes[row & _TABLE_MASK] & _TABLE_MASK
                lower = hashes[(row + 1) & _TABLE_MASK] & _TABLE_MASK
                u = dy * dy * (3.0 - 2.0 * dy)
                x = 0
                while x < width:
                    left = np.floor(x * step)
                    column = np.int64(left)
                    a = hashes[(upper + column) & _TABLE_MASK] & _TABLE_MASK
                    b = hashes[(lower + column) & _TABLE_MASK] & _TABLE_MASK
                    c = hashes[(upper + column + 1) & _TABLE_MASK] & _TABLE_MASK
                    d = hashes[(lower + column + 1) & _TABLE_MASK] & _TABLE_MASK
                    # The products with rows, and the factors of columns, at the four corners.
                    ay, ax = dy * arrows[a, 0], arrows[a, 1]
                    by, bx = (dy - 1.0) * arrows[b, 0], arrows[b, 1]
                    cy, cx = dy * arrows[c, 0], arrows[c, 1]
                    ey, ex = (dy - 1.0) * arrows[d, 0], arrows[d, 1]
                    stop = x + 1
                    while stop < width and np.floor(stop * step) == left:
                        stop += 1
                    for k in range(x, stop):
                        dx = k * step - left
                        t = dx * dx * (3.0 - 2.0 * dx)
                        p, q = ay + dx * ax, by + dx * bx
                        before = p + u * (q - p)
                        p, q = cy + (dx - 1.0) * cx, ey + (dx - 1.0) * ex
                        after = p + u * (q - p)
                        noise = 1.5 * (before + t * (after - before))
                        turbulence[k] += max(noise, -noise) * (1.0 / octave)
                    x = stop
                octave *= 2.0
            for x in range(width):
                grey = veil * min(0.5 * turbulence[x] + 0.5, 1.0)
                for c in range(3):
                    out[i, y, x, c] = level(keep * images[i, y, x, c] + grey)


_LINES = 16  # so many at a time: they fill the vector units, and the buffers stay in the cache


@kernel
def transform(real, imaginary, twiddle):
    """Transform in place along the first axis of (m, lines), m a power of two; twiddle (2, m / 2).

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
def _real_fields(real, imaginary, down, along, out):
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


@kernel
def cosines_and_sines(angles, cosines, sines):
    """The cosine and the sine of each angle; all arrays are flat."""
    for i in range(angles.size):
        cosines[i], sines[i] = cosine(angles[i]), sine(angles[i])


def wave_noise(phases: Float64, plan: WavePlan, width: int) -> Float64:
    count, height = phases.shape[0] * phases.shape[1], phases.shape[2]
    flat = phases.reshape(count, -1)
    cosines, sines = np.empty_like(flat), np.empty_like(flat)
    cosines_and_sines(flat.reshape(-1), cosines.reshape(-1), sines.reshape(-1))
    half = np.empty((2, count, plan.first.size))
    _half_spectra(cosines, sines, *(table.reshape(-1) for table in plan), half[0], half[1])
    real, imaginary = half.reshape(2, count, *plan.first.shape)
    fields = np.empty((count, height, width))
    _real_fields(real, imaginary, _chirp(height), _chirp(width), fields)
    _divide_by_deviation(fields.reshape(count, -1))
    return fields.reshape(*phases.shape[:2], height, width)


@lru_cache(maxsize=16)
def _chirp(n: int) -> tuple[Float64, Float64, Float64]:
    """Tables of length n: the chirp exp(pi i j^2 / n), the spectrum of its conjugate, twiddles."""
    m = 1 << (2 * n - 2).bit_length()
    # Squares count modulo 2 n, a whole turn.
    angle = np.array([j * j % (2 * n) for j in range(n)]) * (portable.PI / n)
    chirp = np.stack([portable.cosine(angle), portable.sine(angle)])
    turn = np.arange(m // 2) * (2.0 * portable.PI / m)
    twiddle = np.stack([portable.cosine(turn), -portable.sine(turn)])
    spectrum = np.zeros((2, m, 1))
    spectrum[:, :n, 0] = chirp * np.array([[1.0], [-1.0]])
    spectrum[:, m - n + 1 :, 0] = spectrum[:, n - 1 : 0 : -1, 0]
    transform(spectrum[0], spectrum[1], twiddle)
    return chirp, spectrum[:, :, 0] * (1.0 / m), twiddle
