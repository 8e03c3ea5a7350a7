"""The gallery's pictures, a strip for each corruption and sequence: `python -m docs.gallery`.

The photograph is Chelsea the cat by Stefan van der Walt, released under CC0, from scikit-image. A
strip has the clean picture and what becomes of it side by side; the page shows one at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image
from skimage.data import chelsea

import hardy
from hardy.corrupt.corruption import CORRUPTIONS
from hardy.corrupt.perturbation import PERTURBATIONS
from hardy.engine.door import UInt8
from hardy.images.recipes import eight_sevenths
from hardy.suites import edition, load

FOLDER = Path(__file__).parent.parent / "build" / "gallery"
SIDE = 224
DRAWS = range(1, 6)
# What the page calls them, and the editions that have their constants.
CORRUPTED = {"imagenet c": ("224",), "c bar": ("c_bar", "c_bar_cifar"), "noc": ("noc",)}
SEQUENCES = "imagenet p"


@dataclass(frozen=True)
class Strip:
    """What is shown of one corruption or sequence."""

    name: str
    summary: str
    constants: str  # of all severities
    kind: str  # what its slider moves along: severity, draw or frame
    stops: tuple[str, ...]  # what is said of each picture

    @property
    def file(self) -> str:
        return f"{'sequence-' if self.kind == 'frame' else ''}{self.name}.webp"

    def pictures(self, photo: UInt8) -> list[UInt8]:
        if self.kind == "frame":
            return list(hardy.perturb(photo, self.name, recipe=eight_sevenths(SIDE)))
        clean = eight_sevenths(SIDE).prepare(photo)
        if self.kind == "draw":
            return [clean, *(hardy.corrupt(clean, self.name, 1, ids=draw) for draw in DRAWS)]
        severities = range(1, len(self.stops))
        return [clean, *(hardy.corrupt(clean, self.name, severity) for severity in severities)]


def strips(group: str) -> Iterator[Strip]:
    """All of a group, in the order of its benchmark."""
    if group == SEQUENCES:
        yield from map(sequence, load("imagenet_p").perturbations)
        return
    rows: dict[str, tuple[dict[str, float], ...]] = {}
    for name in CORRUPTED[group]:
        rows = {**edition(name).corruptions, **rows}
    for name in (one for one in hardy.corruptions() if one in rows):
        yield corrupted(name, rows[name])


def corrupted(name: str, rows: tuple[dict[str, float], ...]) -> Strip:
    summary = CORRUPTIONS[name].summary
    if len(rows) == 1:
        drawn = f"{rows[0]['low']:g} to {rows[0]['high']:g}"
        stops = ("clean", *(f"draw {draw}" for draw in DRAWS))
        return Strip(name, summary, drawn, "draw", stops)
    said = [", ".join(f"{key} {value:g}" for key, value in row.items()) for row in rows]
    stops = ("clean", *(f"severity {k}: {one}" for k, one in enumerate(said, 1)))
    return Strip(name, summary, in_columns(rows), "severity", stops)


def sequence(name: str) -> Strip:
    steps = edition("224").steps(name)
    stops = tuple(f"frame {k} of {steps.frames}" for k in range(1, steps.frames + 1))
    summary = PERTURBATIONS[name].summary
    return Strip(name, summary, in_columns(steps.levels[:1]), "frame", stops)


def in_columns(rows: tuple[dict[str, float], ...]) -> str:
    """Each constant with its values; once, where all severities have the same."""
    said = []
    for key in rows[0]:
        values = [f"{row[key]:g}" for row in rows]
        said.append(f"{key} {', '.join(values if len(set(values)) > 1 else values[:1])}")
    return "; ".join(said)


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    photo = chelsea()
    for strip in (strip for group in (*CORRUPTED, SEQUENCES) for strip in strips(group)):
        whole = np.concatenate([np.asarray(one) for one in strip.pictures(photo)], axis=1)
        Image.fromarray(whole).save(FOLDER / strip.file, quality=70, method=2)


if __name__ == "__main__":
    main()
