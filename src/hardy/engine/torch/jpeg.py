"""libjpeg's round trip at 4:2:0 on torch tensors; coding is lossless and left out.

All numbers are whole, and float64 holds them exactly: its matrix products are exact in whichever
order a device adds, and a division by a power of two rounded down is libjpeg's shift.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hardy.engine.tables import jpeg_constants as jpeg_tables
from hardy.engine.torch.constants import constant


def jpeg(images: Tensor, quality: int) -> Tensor:
    """RGB to YCbCr, chroma halved, cosine transform, quantisation, and all the way back."""
    n, height, width, _ = images.shape
    jpeg_tables.check_sides(height, width)
    luma_steps, chroma_steps = jpeg_tables.quantisers(quality)
    to_ycc, offset, from_chroma = (
        constant(table, images.device)
        for table in (jpeg_tables.TO_YCC, jpeg_tables.TO_YCC_OFFSET, jpeg_tables.FROM_CHROMA)
    )
    ycc = torch.floor((images.to(torch.float64) @ to_ycc + offset) * 2.0**-16)
    luma = _quantised(ycc[..., 0], luma_steps)
    chroma = ycc[..., 1:].permute(0, 3, 1, 2).reshape(2 * n, height, width)
    chroma = _doubled(_quantised(_halved(chroma), chroma_steps)[:, :, : -(-width // 2)])
    chroma = chroma[:, :height, :width].reshape(n, 2, height, width).permute(0, 2, 3, 1) - 128.0
    colour = torch.floor((chroma @ from_chroma + 32768.0) * 2.0**-16)
    return (luma[..., None] + colour).clamp(0.0, 255.0).to(torch.uint8)


def _extended(planes: Tensor, dim: int, multiple: int) -> Tensor:
    """The last row or column repeated until their number is a multiple."""
    side = planes.shape[dim]
    lacking = -side % multiple
    if not lacking:
        return planes
    last = planes.narrow(dim, side - 1, 1)
    return torch.cat([planes, *[last] * lacking], dim)


def _halved(planes: Tensor) -> Tensor:
    """Means of 2 x 2, rounded by adding 1 in even and 2 in odd columns, 8 ceil(W / 16) wide.

    Columns are repeated before, rows but for an odd one after: in the next step.
    """
    planes = _extended(_extended(planes, 2, 16), 1, 2)
    sums = planes[:, ::2, ::2] + planes[:, ::2, 1::2] + planes[:, 1::2, ::2] + planes[:, 1::2, 1::2]
    bias = torch.arange(sums.shape[2], device=planes.device) % 2 + 1
    return torch.floor((sums + bias) * 0.25)


def _quantised(planes: Tensor, steps: NDArray[np.float64]) -> Tensor:
    """Planes (P, H, W) of levels through the transform, its coefficients to whole steps."""
    count, height, width = planes.shape
    padded = _extended(_extended(planes, 1, 8), 2, 8) - 128.0
    down, along = padded.shape[1] // 8, padded.shape[2] // 8
    blocks = padded.reshape(count, down, 8, along, 8).transpose(2, 3)
    cosines = constant(jpeg_tables.COSINES, planes.device)
    # Rows, then columns; between the two the blocks lie on their side.
    across = _rounded(blocks @ cosines.T, 11).transpose(3, 4)
    found = _rounded(across @ cosines.T, 15)
    # `found` is eight times the coefficient; halves go away from zero.
    step = constant(steps, planes.device).T
    kept = torch.sign(found) * torch.floor((found.abs() + 4.0 * step) / (8.0 * step)) * step
    upright = _rounded(kept @ cosines, 11).transpose(3, 4)
    levels = (_rounded(upright @ cosines, 18) + 128.0).clamp(0.0, 255.0)
    return levels.transpose(2, 3).reshape(padded.shape)[:, :height, :width]


def _rounded(sums: Tensor, bits: int) -> Tensor:
    return torch.floor(sums * 2.0**-bits + 0.5)


def _doubled(planes: Tensor) -> Tensor:
    """Twice as large by weights 3/4 and 1/4, rounded by adding 8 in even, 7 in odd columns."""
    before, after = _neighbours(planes, 1)
    tall = torch.stack([3.0 * planes + before, 3.0 * planes + after], 2).flatten(1, 2)
    before, after = _neighbours(tall, 2)
    wide = torch.stack([3.0 * tall + before + 8.0, 3.0 * tall + after + 7.0], 3).flatten(2, 3)
    return torch.floor(wide * 2.0**-4)


def _neighbours(planes: Tensor, dim: int) -> tuple[Tensor, Tensor]:
    """The one before and the one after each row or column; at the ends, itself."""
    last = planes.shape[dim] - 1
    first_one, last_one = planes.narrow(dim, 0, 1), planes.narrow(dim, last, 1)
    return (
        torch.cat([first_one, planes.narrow(dim, 0, last)], dim),
        torch.cat([planes.narrow(dim, 1, last), last_one], dim),
    )
