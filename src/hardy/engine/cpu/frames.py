"""Warps and mixtures of perturbation sequences.

A sequence warps one image many times, so the image is first laid out as a canvas: one 32-bit word
per pixel (red in the lowest byte) with a ring of black around it. A bilinear sample is then four
gathers instead of twelve, and what lies outside is just another pixel. All images of a batch share
the geometry, so a row's places are computed once for all of them.
"""

import numpy as np

from hardy.engine.cpu.compile import kernel

_BYTE = np.uint32(255)
_GREEN, _BLUE = np.uint32(8), np.uint32(16)


@kernel
def lay_out(images, canvas):
    """canvas (N, H + 2, W + 2) from images (N, H, W, 3)."""
    n, height, width, _ = images.shape
    canvas[:] = 0
    for i in range(n):
        for y in range(height):
            source, row = images[i, y].reshape(-1), canvas[i, y + 1, 1:]
            for x in range(width):
                row[x] = (
                    np.uint32(source[3 * x])
                    | np.uint32(source[3 * x + 1]) << _GREEN
                    | np.uint32(source[3 * x + 2]) << _BLUE
                )


@kernel
def _lerp(a, b, t, shift):
    """a + (b - a) t of one channel of two pixels."""
    first = np.float64(np.int32(a >> shift & _BYTE))
    second = np.float64(np.int32(b >> shift & _BYTE))
    return first + (second - first) * t


@kernel
def _mix(source, places, fractions, rounding, packed, goal):
    """Bilinear samples of a flat canvas: along the row first, then between rows, in float64."""
    zero = np.uint32(0)
    top_left, top_right, bottom_left, bottom_right = places
    along, down = fractions
    for x in range(len(packed)):
        a, b = source[top_left[x]], source[top_right[x]]
        c, d = source[bottom_left[x]], source[bottom_right[x]]
        t, u = along[x], down[x]
        red, bottom = _lerp(a, b, t, zero), _lerp(c, d, t, zero)
        red = red + (bottom - red) * u
        green, bottom = _lerp(a, b, t, _GREEN), _lerp(c, d, t, _GREEN)
        green = green + (bottom - green) * u
        blue, bottom = _lerp(a, b, t, _BLUE), _lerp(c, d, t, _BLUE)
        blue = blue + (bottom - blue) * u
        packed[x] = (
            np.uint32(np.int32(red + rounding))
            | np.uint32(np.int32(green + rounding)) << _GREEN
            | np.uint32(np.int32(blue + rounding)) << _BLUE
        )
    for x in range(len(packed)):
        pixel = packed[x]
        goal[3 * x] = np.uint8(pixel & _BYTE)
        goal[3 * x + 1] = np.uint8(pixel >> _GREEN & _BYTE)
        goal[3 * x + 2] = np.uint8(pixel >> _BLUE & _BYTE)


@kernel
def _buffers(width):
    places = (
        np.empty(width, np.uint32),
        np.empty(width, np.uint32),
        np.empty(width, np.uint32),
        np.empty(width, np.uint32),
    )
    return places, (np.empty(width), np.empty(width)), np.empty(width, np.uint32)


@kernel
def affine_bytes(canvas, inverse, top, left, out):
    """Pillow's bilinear affine transform, truncated: a pixel whose place lies outside is black.

    inverse (6,) takes the centre of an output pixel, (x + 1/2, y + 1/2), to its place; neighbours
    beyond the edge are the edge pixel.
    """
    n, height, width = out.shape[:3]
    stride = np.float64(canvas.shape[2])
    tall, wide = np.float64(canvas.shape[1] - 2), np.float64(canvas.shape[2] - 2)
    a, b, c, d, e, f = inverse
    places, fractions, packed = _buffers(width)
    top_left, top_right, bottom_left, bottom_right = places
    along, down = fractions
    for y in range(height):
        py = top + y + 0.5
        for x in range(width):
            px = left + x + 0.5
            sx, sy = (a * px + b * py) + c, (d * px + e * py) + f
            inside = (sx >= 0.0) & (sx < wide) & (sy >= 0.0) & (sy < tall)
            sx -= 0.5
            sy -= 0.5
            fx, fy = np.floor(sx), np.floor(sy)
            along[x], down[x] = sx - fx, sy - fy
            # Places in the canvas, whose first pixel is the black corner.
            x0, x1 = min(max(fx, 0.0), wide - 1.0) + 1.0, min(max(fx + 1.0, 0.0), wide - 1.0) + 1.0
            y0 = (min(max(fy, 0.0), tall - 1.0) + 1.0) * stride
            y1 = (min(max(fy + 1.0, 0.0), tall - 1.0) + 1.0) * stride
            top_left[x] = np.uint32(np.int32(y0 + x0 if inside else 0.0))
            top_right[x] = np.uint32(np.int32(y0 + x1 if inside else 0.0))
            bottom_left[x] = np.uint32(np.int32(y1 + x0 if inside else 0.0))
            bottom_right[x] = np.uint32(np.int32(y1 + x1 if inside else 0.0))
        for i in range(n):
            _mix(canvas[i].reshape(-1), places, fractions, 0.0, packed, out[i, y].reshape(-1))


@kernel
def perspective_bytes(canvas, inverse, top, left, out):
    """OpenCV's bilinear perspective warp without its grid of 1/32 pixel, rounded to nearest.

    inverse (9,) takes the index of an output pixel to its place; neighbours beyond the edge are
    black, so the picture's rim fades over one pixel.
    """
    n, height, width = out.shape[:3]
    stride = np.float64(canvas.shape[2])
    tall, wide = np.float64(canvas.shape[1] - 1), np.float64(canvas.shape[2] - 1)
    places, fractions, packed = _buffers(width)
    top_left, top_right, bottom_left, bottom_right = places
    along, down = fractions
    for y in range(height):
        py = np.float64(top + y)
        for x in range(width):
            px = np.float64(left + x)
            depth = (inverse[6] * px + inverse[7] * py) + inverse[8]
            sx = ((inverse[0] * px + inverse[1] * py) + inverse[2]) / depth
            sy = ((inverse[3] * px + inverse[4] * py) + inverse[5]) / depth
            fx, fy = np.floor(sx), np.floor(sy)
            along[x], down[x] = sx - fx, sy - fy
            x0, x1 = min(max(fx + 1.0, 0.0), wide), min(max(fx + 2.0, 0.0), wide)
            y0, y1 = min(max(fy + 1.0, 0.0), tall) * stride, min(max(fy + 2.0, 0.0), tall) * stride
            top_left[x], top_right[x] = np.uint32(np.int32(y0 + x0)), np.uint32(np.int32(y0 + x1))
            bottom_left[x] = np.uint32(np.int32(y1 + x0))
            bottom_right[x] = np.uint32(np.int32(y1 + x1))
        for i in range(n):
            _mix(canvas[i].reshape(-1), places, fractions, 0.5, packed, out[i, y].reshape(-1))


@kernel
def slide_bytes(images, right, top, left, out):
    """Columns moved right by `right`, black entering; out is the window at (top, left)."""
    n, height, width = out.shape[:3]
    shift = left - right
    first = min(max(-shift, 0), width)
    last = max(min(images.shape[2] - shift, width), first)
    for i in range(n):
        for y in range(height):
            source, goal = images[i, top + y].reshape(-1), out[i, y].reshape(-1)
            goal[: 3 * first] = 0
            goal[3 * first : 3 * last] = source[3 * (first + shift) : 3 * (last + shift)]
            goal[3 * last :] = 0


@kernel
def run_down(fields, taps, first, out):
    """Each column correlated with taps, tap k reading row y + first - k; zero outside."""
    n, height, width = fields.shape
    for i in range(n):
        for y in range(height):
            goal = out[i, y]
            goal[:] = 0.0
            for k in range(len(taps)):
                row = y + first - k
                if 0 <= row < height and taps[k] != 0.0:
                    source, tap = fields[i, row], taps[k]
                    for x in range(width):
                        goal[x] = goal[x] + tap * source[x]


@kernel
def running_mean(images, total, count, out):
    """total += level / 255, then trunc(255 total / count), all in float32."""
    source, sums, goal = images.reshape(-1), total.reshape(-1), out.reshape(-1)
    full, divisor = np.float32(255.0), np.float32(count)
    for k in range(len(source)):
        sums[k] = sums[k] + np.float32(source[k]) / full
        goal[k] = np.uint8(np.int32(sums[k] / divisor * full))
