"""Fused passes of corrupt.c_bar.shapes, where the formulas are."""

import numpy as np

from hardy.engine import portable
from hardy.engine.cpu.c_bar_noise import level
from hardy.engine.cpu.compile import kernel
from hardy.engine.cpu.maths import arctan2, cosine, power, sine

_PI = portable.PI
_RAYS_PER_RADIAN = 0.5 / portable.PI


@kernel
def _wrapped(place, side):
    whole = np.ceil(place) if place < 0.0 else np.floor(place)
    return np.int64(whole - side * np.floor(whole / side))


@kernel
def chequer(images, angle, cell, chances, share, out):
    n, height, width, _ = images.shape
    last = chances.shape[1] - 1
    for i in range(n):
        cos, sin, s = cosine(angle[i]), sine(angle[i]), cell[i]
        side = min(np.floor(4.0 * min(height, width) / s), last + 1.0)
        for y in range(height):
            for x in range(width):
                p = (y * cos + x * sin) / s
                q = (x * cos - y * sin) / s
                halves = (np.floor(p) - np.floor(q)) * 0.5
                hit = False
                if np.floor(halves) == halves:
                    # A replayed cell may be anything; none may read outside the table.
                    a = min(max(_wrapped(p, side), 0), last)
                    b = min(max(_wrapped(q, side), 0), last)
                    hit = chances[i, a, b] < share
                for c in range(3):
                    out[i, y, x, c] = np.uint8(128) if hit else images[i, y, x, c]


@kernel
def _add_grey(source, row, goal):
    """Add a number per pixel to the three levels of a row."""
    for x in range(len(row)):
        for c in range(3):
            goal[x, c] = level(source[x, c] + row[x])


@kernel
def ring(images, row, column, frequency, wobble, width, strength, out):
    n, height, across, _ = images.shape
    tooth = np.empty(across)
    for i in range(n):
        for y in range(height):
            dy = y - row[i]
            for x in range(across):
                dx = x - column[i]
                radius = np.sqrt(dy * dy + dx * dx)
                wave = wobble[i] * sine(frequency[i] * arctan2(dx, dy))
                s = (radius + wave) / width[i]
                tooth[x] = strength * ((s - np.floor(s)) - 0.5)
            _add_grey(images[i, y], tooth, out[i, y])


@kernel
def stripe(images, across, down, phase, strength, out):
    n, height, width, _ = images.shape
    wave = np.empty(width)
    for i in range(n):
        for y in range(height):
            for x in range(width):
                wave[x] = strength * sine((across[i] * x + down[i] * y) + phase[i])
            _add_grey(images[i, y], wave, out[i, y])


@kernel
def _shine(y, row, column, rays, lengths, profile, weight):
    """corrupt.c_bar.shapes.shine along row y: 1 - (f - 1/2)^2 and g, of which no power is taken."""
    dy = y - row
    scale = np.float64(rays) * _RAYS_PER_RADIAN
    for x in range(len(weight)):
        weight[x] = (arctan2(x - column, dy) + _PI) * scale
    for x in range(len(weight)):
        dx = x - column
        u = weight[x]
        floor = np.floor(u)
        f = u - floor
        k = np.int64(floor)
        k = 0 if k >= rays or k < 0 else k
        after = 0 if k + 1 >= rays else k + 1
        here, there = lengths[k], lengths[after]
        length = here + f * (there - here)
        weight[x] = (length * length) / ((dy * dy + dx * dx) + 1e-4)
        profile[x] = 1.0 - (f - 0.5) * (f - 0.5)


@kernel
def sparkle(images, row, column, rays, lengths, out):
    n, height, width, _ = images.shape
    line, profile, weight = np.empty((width, 3)), np.empty(width), np.empty(width)
    for i in range(n):
        for y in range(height):
            line[:] = images[i, y]
            for k in range(row.shape[1]):
                _shine(y, row[i, k], column[i, k], rays[i, k], lengths[i, k], profile, weight)
                for x in range(width):
                    w = min(profile[x] * weight[x], 1.0)
                    for c in range(3):
                        line[x, c] += w * (255.0 - line[x, c])
            for x in range(width):
                for c in range(3):
                    out[i, y, x, c] = level(line[x, c])


@kernel
def window(images, row, column, rays, lengths, exponent, out):
    n, height, width, _ = images.shape
    profile, weight = np.empty(width), np.empty(width)
    for i in range(n):
        for y in range(height):
            _shine(y, row[i], column[i], rays[i], lengths[i], profile, weight)
            for x in range(width):
                g = power(max(weight[x], 2.0**-100), exponent)
                weight[x] = min(profile[x] * g, 1.0)
            for x in range(width):
                for c in range(3):
                    out[i, y, x, c] = level(255.0 + weight[x] * (images[i, y, x, c] - 255.0))


@kernel
def rule(images, ends, out):
    n, height, width, _ = images.shape
    out[:] = images
    for i in range(n):
        for line in range(ends.shape[1]):
            top, left, bottom, right = ends[i, line]
            down, along = abs(bottom - top), abs(right - left)
            upright = down >= along
            long, short = max(down, along), min(down, along)
            length = max(np.sqrt(long * long + short * short), 1.0)
            before = -1.0
            for k in range(np.int64(long) + 1):
                here = np.floor((2.0 * k + 1.0) * short / (2.0 * max(long, 1.0)))
                first = here - 1.0 if k > 0 and before == here - 1.0 else here
                last = here + 1.0 if k < long else here
                for q in range(np.int64(first), np.int64(last) + 1):
                    y, x = (k, q) if upright else (q, k)
                    row = top - y if bottom < top else top + y
                    column = left - x if right < left else left + x
                    if 0.0 <= row < height and 0.0 <= column < width:
                        weight = max(1.0 - abs(q * long - k * short) / length, 0.0)
                        goal = out[i, np.int64(row), np.int64(column)]
                        for c in range(3):
                            goal[c] = level((1.0 - weight) * goal[c] + weight * 128.0)
                before = here
