"""Corruptions: images in, corrupted images out. Each formula is written once, against `ops`.

`imagenet_c`, `noc` and `c_bar` hold the formulas of the benchmarks of these names, `sequences` the
perturbations of ImageNet-P; `corruption` and `perturbation` say what one is and register it,
`passes` runs it on a batch, and `calls` has the public functions. The package itself can be called:
`hardy.corrupt(image, "fog", 3)`.
"""

# isort: off
from hardy.corrupt.corruption import CORRUPTIONS, FORMULAS, Corruption
from hardy.corrupt.perturbation import PERTURBATIONS, Perturbation
from hardy.rooms import call_room

# Imported to be registered; `hardy.corruptions` lists them in this order.
from hardy.corrupt.c_bar import waves, shapes, distortions
from hardy.corrupt.imagenet_c import blur, digital, noise, weather
from hardy.corrupt.noc import resampling, colour, geometry, grain, obstructions
from hardy.corrupt import sequences

__all__ = ["CORRUPTIONS", "FORMULAS", "PERTURBATIONS", "Corruption", "Perturbation"]

call_room(__name__, "hardy.corrupt.calls:corrupt")
