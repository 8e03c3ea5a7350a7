"""Small sources to build from, and what a built folder holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from hardy.execute import executor
from hardy.images.readers import open_images
from hardy.images.source import Source
from hardy.suites import load
from hardy.suites.cells import Cell, choose_cells
from hardy.suites.suite import Suite
from hardy.variants.disk.build import BuildOutcome, build_cells
from tests.photos import photos

CHEAP = ("contrast", "jpeg_compression")


def write_photos(folder: Path, count: int = 6) -> Path:
    """JPEG photographs of several sizes in two class folders."""
    for k in range(count):
        place = folder / f"n0000000{k % 2}" / f"photo_{k:03d}.JPEG"
        place.parent.mkdir(parents=True, exist_ok=True)
        pixels = np.roll(photos(300, 280)[k % 8], 11 * k, axis=1)[k % 3 :]
        Image.fromarray(pixels).save(place, quality=90)
    return folder


def write_rows(folder: Path, count: int = 7) -> Path:
    """Images of CIFAR's size as arrays, in an .npz file with labels."""
    folder.mkdir(parents=True, exist_ok=True)
    images = np.concatenate([photos(32)] * (count // 8 + 1))[:count].copy()
    images[:, 0, 0, 0] = np.arange(count)
    np.savez(folder / "rows.npz", images=images, labels=np.arange(count) % 10)
    return folder / "rows.npz"


def opened(path: Path, suite: Suite) -> Source:
    return open_images(path, id_rule=suite.id_rule)


def cells_of(
    suite: Suite, *names: str, severities: tuple[int, ...] | None = None
) -> tuple[Cell, ...]:
    return choose_cells(suite, names or CHEAP, severities)


def built(
    name: str,
    images: Path,
    out: Path,
    *names: str,
    severities: tuple[int, ...] | None = None,
    format: str | None = None,
    workers: int = 1,
    seed: int = 0,
) -> BuildOutcome:
    suite = load(name)
    return build_cells(
        suite,
        opened(images, suite),
        out,
        cells_of(suite, *names, severities=severities),
        executor=executor(workers),
        seed=seed,
        format=format,
    )


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
