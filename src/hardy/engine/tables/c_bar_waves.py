"""Fixed tables of ImageNet-C-bar: where a noise's waves come from, turns of a blur, zooms."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hardy.engine import portable
from hardy.engine.portable import Float64, Int64
from hardy.engine.tables import frozen

Int32 = NDArray[np.int32]

TURNS = 21


class WavePlan(NamedTuple):
    """The waves of random-phase noise, (H, W // 2 + 1): half a spectrum, as a real field has it.

    A wave gathers two entries of the full spectrum, at a frequency and at its negative. `first`
    and `second` say which of the drawn phases theirs is, and how much each weighs.
    """

    first: Int32
    second: Int32
    first_weight: Float64
    second_weight: Float64


@lru_cache(maxsize=16)
def wave_plan(colour: str, height: int, width: int) -> WavePlan:
    """The plan of "blue" noise, weighted by the distance r to the middle, or of "brownish" noise,
    weighted by 1 / (r^2 + 1).

    Phases are drawn for the left half (H, ceil(W / 2)); the right half is that half turned by 180
    degrees, phases and all (not their negatives). With an odd width the last column drawn is the
    middle one, of which the upper half is mirrored down. Where the sides differ, distances count in
    steps of the shorter one. The middle, (H // 2, W // 2), is the frequency 0.
    """
    drawn = -(-width // 2)
    u, v = np.mgrid[:height, :width]
    turned = v >= width // 2
    column = np.where(turned, width - 1 - v, v)
    row = np.where(turned, height - 1 - u, u)
    if width % 2:
        middle = v == width // 2
        row = np.where(middle, np.minimum(u, height - 1 - u), row)
    phase = row * drawn + column
    side = min(height, width)
    down, along = (u - height // 2) * (side / height), (v - width // 2) * (side / width)
    square = down * down + along * along
    weight = np.sqrt(square) if colour == "blue" else 1.0 / (square + 1.0)
    # From frequencies (a, b) to where they lie about the middle.
    a, b = np.mgrid[:height, : width // 2 + 1]
    here = ((a + height // 2) % height, (b + width // 2) % width)
    there = ((height // 2 - a) % height, (width // 2 - b) % width)
    phases = (frozen(phase[place].astype(np.int32)) for place in (here, there))
    weights = (frozen(weight[place]) for place in (here, there))
    return WavePlan(*phases, *weights)


@lru_cache(maxsize=64)
def turn_table(degrees: float) -> Float64:
    """(21, 3): cosine, sine and weight of turns from -degrees to degrees; weights exp(-2 s^2)."""
    places = [k / (TURNS // 2) - 1.0 for k in range(TURNS)]
    weights = [portable.exp(-2.0 * (s * s)) for s in places]
    total = portable.pairwise_sum(np.array(weights))
    turns = [portable.cos_sin(s * degrees * portable.PI / 180.0) for s in places]
    return frozen(np.array([(*turn, w / total) for turn, w in zip(turns, weights, strict=True)]))


@lru_cache(maxsize=64)
def fringe_taps(side: int, spread: float) -> tuple[Int64, Float64]:
    """Taps of zooms by 1, 1 + spread and 1 + 2 spread, cut to `side`: two tables (3, side, 4).

    The places of four taps, mirrored about the outermost pixels, and their weights: cubic B-splines
    in SciPy's arithmetic, which takes the last weight as what the others leave of 1.
    """
    places, weights = [], []
    for factor in (1.0, 1.0 + spread, 1.0 + 2.0 * spread):
        out = round(side * factor)
        first = (out - side) // 2
        place = np.arange(first, first + side) * ((side - 1) / (out - 1))
        whole = np.floor(place)
        t = place - whole
        z = 1.0 - t
        before = z * z * z / 6.0
        near = (t * t * (t - 2.0) * 3.0 + 4.0) / 6.0
        far = (z * z * (z - 2.0) * 3.0 + 4.0) / 6.0
        weights.append(np.stack([before, near, far, 1.0 - before - near - far], axis=1))
        taps = np.abs(whole.astype(np.int64)[:, None] + np.arange(-1, 3))
        places.append(np.minimum(taps, 2 * (side - 1) - taps))
    return frozen(np.stack(places)), frozen(np.stack(weights))
