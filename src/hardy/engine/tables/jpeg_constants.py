"""libjpeg's constants: quantisation tables by quality, the integer cosine transform, limits."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hardy.errors import InputError, sides

_LONGEST_SIDE = 65500

# At quality 50; rows are vertical frequencies (ITU-T T.81, annex K).
_LUMA = np.array([
    [16, 11, 10, 16, 24, 40, 51, 61],
    [12, 12, 14, 19, 26, 58, 60, 55],
    [14, 13, 16, 24, 40, 57, 69, 56],
    [14, 17, 22, 29, 51, 87, 80, 62],
    [18, 22, 37, 56, 68, 109, 103, 77],
    [24, 35, 55, 64, 81, 104, 113, 92],
    [49, 64, 78, 87, 103, 121, 120, 101],
    [72, 92, 95, 98, 112, 100, 103, 99],
])  # fmt: skip
_CHROMA = np.full((8, 8), 99)
_CHROMA[:4, :4] = [[17, 18, 24, 47], [18, 21, 26, 66], [24, 26, 56, 99], [47, 66, 99, 99]]

# Left halves of the rows of the transform; the right halves mirror them, every other one negated.
# libjpeg's butterflies add up 13-bit constants, so 2259, 2260 and 2261 stand where one would be.
_HALF = np.array([
    [8192, 8192, 8192, 8192],
    [11363, 9633, 6437, 2260],
    [10703, 4433, -4433, -10703],
    [9633, -2259, -11362, -6436],
    [8192, -8192, -8192, 8192],
    [6437, -11362, 2261, 9633],
    [4433, -10704, 10704, -4433],
    [2260, -6436, 9633, -11363],
])  # fmt: skip
COSINES = np.concatenate([_HALF, _HALF[:, ::-1] * np.array([[1], [-1]] * 4)], 1).astype(float)

# Columns Y, Cb and Cr from rows R, G and B, in 1/65536; and what is added before rounding down.
TO_YCC = np.array([[19595, -11059, 32768], [38470, -21709, -27439], [7471, 32768, -5329.0]])
TO_YCC_OFFSET = np.array([32768, 8421375, 8421375.0])
# Columns R, G and B from rows Cb - 128 and Cr - 128, in 1/65536.
FROM_CHROMA = np.array([[0, -22554, 116130], [91881, -46802, 0.0]])


@lru_cache(maxsize=128)
def quantisers(quality: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Steps (8, 8) of luma and of chroma."""
    quality = min(max(quality, 1), 100)
    scale = 5000 // quality if quality < 50 else 200 - 2 * quality
    luma, chroma = (
        np.clip((base * scale + 50) // 100, 1, 255).astype(np.float64) for base in (_LUMA, _CHROMA)
    )
    return luma, chroma


def check_sides(height: int, width: int) -> None:
    if max(height, width) > _LONGEST_SIDE:
        raise InputError(
            f"JPEG holds sides of at most {_LONGEST_SIDE} pixels, got {sides(height, width)}; "
            "crop the image"
        )
