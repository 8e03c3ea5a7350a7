"""Corruptions: images in, corrupted images out. Each formula is written once, against `ops`.

`imagenet_c`, `noc` and `c_bar` hold the formulas of the benchmarks of these names, `sequences` the
perturbations of ImageNet-P; `corruption` and `perturbation` say what one is and register it,
`passes` runs it on a batch, and `calls` has the public functions. The package itself can be called:
`hardy.corrupt(image, "fog", 3)`.
"""

from hardy.corrupt import sequences
from hardy.corrupt.c_bar import distortions, shapes, waves
from hardy.corrupt.corruption import CORRUPTIONS, FORMULAS, Corruption
from hardy.corrupt.imagenet_c import blur, digital, noise, weather
from hardy.corrupt.noc import colour, geometry, grain, obstructions, resampling
from hardy.corrupt.perturbation import PERTURBATIONS, Perturbation
from hardy.rooms import call_room

__all__ = [
    "CORRUPTIONS",
    "FORMULAS",
    "PERTURBATIONS",
    "Corruption",
    "Perturbation",
    "blur",
    "colour",
    "digital",
    "distortions",
    "geometry",
    "grain",
    "noise",
    "obstructions",
    "resampling",
    "sequences",
    "shapes",
    "waves",
    "weather",
]

call_room(__name__, "hardy.corrupt.calls:corrupt")
