"""Plasma clouds, the glass shuffle, and spatter's relief."""

import cv2
import numpy as np
from numpy.typing import NDArray

from hardy.engine.cpu.compile import kernel

_1, _2 = np.uint64(1), np.uint64(2)
_EMBOSS = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]], np.float32)


@kernel
def _raised(total, wibble, draw):
    return total / 4 + wibble * (-wibble + 2 * wibble * draw)


@kernel
def _extremes(values):
    """The lowest and the highest, in lanes that do not wait for one another."""
    lanes = 64
    lows, highs = np.full(lanes, values[0]), np.full(lanes, values[0])
    for start in range(0, len(values), lanes):
        some = values[start : start + lanes]
        for k in range(len(some)):
            lows[k], highs[k] = min(lows[k], some[k]), max(highs[k], some[k])
    lowest, highest = lows[0], highs[0]
    for k in range(1, lanes):
        lowest, highest = min(lowest, lows[k]), max(highest, highs[k])
    return lowest, highest


@kernel
def plasma_fields(steps, decay, out):
    """Diamond-square on a torus, (N, side, side); steps (N, side**2 - 1) uniform in (0, 1).

    The amplitude at wibble w is w**2, since w multiplies a uniform draw from (-w, w). The cell that
    reaches across the edge has a line of its own, which leaves the loops without a branch.
    """
    n, side, _ = out.shape
    for i in range(n):
        cloud, left = out[i], steps[i]
        cloud[0, 0] = 0.0
        step, wibble = side, 100.0
        while step >= 2:
            half, cells, end = step // 2, side // step, side - step
            for y in range(0, side, step):
                top, middle, bottom = cloud[y], cloud[y + half], cloud[(y + step) % side]
                draws, left = left[:cells], left[cells:]
                for k in range(cells - 1):
                    x = k * step
                    total = (top[x] + bottom[x]) + (top[x + step] + bottom[x + step])
                    middle[x + half] = _raised(total, wibble, draws[k])
                total = (top[end] + bottom[end]) + (top[0] + bottom[0])
                middle[end + half] = _raised(total, wibble, draws[cells - 1])
            for y in range(0, side, step):
                above, row, below = cloud[(y - half) % side], cloud[y], cloud[y + half]
                draws, left = left[:cells], left[cells:]
                for k in range(cells - 1):
                    x = k * step
                    total = (below[x + half] + above[x + half]) + (row[x] + row[x + step])
                    row[x + half] = _raised(total, wibble, draws[k])
                total = (below[end + half] + above[end + half]) + (row[end] + row[0])
                row[end + half] = _raised(total, wibble, draws[cells - 1])
            for y in range(0, side, step):
                top, row, bottom = cloud[y], cloud[y + half], cloud[(y + step) % side]
                draws, left = left[:cells], left[cells:]
                row[0] = _raised((row[half] + row[-half]) + (top[0] + bottom[0]), wibble, draws[0])
                for k in range(1, cells):
                    x = k * step
                    total = (row[x + half] + row[x - half]) + (top[x] + bottom[x])
                    row[x] = _raised(total, wibble, draws[k])
            step, wibble = half, wibble / decay
        flat = cloud.reshape(-1)
        lowest, highest = _extremes(flat)
        highest -= lowest
        for k in range(flat.size):
            flat[k] = (flat[k] - lowest) / highest


@kernel
def shuffle_passes(images, moves, reach):
    """The glass shuffle, in place: a descending scan in which each pixel copies its source.

    moves (N, passes, targets) holds (dy + reach) * 2 reach + (dx + reach), in scan order.
    """
    n, height, width, _ = images.shape
    span = 2 * reach
    steps = np.empty(span * span, np.int64)
    for move in range(len(steps)):
        steps[move] = 3 * ((move // span - reach) * width + move % span - reach)
    for i in range(n):
        image = images[i].reshape(-1)
        for p in range(moves.shape[1]):
            k = 0
            for y in range(height - reach, reach, -1):
                for x in range(width - reach, reach, -1):
                    # Replayed moves may be anything; none may read outside the image.
                    move = min(np.uint32(moves[i, p, k]), np.uint32(len(steps) - 1))
                    k += 1
                    place = 3 * (y * width + x)
                    target, source = np.uint64(place), np.uint64(place + steps[move])
                    # All read before any is written: the processor waits for no store then.
                    red, green, blue = image[source], image[source + _1], image[source + _2]
                    image[target], image[target + _1], image[target + _2] = red, green, blue


@kernel
def _scan(near, far, row, zeros):
    """One row of the distance, but for the step along the row: near and far are the last two."""
    one, diagonal, knight = np.int32(65536), np.int32(91750), np.int32(143976)
    near1, near2, near3, near4 = near[1:], near[2:], near[3:], near[4:]
    far1, far3, inner = far[1:], far[3:], row[2:]
    for x in range(len(zeros)):
        jump = min(min(far1[x], far3[x]), min(near[x], near4[x])) + knight
        best = min(min(jump, min(near1[x], near3[x]) + diagonal), near2[x] + one)
        inner[x] = np.int32(0) if zeros[x] else min(inner[x], best)


@kernel
def chamfer(zeros, out):
    """Distance to the nearest True of (N, H, W), 5x5 mask, in OpenCV's 16-bit fixed point.

    OpenCV may hand this step to another library with float steps, hence a different last digit;
    written out, the layer does not depend on how OpenCV was built. Steps between rows vectorise,
    which leaves the step along the row to be done one by one.
    """
    n, height, width = zeros.shape
    one = np.int32(65536)
    grid = np.empty((height + 4, width + 4), np.int32)
    for i in range(n):
        grid[:] = (2**31 - 1) >> 2
        for y in range(2, height + 2):
            row = grid[y]
            row[2:-2] = 2**31 - 1
            _scan(grid[y - 1], grid[y - 2], row, zeros[i, y - 2])
            best = row[1]
            for x in range(2, width + 2):
                best = min(row[x], best + one)
                row[x] = best
        for y in range(height + 1, 1, -1):
            row, goal = grid[y], out[i, y - 2]
            _scan(grid[y + 1], grid[y + 2], row, zeros[i, y - 2])
            best = row[width + 2]
            for x in range(width + 1, 1, -1):
                best = min(row[x], best + one)
                row[x] = best
            for x in range(width):
                goal[x] = np.float32(row[x + 2]) * np.float32(2.0**-16)


def relief(liquid: NDArray[np.uint8]) -> NDArray[np.uint8]:
    out = np.empty_like(liquid)
    distance = np.empty(liquid.shape, np.float32)
    edges = np.stack([cv2.Canny(layer, 50, 150) for layer in liquid]) > 0
    chamfer(edges, distance)
    for depth, target in zip(np.minimum(distance, np.float32(20)), out, strict=True):
        even = cv2.equalizeHist(cv2.blur(depth, (3, 3)).astype(np.uint8))
        target[:] = cv2.blur(cv2.filter2D(even, -1, _EMBOSS), (3, 3))
    return out
