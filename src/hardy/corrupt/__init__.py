"""Corruptions: images in, corrupted images out. Each formula is written once, against `ops`."""

from hardy.corrupt import blur, digital, noise, weather
from hardy.corrupt.corruption import CORRUPTIONS, FORMULAS, Corruption

__all__ = ["CORRUPTIONS", "FORMULAS", "Corruption", "blur", "digital", "noise", "weather"]
