"""A drawing becomes 32 x 32 pixels, by whole numbers alone, so that no library decides a byte.

What is transparent around a drawing is cut away, what is left is put in the middle of a white
square, and each of the 32 x 32 pixels is the mean over its part of that square.
"""

import io
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.engine.door import UInt8, open_pil
from hardy.errors import InputError, need
from hardy.limits import PIXELS

SIDE = 32
RESVG = "0.5.0"  # the version whose rendering the sums of the sets are those of
_DRAWN = 64  # pixels along the width of vector art, before it is reduced
_VISIBLE = 24  # of 255: what is less opaque belongs to the border


def need_resvg() -> Any:
    """The package that renders vector art, in the version that is known to give these bytes."""
    from importlib.metadata import version

    resvg = need("resvg_py", "icons", "drawing vector icons")
    if (found := version("resvg_py")) != RESVG:
        raise InputError(
            f"expected resvg_py {RESVG}, which draws the same pixels everywhere, got {found}; "
            f"install that: pip install resvg_py=={RESVG}"
        )
    return resvg


def render(svg: str) -> UInt8:
    """Vector art as (H, W, 4), of which the last is how opaque it is."""
    drawn = need_resvg().svg_to_bytes(svg_string=svg, width=_DRAWN, skip_system_fonts=True)
    return decode(bytes(drawn))


def decode(content: bytes) -> UInt8:
    """A PNG or WebP as (H, W, 4)."""
    image = open_pil(io.BytesIO(content))
    PIXELS.check(image.width * image.height, "an icon")
    return np.asarray(image.convert("RGBA"))


def reduce_drawing(drawing: UInt8) -> UInt8 | None:
    """(H, W, 4) as (32, 32, 3) on white; None where there is nothing to be seen."""
    seen = drawing[..., 3] > _VISIBLE
    if not seen.any():
        return None
    (top, bottom), (left, right) = (_ends(seen, axis) for axis in (1, 0))
    cut = drawing[top:bottom, left:right].astype(np.int64)
    opaque = cut[..., 3:]
    on_white = (cut[..., :3] * opaque + 255 * (255 - opaque) + 127) // 255
    height, width = on_white.shape[:2]
    side = max(height, width)
    square = np.full((side, side, 3), 255, np.int64)
    top, left = (side - height) // 2, (side - width) // 2
    square[top : top + height, left : left + width] = on_white
    shares = _shares(side)
    sums = np.einsum("ip,pqc->iqc", shares, square)
    sums = np.einsum("jq,iqc->ijc", shares, sums)
    small: UInt8 = ((sums + side * side // 2) // (side * side)).astype(np.uint8)
    return small


def _ends(seen: npt.NDArray[np.bool_], axis: int) -> tuple[int, int]:
    places = np.flatnonzero(np.any(seen, axis))
    return int(places[0]), int(places[-1]) + 1


@cache
def _shares(side: int) -> npt.NDArray[np.int64]:
    """How much of each of the 32 parts of a line lies on each of its `side` pixels; a row adds up
    to `side`."""
    parts, pixels = np.arange(SIDE)[:, None], np.arange(side)
    first = np.maximum(parts * side, pixels * SIDE)
    last = np.minimum((parts + 1) * side, (pixels + 1) * SIDE)
    shares: npt.NDArray[np.int64] = np.maximum(last - first, 0)
    return shares
