"""Golden SHA-256 of every (suite, corruption, severity): `make golden` writes them anew.

The images are made of integer arithmetic, so that nothing but the corruptions can change a hash.
Hashes change when bytes change, and bytes are promised to stay: a new file needs a reason in the
changelog.
"""

from __future__ import annotations

import hashlib
import json
import sys
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import hardy
from hardy.suites import edition, load

FILE = Path(__file__).with_name("corruptions.json")
# Besides every suite at its own side: sizes that are odd, not square and no edition's.
ODD = {f"{name} at 45x37": (name, (45, 37)) for name in ("cifar", "c_bar", "c_bar_cifar", "noc")}

Digests = dict[str, dict[str, list[str]]]


def synthetic(height: int, width: int) -> NDArray[np.uint8]:
    """Three images: ramps under a little noise, flat blocks with pure black and white, noise."""
    y, x, c = np.ogrid[:height, :width, :3]
    mixed = (x * 73856093 ^ y * 19349663 ^ (c + 1) * 83492791) * 2654435761
    noise = mixed >> 13 & 255
    ramp = (x * 255 // (width - 1) * (c + 1) + y * 255 // (height - 1) * (3 - c)) // 4
    blocks = (x // 7 * 89 + y // 5 * 57 + x // 7 * (y // 5) * 31 + c * (y // 10) * 40) % 320
    ramps = ramp * 15 // 16 + noise // 16
    flats = np.clip(blocks - 32, 0, 255)
    return np.stack(np.broadcast_arrays(ramps, flats, noise)).astype(np.uint8)


def digest(chosen: str, name: str, severity: int, size: tuple[int, int]) -> str:
    """The hash of the three images, called 0, 1 and 2, corrupted with seed 0."""
    result = hardy.corrupt(synthetic(*size), name, severity, edition=chosen)
    return hashlib.sha256(result.tobytes()).hexdigest()


def sizes() -> dict[str, tuple[str, tuple[int, int]]]:
    """Each entry's edition and size."""
    kept = [suite for suite in hardy.suites() if load(suite).corruptions]
    named = {suite: load(suite).edition.name for suite in kept}
    native = {suite: (name, (load(suite).edition.side,) * 2) for suite, name in named.items()}
    return native | ODD


def names(entry: str) -> tuple[str, ...]:
    """A suite's own; at the odd sizes all that the edition has."""
    if entry in ODD:
        return tuple(edition(ODD[entry][0]).corruptions)
    return load(entry).corruptions


def digests() -> Digests:
    @cache
    def of(chosen: str, size: tuple[int, int], name: str) -> list[str]:
        # Suites of one edition have the same bytes.
        return [digest(chosen, name, level, size) for level in edition(chosen).severities(name)]

    return {
        entry: {name: of(chosen, size, name) for name in names(entry)}
        for entry, (chosen, size) in sizes().items()
    }


def write(file: Path, made: Digests) -> None:
    """Into the file, or with `-` on the command line to the terminal."""
    text = json.dumps(made, indent=1) + "\n"
    if sys.argv[1:] == ["-"]:
        sys.stdout.write(text)
    else:
        file.write_text(text)


if __name__ == "__main__":
    write(FILE, digests())
