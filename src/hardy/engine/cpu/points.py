"""Point operations: each byte out depends on its pixel, and on a layer or a mean beside it."""

import numpy as np

from hardy.engine.cpu.compile import kernel
from hardy.engine.cpu.maths import power, single_unit, unit


@kernel
def channel_means(images, out):
    """One running float64 sum of level / 255 per channel, pixel by pixel, as NumPy adds them."""
    unit = np.arange(256) / 255.0
    n, height, width, _ = images.shape
    for i in range(n):
        red, green, blue = 0.0, 0.0, 0.0
        for y in range(height):
            row = images[i, y].reshape(-1)
            for x in range(width):
                red += unit[row[3 * x]]
                green += unit[row[3 * x + 1]]
                blue += unit[row[3 * x + 2]]
        pixels = height * width
        out[i, 0], out[i, 1], out[i, 2] = red / pixels, green / pixels, blue / pixels


@kernel
def stretch(images, means, gain, out):
    """See corrupt.imagenet_c.digital.stretch: one 256-entry table per image and channel."""
    n, height, width, _ = images.shape
    table = np.empty((3, 256), np.uint8)
    for i in range(n):
        for c in range(3):
            mean = means[i, c]
            for level in range(256):
                value = (level / 255.0 - mean) * gain + mean
                table[c, level] = np.uint8(np.int32(min(max(value, 0.0), 1.0) * 255.0))
        source, goal = images[i].reshape(-1), out[i].reshape(-1)
        for p in range(height * width):
            goal[3 * p] = table[0, source[3 * p]]
            goal[3 * p + 1] = table[1, source[3 * p + 1]]
            goal[3 * p + 2] = table[2, source[3 * p + 2]]


@kernel
def recolour(images, value_shift, gain, offset, out):
    """See corrupt.imagenet_c.digital.recolour: the float64 HSV round trip, without branches.

    Blocks of pixels are split into planes first, so that the arithmetic vectorises.
    """
    block = 256
    reds, greens, blues = np.empty(block), np.empty(block), np.empty(block)
    source, goal = images.reshape(-1), out.reshape(-1)
    pixels = source.size // 3
    for start in range(0, pixels, block):
        count = min(block, pixels - start)
        piece, target = source[3 * start :], goal[3 * start :]
        for p in range(count):
            reds[p] = unit(piece[3 * p])
            greens[p] = unit(piece[3 * p + 1])
            blues[p] = unit(piece[3 * p + 2])
        for p in range(count):
            r, g, b = reds[p], greens[p], blues[p]
            high = max(max(r, g), b)
            spread = high - min(min(r, g), b)
            grey = spread == 0.0
            safe = 1.0 if grey else spread
            saturation = spread / (1.0 if grey else high)
            from_blue = b == high
            from_green = g == high
            base = 4.0 if from_blue else (2.0 if from_green else 0.0)
            near = r - g if from_blue else (b - r if from_green else g - b)
            hue = (base + near / safe) / 6.0
            hue = hue + 1.0 if hue < 0.0 else hue
            hue = 0.0 if grey else hue
            high = min(max(high + value_shift, 0.0), 1.0)
            saturation = min(max(saturation * gain + offset, 0.0), 1.0)
            sixth = hue * 6.0
            sector = np.floor(sixth)
            f = sixth - sector
            low = high * (1.0 - saturation)
            falling = high * (1.0 - f * saturation)
            rising = high * (1.0 - (1.0 - f) * saturation)
            reds[p] = (
                high
                if sector == 0.0 or sector == 5.0
                else (falling if sector == 1.0 else (rising if sector == 4.0 else low))
            )
            greens[p] = (
                high
                if sector == 1.0 or sector == 2.0
                else (rising if sector == 0.0 else (falling if sector == 3.0 else low))
            )
            blues[p] = (
                high
                if sector == 3.0 or sector == 4.0
                else (rising if sector == 2.0 else (falling if sector == 5.0 else low))
            )
        for p in range(count):
            target[3 * p] = np.uint8(np.int32(reds[p] * 255.0))
            target[3 * p + 1] = np.uint8(np.int32(greens[p] * 255.0))
            target[3 * p + 2] = np.uint8(np.int32(blues[p] * 255.0))


@kernel
def haze(images, cloud, amount, out):
    """See corrupt.imagenet_c.weather.haze."""
    n, height, width, _ = images.shape
    for i in range(n):
        peak = np.uint8(0)
        for value in images[i].reshape(-1):
            peak = max(peak, value)
        m = peak / 255.0
        for y in range(height):
            source, goal = images[i, y].reshape(-1), out[i, y].reshape(-1)
            for x in range(width):
                veil = amount * cloud[i, y, x]
                for c in range(3):
                    value = ((unit(source[3 * x + c]) + veil) * m) / (m + amount)
                    goal[3 * x + c] = np.uint8(np.int32(min(max(value, 0.0), 1.0) * 255.0))


@kernel
def whiten(images, layer, keep, out):
    """See corrupt.imagenet_c.weather.whiten: float32 image, a byte layer added twice in float64."""
    n, height, width, _ = images.shape
    kept, rest = np.float32(keep), np.float32(1.0 - keep)
    red, green, blue = np.float32(0.299), np.float32(0.587), np.float32(0.114)
    gain, base = np.float32(1.5), np.float32(0.5)
    for i in range(n):
        for y in range(height):
            source, goal = images[i, y].reshape(-1), out[i, y].reshape(-1)
            flakes, turned = layer[i, y], layer[i, height - 1 - y]
            for x in range(width):
                r = single_unit(source[3 * x])
                g = single_unit(source[3 * x + 1])
                b = single_unit(source[3 * x + 2])
                grey = (g * green + r * red) + b * blue
                floor = gain * grey + base
                here, there = unit(flakes[x]), unit(turned[width - 1 - x])
                r = kept * r + rest * max(r, floor)
                g = kept * g + rest * max(g, floor)
                b = kept * b + rest * max(b, floor)
                goal[3 * x] = np.uint8(np.int32(min((r + here) + there, 1.0) * 255.0))
                goal[3 * x + 1] = np.uint8(np.int32(min((g + here) + there, 1.0) * 255.0))
                goal[3 * x + 2] = np.uint8(np.int32(min((b + here) + there, 1.0) * 255.0))


@kernel
def flakes(layer, threshold, out):
    """See corrupt.imagenet_c.weather.flakes."""
    source, goal = layer.reshape(-1), out.reshape(-1)
    for k in range(source.size):
        level = np.int32(min(max(source[k], 0.0), 1.0) * 255.0)
        goal[k] = np.uint8(level if source[k] >= threshold else np.int32(0))


@kernel
def frosted(images, texture, image_weight, frost_weight, out):
    """See corrupt.imagenet_c.weather.frosted."""
    source, frost, goal = images.reshape(-1), texture.reshape(-1), out.reshape(-1)
    for k in range(source.size):
        value = image_weight * source[k] + frost_weight * frost[k]
        goal[k] = np.uint8(np.int32(min(value, 255.0)))


@kernel
def glisten(liquid, relief, strength, out):
    """See corrupt.imagenet_c.weather.glisten."""
    times = np.float32(strength)
    for i in range(len(out)):
        drops, heights, goal = liquid[i].reshape(-1), relief[i].reshape(-1), out[i].reshape(-1)
        peak = np.int32(0)
        for k in range(goal.size):
            peak = max(peak, np.int32(np.int32(drops[k]) * np.int32(heights[k])))
        divisor = np.float32(max(peak, np.int32(1)))
        for k in range(goal.size):
            goal[k] = np.float32(np.int32(drops[k]) * np.int32(heights[k])) / divisor * times


@kernel
def splash(images, amount, colour, out):
    """See corrupt.imagenet_c.weather.splash: float32 throughout."""
    one, full = np.float32(1.0), np.float32(255.0)
    source, drops, goal = images.reshape(-1), amount.reshape(-1), out.reshape(-1)
    for p in range(drops.size):
        for c in range(3):
            value = single_unit(source[3 * p + c]) + drops[p] * colour[c]
            goal[3 * p + c] = np.uint8(np.int32(min(value, one) * full))


@kernel
def cover(images, amount, colour, out):
    """See corrupt.imagenet_c.weather.cover: float32 throughout."""
    one, full = np.float32(1.0), np.float32(255.0)
    source, covered, goal = images.reshape(-1), amount.reshape(-1), out.reshape(-1)
    for p in range(covered.size):
        mud = covered[p]
        for c in range(3):
            value = single_unit(source[3 * p + c]) * (one - mud) + mud * colour[c]
            goal[3 * p + c] = np.uint8(np.int32(min(value, one) * full))


@kernel
def blanket(images, layer, keep, out):
    """See corrupt.sequences.blanket: the grey value in float32, all else in float64."""
    n, height, width, _ = images.shape
    red, green, blue = np.float32(0.299), np.float32(0.587), np.float32(0.114)
    gain, base, full = np.float32(1.5), np.float32(0.5), np.float32(255.0)
    rest = 1.0 - keep
    for i in range(n):
        for y in range(height):
            source, goal = images[i, y].reshape(-1), out[i, y].reshape(-1)
            flakes, turned = layer[i, y], layer[i, height - 1 - y]
            for x in range(width):
                r, g, b = source[3 * x], source[3 * x + 1], source[3 * x + 2]
                grey = (np.float32(g) / full * green + np.float32(r) / full * red) + (
                    np.float32(b) / full * blue
                )
                floor = np.float64(gain * grey + base)
                here, there = flakes[x] / 255.0, turned[width - 1 - x] / 255.0
                u, v, w = r / 255.0, g / 255.0, b / 255.0
                u = (keep * u + rest * max(u, floor) + here) + there
                v = (keep * v + rest * max(v, floor) + here) + there
                w = (keep * w + rest * max(w, floor) + here) + there
                goal[3 * x] = np.uint8(np.int32(min(u, 1.0) * 255.0))
                goal[3 * x + 1] = np.uint8(np.int32(min(v, 1.0) * 255.0))
                goal[3 * x + 2] = np.uint8(np.int32(min(w, 1.0) * 255.0))


@kernel
def powers(bases, exponent, out):
    """The power of each base; both arrays are flat."""
    for i in range(bases.size):
        out[i] = power(bases[i], exponent)
