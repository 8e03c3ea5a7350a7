"""Golden SHA-256 of every (edition, perturbation, level): `python -m tests.golden.make_sequences`.

As for the corruptions (see `make`), on images of integer arithmetic. Besides each edition at its
own side, without a recipe: a window in a larger base, which Pillow has no part in.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import numpy as np

import hardy
from hardy.images.recipes import Recipe
from hardy.suites import edition, editions
from tests.golden.make import Digests, synthetic, write

FILE = Path(__file__).with_name("sequences.json")
WINDOW = "cifar, the middle 32x40 of 37x61"
CROP = Recipe("crop@1", "", "file_stem", None, np.asarray, lambda height, width: (32, 40))


def cases() -> dict[str, tuple[str, tuple[int, int], Recipe | None]]:
    """Each entry's edition, size of the image, and recipe."""
    native = {name: (name, (edition(name).side,) * 2, None) for name in editions("tilt")}
    return native | {WINDOW: ("cifar", (37, 61), CROP)}


def digest(entry: str, name: str, level: int) -> str:
    """The hash of all frames of the first synthetic image, called 0, with seed 0."""
    chosen, size, recipe = cases()[entry]
    image = synthetic(*size)[0]
    frames = hardy.perturb(image, name, level=level, edition=chosen, recipe=recipe)
    return hashlib.sha256(frames.array().tobytes()).hexdigest()


def digests() -> Digests:
    return {
        entry: {
            name: [digest(entry, name, level + 1) for level in range(len(steps.levels))]
            for name, steps in edition(chosen).perturbations.items()
        }
        for entry, (chosen, _, _) in cases().items()
    }


if __name__ == "__main__":
    write(FILE, digests())
