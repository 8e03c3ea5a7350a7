"""Corruptions: images in, corrupted images out. Each formula is written once, against `ops`."""

from hardy.corrupt import blur, digital, noise, sequence, weather
from hardy.corrupt.corruption import CORRUPTIONS, FORMULAS, Corruption
from hardy.corrupt.perturbation import PERTURBATIONS, Perturbation

__all__ = [
    "CORRUPTIONS",
    "FORMULAS",
    "PERTURBATIONS",
    "Corruption",
    "Perturbation",
    "blur",
    "digital",
    "noise",
    "sequence",
    "weather",
]
