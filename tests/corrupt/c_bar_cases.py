"""Arguments that the formulas of both C-bar benchmarks are called with, to call them once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import hardy
from hardy.corrupt import CORRUPTIONS
from hardy.engine.cpu.ops import NumpyOps
from hardy.suites import edition, editions

FORMULAS = {
    "blacken": "blue_noise_sample",
    "add_noises": "brownish_noise",
    "stir": "plasma_noise",
    "cloud": "perlin_noise",
    "chequer": "checkerboard_cutout",
    "ring": "cocentric_sine_waves",
    "stripe": "single_frequency_greyscale",
    "sparkle": "sparkles",
    "window": "inverse_sparkles",
    "rule": "lines",
    "caustics": "caustic_refraction",
    "refract": "caustic_refraction",
    "displace": "pinch_and_twirl",
    "fringe": "transverse_chromatic_abberation",
    "spin": "circular_motion_blur",
}


class Recorder(NumpyOps):
    """Remembers what one formula was called with."""

    def __init__(self, formula: str) -> None:
        self.calls: list[tuple[Any, ...]] = []
        fused = NumpyOps.fused[formula]

        def recorded(*arguments: Any) -> Any:
            self.calls.append(arguments)
            return fused(*arguments)

        self.fused = NumpyOps.fused | {formula: recorded}


def calls_of(formula: str) -> Callable[[np.ndarray], Iterator[tuple[Any, ...]]]:
    def case(images: np.ndarray) -> Iterator[tuple[Any, ...]]:
        name, size = FORMULAS[formula], images.shape[1:3]
        for chosen in editions(name):
            for severity in (1, 5):
                fields = hardy.draw(name, severity, size, ids=range(len(images)), edition=chosen)
                ops, params = Recorder(formula), edition(chosen).params(name, severity)
                CORRUPTIONS[name].apply(ops, images, fields, **params)
                yield ops.calls[0][1:]

    return case


CASES = {formula: calls_of(formula) for formula in FORMULAS}
