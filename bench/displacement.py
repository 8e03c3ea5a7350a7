"""How far a corruption moves things: the way of a soft spot, in pixels.

Grey is corrupted with and without a spot on it, by the same draws. Where the two differ is
where the spot went; a smear is where its middle is.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

Images = NDArray[np.uint8]
PLACES = ((0.25, 0.25), (0.7, 0.8), (0.3, 0.6))  # of height and width
_GREY, _BRIGHT, _RADIUS = 100, 100, 1 / 60  # the radius is a share of the shorter side
_PRESENT = 0.3  # of the greatest difference: less is noise, or changed all over the image


def displacements(
    corrupt: Callable[[Images], Images], size: tuple[int, int], count: int
) -> NDArray[np.float64]:
    """One length per place and image of a batch; NaN where nothing is left of the spot."""
    rows, columns = np.mgrid[: size[0], : size[1]]
    plain: Images = np.full((count, *size, 3), _GREY, np.uint8)
    plain[:, :4, :4] = _GREY + _BRIGHT  # fog goes by the brightest pixel: the spot changes none
    without = corrupt(plain).astype(float)
    found = []
    for share_down, share_along in PLACES:
        down, along = share_down * size[0], share_along * size[1]
        squares = (rows - down) ** 2 + (columns - along) ** 2
        spot = _BRIGHT * np.exp(-squares / (2 * (_RADIUS * min(size)) ** 2))
        spotted = plain + spot[None, ..., None].astype(np.uint8)
        for difference in np.abs(corrupt(spotted) - without).sum(-1):
            weight = np.where(difference < _PRESENT * difference.max(), 0.0, difference)
            with np.errstate(invalid="ignore"):
                weight /= weight.sum()
            gone = (weight * rows).sum() - down, (weight * columns).sum() - along
            found.append(np.hypot(*gone))
    return np.array(found)
