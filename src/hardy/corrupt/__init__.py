"""Corruptions: images in, corrupted images out. Each formula is written once, against `ops`."""

from hardy.corrupt import (
    bar_noise,
    bar_shapes,
    bar_warps,
    blur,
    digital,
    noc_blur,
    noc_colour,
    noc_geometry,
    noc_noise,
    noc_stamps,
    noise,
    sequence,
    weather,
)
from hardy.corrupt.corruption import CORRUPTIONS, FORMULAS, Corruption
from hardy.corrupt.perturbation import PERTURBATIONS, Perturbation

__all__ = [
    "CORRUPTIONS",
    "FORMULAS",
    "PERTURBATIONS",
    "Corruption",
    "Perturbation",
    "bar_noise",
    "bar_shapes",
    "bar_warps",
    "blur",
    "digital",
    "noc_blur",
    "noc_colour",
    "noc_geometry",
    "noc_noise",
    "noc_stamps",
    "noise",
    "sequence",
    "weather",
]
