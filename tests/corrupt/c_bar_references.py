"""The 15 corruptions of both C-bar benchmarks, written down once more: slow, plain, one image.

Loops over pixels and scalar mathematics where Hardy has arrays, SciPy and NumPy where it has tables
and kernels; each takes the image, Hardy's draws and the parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from math import atan2, cos, floor, hypot, pi, radians, sin, sqrt, trunc
from typing import Any

import numpy as np
from scipy import ndimage
from skimage.draw import line_aa

Image = np.ndarray
Fields = dict[str, Any]


def truncated(levels: Image) -> Image:
    return np.clip(levels, 0, 255).astype(np.uint8)


def pixels(image: Image) -> list[tuple[int, int]]:
    return [(y, x) for y in range(image.shape[0]) for x in range(image.shape[1])]


def wave_noise(phases: Image, weight: Callable[[float], float], width: int) -> Image:
    """The spectrum as it is described: weights times phases, rolled, transformed, its real part."""
    height, side = len(phases), min(len(phases), width)
    left = phases[:, : width // 2]
    parts = [left, left[::-1, ::-1]]
    if width % 2:
        middle = phases[:, -1].copy()
        middle[height - height // 2 :] = middle[: height // 2][::-1]
        parts.insert(1, middle[:, None])
    angle = np.concatenate(parts, axis=1)
    weights = np.array([
        [weight(hypot((u - height // 2) * side / height, (v - width // 2) * side / width))
         for v in range(width)] for u in range(height)
    ])  # fmt: skip
    spectrum = np.roll(weights * np.exp(1j * angle), (-(height // 2), -(width // 2)), (0, 1))
    noise = np.fft.ifft2(spectrum).real
    return noise / noise.std()


def blue_noise_sample(image: Image, fields: Fields, threshold: float) -> Image:
    noise = wave_noise(fields["phases"][0], lambda r: r, image.shape[1])
    result = image.copy()
    result[noise <= threshold] = 0
    return result


def brownish_noise(image: Image, fields: Fields, strength: float) -> Image:
    noises = [wave_noise(p, lambda r: 1 / (r * r + 1), image.shape[1]) for p in fields["phases"]]
    return truncated(image + strength * np.stack(noises, axis=-1))


def plasma_noise(image: Image, fields: Fields, strength: float) -> Image:
    t, s, scale = fields["time"], fields["sharpness"], fields["scale"]
    noise = np.empty(image.shape)
    for y, x in pixels(image):
        place_x, place_y = x / scale, y / scale
        a = b = c = 1.0
        for _ in range(4 + int(fields["rounds"])):
            r1, r2 = cos(a * place_y + t / b) / c, sin(a * place_x + t / b) / c
            r1, r2 = r1 - 0.3 * r2, r2 + 0.3 * r1
            place_x, place_y = place_x + r1, place_y + r2
            a, b, c = a * 1.93, b * 1.15, c * (2.25 - s)
        noise[y, x] = sin(place_x - t), sin((place_x + place_y + sin(t)) / 2), sin(place_y + t)
    return truncated((1 - strength / 255) * image + strength * noise)


def checkerboard_cutout(image: Image, fields: Fields, share: float) -> Image:
    side, angle = min(image.shape[:2]), fields["angle"]
    cell = max(fields["cell"], 1)
    count = floor(4 * side / cell)
    grid = fields["chances"][:count, :count] < share
    result = image.copy()
    for y, x in pixels(image):
        p = (y * cos(angle) + x * sin(angle)) / cell
        q = (-y * sin(angle) + x * cos(angle)) / cell
        if floor(p) % 2 == floor(q) % 2 and grid[trunc(p) % count, trunc(q) % count]:
            result[y, x] = 128
    return result


def cocentric_sine_waves(image: Image, fields: Fields, strength: float) -> Image:
    wave = np.empty(image.shape[:2])
    for y, x in pixels(image):
        dy, dx = y - fields["row"], x - fields["column"]
        radius = hypot(dy, dx) + fields["wobble"] * sin(fields["frequency"] * atan2(dx, dy))
        wave[y, x] = radius % fields["width"] / fields["width"] - 0.5
    return truncated(image + strength * wave[..., None])


def single_frequency_greyscale(image: Image, fields: Fields, strength: float) -> Image:
    one, two = fields["frequency"], fields["ratio"] * abs(fields["frequency"])
    along, down = (two, one) if fields["swapped"] else (one, two)
    wave = np.empty(image.shape[:2])
    for y, x in pixels(image):
        wave[y, x] = sin(along * x + down * y + fields["phase"])
    return truncated(image + strength * wave[..., None])


def perlin_noise(image: Image, fields: Fields, weight: float) -> Image:
    order = [int(k) for k in fields["order"]] * 2
    arrows = [((int(a) - 256) / 256, (int(b) - 256) / 256) for a, b in fields["gradients"]]
    arrows = [(a / hypot(a, b), b / hypot(a, b)) if a or b else (0, 0) for a, b in arrows]

    def noise(first: float, second: float) -> float:
        i, j = floor(first), floor(second)
        f, g = first - i, second - j

        def corner(di: int, dj: int) -> float:
            a, b = arrows[order[order[(i + di) % 256] + (j + dj) % 256]]
            return (f - di) * a + (g - dj) * b

        def smooth(t: float) -> float:
            return 3 * t**2 - 2 * t**3

        near = corner(0, 0) + smooth(f) * (corner(1, 0) - corner(0, 0))
        far = corner(0, 1) + smooth(f) * (corner(1, 1) - corner(0, 1))
        return 1.5 * (near + smooth(g) * (far - near))

    scale = 32 * min(image.shape[:2]) / 224
    grey = np.empty(image.shape[:2])
    for y, x in pixels(image):
        turbulence = sum(abs(noise(k * y / scale, k * x / scale)) / k for k in (1, 2, 4, 8, 16))
        grey[y, x] = min(max(0.5 * turbulence + 0.5, 0), 1)
    return truncated((1 - weight) * image + 255 * weight * grey[..., None])


def star(image: Image, place: tuple[float, float], lengths: list[float], power: float) -> Image:
    """The weight W of every pixel."""
    rays = len(lengths)
    weight = np.empty((*image.shape[:2], 1))
    for y, x in pixels(image):
        dy, dx = y - place[0], x - place[1]
        u = (atan2(dx, dy) + pi) * rays / (2 * pi)
        f = u - floor(u)
        length = lengths[floor(u) % rays]
        length += f * (lengths[(floor(u) + 1) % rays] - length)
        g = (length**2 / (dy * dy + dx * dx + 1e-4)) ** power
        weight[y, x] = min(max((1 - (f - 0.5) ** 2) * g, 0), 1)
    return weight


def sparkles(image: Image, fields: Fields, radius: float) -> Image:
    rho = radius * min(image.shape[:2])
    levels = image.astype(float)
    for k in range(5):
        drawn = fields["lengths"][k][: 50 + int(fields["rays"][k])]
        lengths = [max(1, rho * (1 + 0.25 * z)) for z in drawn]
        weight = star(image, (fields["row"][k], fields["column"][k]), lengths, 1)
        levels += weight * (255 - levels)
    return truncated(levels)


def inverse_sparkles(image: Image, fields: Fields, exponent: float) -> Image:
    rho = 0.25 * min(image.shape[:2])
    drawn = fields["lengths"][0][: 50 + int(fields["rays"][0])]
    lengths = [rho * (1 + 0.25 * z) for z in drawn]
    weight = star(image, (fields["row"][0], fields["column"][0]), lengths, exponent)
    return truncated(255 + weight * (image - 255.0))


def bilinear(values: Image, y: float, x: float) -> Image:
    """A pixel of (H, W, C); zero outside, tap by tap.

    Four weights seldom add up to 1 exactly; a whole level must not be missed for that.
    """
    total = np.full(values.shape[2], 1e-9 if values.dtype == np.uint8 else 0.0)
    for row in (floor(y), floor(y) + 1):
        for column in (floor(x), floor(x) + 1):
            if 0 <= row < values.shape[0] and 0 <= column < values.shape[1]:
                total += (1 - abs(y - row)) * (1 - abs(x - column)) * values[row, column]
    return total


def caustic_refraction(image: Image, fields: Fields, lens: float, light: float) -> Image:
    height, width = image.shape[:2]
    net = np.empty((height, width))
    for y, x in pixels(image):
        p1, p2 = (2 * pi * (v / fields["scale"] % 1) - 250 for v in (y, x))
        i1, i2, c = p1, p2, 1.0
        for n in range(5):
            t = fields["time"] * (1 - 3.5 / (n + 1))
            i1, i2 = p1 + cos(t - i1) + sin(t + i2), p2 + sin(t - i2) + cos(t + i1)
            one, two = 0.005 * p1 / sin(i1 + t), 0.005 * p2 / cos(i2 + t)
            c += 1 / sqrt(one**2 + two**2)
        net[y, x] = min(abs(1.17 - (c / 5) ** 1.4) ** 8, 1)
    net = np.pad(ndimage.gaussian_filter(net, 1), 1)
    unit, result = image / 255, np.empty(image.shape)
    for y, x in pixels(image):
        down, along = net[y + 2, x + 1] - net[y, x + 1], net[y + 1, x + 2] - net[y + 1, x]
        normal = np.array([down, along, 1]) / sqrt(down**2 + along**2 + 1)
        dy = dx = 0.0
        if normal[2] < 0.999:
            # Snell's law as vectors: a ray (0, 0, -1) into a medium of four times the index.
            ray = np.array([0, 0, -1])
            into = -float(ray @ normal)
            bent = 0.25 * ray + (0.25 * into - sqrt(1 - 0.25**2 * (1 - into**2))) * normal
            dy, dx = (round(float(-lens * min(height, width) * v), 3) for v in bent[:2])
        result[y, x] = bilinear(unit, y + dy, x + dx) + light * (down - along)
    return (np.clip(result, 0, 1) * 255).astype(np.uint8)


def ripple(image: Image, fields: Fields, reach: float) -> Image:
    amplitude = reach * min(image.shape[:2])
    result = np.empty(image.shape)
    for y, x in pixels(image):
        (one, two), (psi, chi) = fields["wavelength"], fields["phase"]
        down = y + amplitude * sin(2 * pi * y / one + psi)
        along = x + amplitude * sin(2 * pi * x / two + chi)
        result[y, x] = bilinear(image, down, along)
    return truncated(result)


def circular_motion_blur(image: Image, fields: Fields, degrees: float) -> Image:
    places = np.linspace(-1, 1, 21)
    weights = np.exp(-2 * places**2)
    turned = [
        ndimage.rotate(image.astype(float), s * degrees, reshape=False, order=3) for s in places
    ]
    return truncated(np.tensordot(weights, turned, 1) / weights.sum() + 1e-9)


def lines(image: Image, fields: Fields, density: float) -> Image:
    side = min(image.shape[:2])
    result = image.copy()
    for k in range(max(1, floor(density * side))):
        angle = fields["angle"][0] + 2 * pi * fields["spread"][0] * fields["turn"][k]
        down, along = side * cos(angle), side * sin(angle)
        row, column = fields["row"][k], fields["column"][k]
        ends = (row - down, column - along, row + down, column + along)
        rows, columns, cover = line_aa(*(trunc(end) for end in ends))
        inside = (rows >= 0) & (rows < image.shape[0]) & (columns >= 0) & (columns < image.shape[1])
        place, weight = (rows[inside], columns[inside]), cover[inside, None]
        result[place] = truncated((1 - weight) * result[place] + weight * 128)
    return result


def transverse_chromatic_abberation(image: Image, fields: Fields, spread: float) -> Image:
    result = np.empty_like(image)
    for channel in range(3):
        zoom = (1, 1 + spread, 1 + 2 * spread)[fields["order"][channel]]
        larger = ndimage.zoom(image[..., channel], zoom, order=3, prefilter=False)
        top, left = ((a - b) // 2 for a, b in zip(larger.shape, image.shape, strict=False))
        result[..., channel] = larger[top : top + image.shape[0], left : left + image.shape[1]]
    return result


def pinch_and_twirl(
    image: Image, fields: Fields, tiles: float, twirl: float, pinch: float
) -> Image:
    """Tile after tile in place, as the original goes; tiles of images that are not square too."""
    count = int(tiles)
    state = image.astype(np.float32)
    height, width = image.shape[0] // count, image.shape[1] // count
    for i, j in ((i, j) for i in range(count) for j in range(count)):
        source = state.astype(float)
        top, left = j * height, i * width
        centre = top + height / 2, left + width / 2
        for y in range(top, top + height):
            for x in range(left, left + width):
                dy, dx = (y - centre[0]) / (height / 2), (x - centre[1]) / (width / 2)
                d = hypot(dy, dx)
                if d > 1 or round(d, 4) == 0:
                    continue
                angle = (1 if fields["turns"][j, i] else -1) * radians(twirl) * (1 - d) ** 2
                factor = sin(pi * d / 2) ** -pinch
                down = factor * (cos(angle) * dy - sin(angle) * dx) * height / 2
                along = factor * (sin(angle) * dy + cos(angle) * dx) * width / 2
                state[y, x] = bilinear(source, centre[0] + down, centre[1] + along)
    return truncated(state)


REFERENCES: dict[str, Callable[..., Image]] = {
    one.__name__: one
    for one in (
        *(blue_noise_sample, plasma_noise, checkerboard_cutout, cocentric_sine_waves),
        *(single_frequency_greyscale, brownish_noise, perlin_noise, sparkles, inverse_sparkles),
        *(caustic_refraction, pinch_and_twirl, ripple, circular_motion_blur, lines),
        transverse_chromatic_abberation,
    )
}
