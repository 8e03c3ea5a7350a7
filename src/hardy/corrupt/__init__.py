"""Corruptions: images in, corrupted images out. Each formula is written once, against `ops`."""

from hardy.corrupt import sequences as sequence
from hardy.corrupt.c_bar import distortions as bar_warps
from hardy.corrupt.c_bar import shapes as bar_shapes
from hardy.corrupt.c_bar import waves as bar_noise
from hardy.corrupt.corruption import CORRUPTIONS, FORMULAS, Corruption
from hardy.corrupt.imagenet_c import blur, digital, noise, weather
from hardy.corrupt.noc import colour as noc_colour
from hardy.corrupt.noc import geometry as noc_geometry
from hardy.corrupt.noc import grain as noc_noise
from hardy.corrupt.noc import obstructions as noc_stamps
from hardy.corrupt.noc import resampling as noc_blur
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
