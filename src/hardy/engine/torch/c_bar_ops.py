"""What ImageNet-C-bar's formulas need besides plain arithmetic, on torch tensors."""

import numpy as np
import torch
from torch import Tensor

from hardy.engine import portable
from hardy.engine.tables.c_bar_waves import WavePlan
from hardy.engine.torch.constants import constant


def sqrt(array: Tensor) -> Tensor:
    """The square root, on the host by NumPy: torch's own there is one ulp off once in a hundred."""
    if array.device.type != "cpu":
        return torch.sqrt(array)
    return torch.from_numpy(np.asarray(np.sqrt(array.numpy())))


def power(base: Tensor, exponent: float) -> Tensor:
    """The steps of cpu.maths.power."""
    bits = base.view(torch.int64)
    octave = (bits - portable.ROOT_HALF_BITS) >> 52
    mantissa = (bits - (octave << 52)).view(torch.float64)
    k = octave.to(torch.float64)
    s = (mantissa - 1.0) / (mantissa + 1.0)
    log = s * portable.series(s * s, portable.LOG_TERMS) + k * portable.LN2_LOW
    x = (k * portable.LN2_HIGH + log) * exponent
    n = (x * portable.INVERSE_LN2 + portable.ROUNDER) - portable.ROUNDER
    r = (x - n * portable.LN2_HIGH) - n * portable.LN2_LOW
    scale = ((n.to(torch.int64) + 1023) << 52).view(torch.float64)
    return portable.series(r, portable.EXP_TERMS) * scale


def order(words: Tensor) -> Tensor:
    whole = words.view(torch.int32).to(torch.int64) & 0xFFFFFFFF
    return whole.argsort(dim=-1, stable=True)


def shifted(fields: Tensor, down: int, right: int) -> Tensor:
    _, height, width = fields.shape
    out = torch.zeros_like(fields)
    out[:, max(down, 0) : height + min(down, 0), max(right, 0) : width + min(right, 0)] = fields[
        :, max(-down, 0) : height - max(down, 0), max(-right, 0) : width - max(right, 0)
    ]
    return out


def wave_noise(phases: Tensor, plan: WavePlan, width: int) -> Tensor:
    first, second, first_weight, second_weight = (constant(t, phases.device) for t in plan)
    shape = (*phases.shape[:2], *first.shape)
    flat = phases.flatten(2)
    cosines, sines = portable.cosine(flat), portable.sine(flat)

    def waves(values: Tensor, places: Tensor, weights: Tensor) -> Tensor:
        return values.index_select(2, places.flatten()).reshape(shape) * weights

    real = waves(cosines, first, first_weight) + waves(cosines, second, second_weight)
    imaginary = waves(sines, first, first_weight) - waves(sines, second, second_weight)
    field = torch.fft.irfft2(torch.complex(real, imaginary), s=(shape[2], width))
    off = field - field.mean((2, 3), keepdim=True)
    return field / (off * off).mean((2, 3), keepdim=True).sqrt()
