"""Fused passes and primitives of corrupt.bar_noise, where the formulas are."""

from __future__ import annotations

import numpy as np

from hardy.engine.cpu.compile import kernel
from hardy.engine.cpu.maths import cosine, sine

_TABLE_MASK = np.int64(255)


@kernel
def level(value):
    return np.uint8(np.int32(min(max(value, 0.0), 255.0)))


@kernel
def half_spectra(cosines, sines, first, second, first_weight, second_weight, real, imaginary):
    """See c_bar_tables.WavePlan; cosines, sines (M, phases), the others flat but for M."""
    for m in range(len(cosines)):
        for k in range(first.size):
            a, b = first[k], second[k]
            u, v = first_weight[k], second_weight[k]
            real[m, k] = cosines[m, a] * u + cosines[m, b] * v
            imaginary[m, k] = sines[m, a] * u - sines[m, b] * v


@kernel
def divide_by_deviation(fields):
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
