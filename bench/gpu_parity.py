"""Does the GPU give the CPU engine's bytes? Those were made elsewhere and travelled in a folder.

So the machine, its Python and its libraries are compared too, not the device alone.
"""

from __future__ import annotations

import platform
import shutil
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench.photos import CIFAR, crops
from hardy.corrupt import CORRUPTIONS, PERTURBATIONS, perturbation
from hardy.engine import rng
from hardy.engine.ops import Array, Ops, cpu_ops
from hardy.engine.rng import Draws
from hardy.suites import edition

Cell = tuple[str, int]
Moved = Callable[[NDArray[np.uint8]], Array]

# How many images of which size stand for an edition, some of them smaller than native.
CHECKED = {
    "224": (2, 224, 224),
    "299": (1, 120, 160),
    "64": (3, 45, 61),
    "cifar": (8, 32, 32),
    "c_bar": (1, 224, 224),
    "c_bar_cifar": (8, 32, 32),
    "noc": (3, 120, 160),
}
IDS = np.array([7, 2**63 + 11, 0, 5, 6, 2**40, 1, 2**64 - 1], np.uint64)
FRAMES = (0, 1, 2, 7)
STORAGE = 85
MADE_BY = "made_by.txt"


def corrupted(ops: Ops, images: Array, cell: Cell, chosen: str, ids: NDArray[np.uint64]) -> Array:
    """As `engine.run`, on a backend of one's choice and in one part."""
    name, severity = cell
    params = edition(chosen).params(name, severity)
    draws = Draws(ops, rng.derive_key(0, chosen, name, severity), ids)
    fields = CORRUPTIONS[name].draw(draws, tuple(images.shape[1:3]), **params)
    return CORRUPTIONS[name].apply(ops, images, fields, **params)


def frames(ops: Ops, images: Array, name: str, ids: NDArray[np.uint64]) -> Array:
    """Four early frames of a sequence, one batch after the other."""
    made, params = PERTURBATIONS[name], edition("224").steps(name).params(1)
    draws = Draws(ops, rng.derive_key(0, "224", name, 1), ids)
    size = (images.shape[1], images.shape[2])
    scene = perturbation.Scene(
        images, (0, 0, *size), lambda frame: made.draw(draws, size, frame, **params)
    )
    return ops.join(list(made.frames(ops, scene, FRAMES, **params)))


def cells(chosen: str) -> list[Cell]:
    """The cells of an edition; none has every corruption, and some have one severity."""
    has = edition(chosen)
    names = [name for name in CORRUPTIONS.names() if name in has.corruptions]
    return [(name, severity) for name in names for severity in has.severities(name)]


def pictures(chosen: str) -> NDArray[np.uint8]:
    count, height, width = CHECKED[chosen]
    if height == CIFAR:
        return crops(count, CIFAR)
    return np.ascontiguousarray(crops(count + 8)[8:, 224 - height :, 224 - width :])


def everything(ops: Ops, moved: Moved) -> dict[str, Callable[[], Array]]:
    """All that is compared, by name: edition/corruption/severity, frames/perturbation."""
    work: dict[str, Callable[[], Array]] = {}
    for chosen, (count, *_) in CHECKED.items():
        images, ids = moved(pictures(chosen)), IDS[:count]
        for cell in cells(chosen):
            work[f"{chosen}/{cell[0]}/{cell[1]}"] = (
                lambda images=images, cell=cell, chosen=chosen, ids=ids: corrupted(
                    ops, images, cell, chosen, ids
                )
            )
        work[f"{chosen}/jpeg:85/1"] = lambda images=images: ops.jpeg(images, STORAGE)
    small = moved(pictures("64")[:2])
    for name in PERTURBATIONS.names():
        work[f"frames/{name}/1"] = lambda name=name: frames(ops, small, name, IDS[:2])
    return work


def write_reference(folder: Path) -> None:
    from hardy.engine import textures

    folder.mkdir(parents=True, exist_ok=True)
    made = {name: call() for name, call in everything(cpu_ops(), lambda images: images).items()}
    np.savez(folder / "bytes.npz", **made)
    (folder / MADE_BY).write_text(f"Python {platform.python_version()}, NumPy {np.__version__}")
    for texture in textures.TEXTURES:
        shutil.copy(textures.texture_folder() / texture.file, folder)


def warm(ops: Ops, moved: Moved, share: int, of: int) -> None:
    """Compile what a share of the work needs; the cache on disk hands it on."""
    for call in list(everything(ops, moved).values())[share::of]:
        with suppress(Exception):
            call()


def compare(ops: Ops, moved: Moved, folder: Path) -> dict[str, dict[str, Any]]:
    """What was compared, and what differs, for each edition and for sequences."""
    expected = np.load(folder / "bytes.npz")
    found: dict[str, dict[str, Any]] = {}
    for name, call in everything(ops, moved).items():
        chosen, _, cell = name.partition("/")
        shape = [*expected[name].shape[:3]]  # the same for all of an edition
        row = found.setdefault(chosen, {"compared": 0, "images": shape, "values": 0, "differ": {}})
        row["compared"] += 1
        row["values"] += expected[name].size
        try:
            note = difference(call().cpu().numpy(), expected[name])
        except Exception:
            note = traceback.format_exc().strip().splitlines()[-1][:300]
        if note:
            row["differ"][cell] = note
    return found


def difference(result: NDArray[Any], expected: NDArray[Any]) -> str:
    """Empty if there is none."""
    if result.shape != expected.shape:
        return f"shape {result.shape}, expected {expected.shape}"
    count = np.count_nonzero(result != expected)
    if not count:
        return ""
    gap = np.max(np.abs(result.astype(np.int64) - expected.astype(np.int64)))
    return f"{count / result.size:.3%} of the values, by up to {gap}"
