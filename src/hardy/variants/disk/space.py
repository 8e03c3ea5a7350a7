"""How much a build will write, and whether there is room: asked before the start."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hardy.errors import HardyError
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite
from hardy.variants import Chunk
from hardy.variants.disk.layout import encode_one

# How many cells stand for all. Sequences take long to encode.
SAMPLES = {"corruptions": 15, "perturbations": 4}
WASTE = 2048  # half a block of the disk, per file


class Plan(NamedTuple):
    images: int
    outputs: int  # files, or rows of arrays, or members of shards
    size: int  # bytes, estimated
    free: int  # bytes on the disk


def plan(
    suite: Suite,
    format: str,
    sample: Chunk,
    cells: Sequence[Cell],
    images: int,
    outputs: int,
    folder: Path,
) -> Plan:
    """By what one image takes."""
    # One more than needed keeps the step off the number of severities: all of them are met.
    step = len(cells) // SAMPLES[suite.kind] + 1
    sizes = []
    for cell in cells[::step]:
        made = sample.make(cell)[0]
        if format == "npy":
            sizes.append(made.nbytes)
        else:
            kind = ("jpeg" if suite.storage else "png") if format == "tar" else format
            sizes.append(len(encode_one(suite, kind, cell, made)) + WASTE)
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    size = outputs * sum(sizes) // len(sizes)
    return Plan(images, outputs, size, shutil.disk_usage(place).free)


def check_room(plan: Plan, folder: Path) -> None:
    if plan.size > plan.free:
        raise HardyError(
            f"{plan.outputs:,} outputs need about {in_words(plan.size)}, and the disk of {folder} "
            f"has {in_words(plan.free)} free; make room, name another disk, or build fewer cells"
        )


def in_words(size: int) -> str:
    """2,400,000 as 2.4 MB."""
    value = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:,.3g} {unit}"
        value /= 1000
    return f"{value:,.3g} TB"
