"""What a build will write, and whether there is room for it."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from hardy.errors import HardyError
from hardy.files import byte_size
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite
from hardy.variants import Chunk
from hardy.variants.disk.layout import encode_one

# How many cells stand for all when the size of a build is estimated. Sequences take long to encode.
_SAMPLES = {"corruptions": 15, "perturbations": 4}
_WASTE = 2048  # half a block of the disk, per file


class BuildPlan(NamedTuple):
    """What a build will write: told before it does."""

    source: str
    suite: str
    cells: int  # that some images lack
    format: str
    images: int  # that lack some cells
    outputs: int  # files, or rows of arrays, or members of shards
    size: int  # bytes, estimated
    folder: Path
    free: int  # bytes on its disk
    notes: tuple[str, ...] = ()  # what is not as one may think

    def __str__(self) -> str:
        whole = self.cells * self.images
        there = f" of {whole:,}, as the others are there" if self.outputs < whole else " in all"
        return (
            f"{self.source}\nto write: {self.cells} {'cell' if self.cells == 1 else 'cells'} of "
            f"{self.suite} for {self.images:,} images as {self.format}, {self.outputs:,}{there}, "
            f"about {byte_size(self.size)}; {self.folder} has {byte_size(self.free)} free"
            + "".join(f"\nnote: {note}" for note in self.notes)
        )


def size_of_one(suite: Suite, format: str, sample: Chunk, cells: Sequence[Cell]) -> int:
    """The mean bytes of an output, by what one image takes under some of the cells."""
    # One more than needed keeps the step off the number of severities: all of them are met.
    step = len(cells) // _SAMPLES[suite.kind] + 1
    sizes: list[int] = []
    for cell in cells[::step]:
        made = sample.make(cell)[0]
        if format == "npy":
            sizes.append(made.nbytes)
        else:
            kind = ("jpeg" if suite.storage else "png") if format == "tar" else format
            sizes.append(len(encode_one(suite, kind, cell, made)) + _WASTE)
    return sum(sizes) // len(sizes)


def free_space(folder: Path) -> int:
    place = folder.absolute()
    while not place.exists():
        place = place.parent
    return shutil.disk_usage(place).free


def check_space(plan: BuildPlan) -> None:
    if plan.size > plan.free:
        raise HardyError(
            f"{plan.outputs:,} outputs need about {byte_size(plan.size)}, and the disk of "
            f"{plan.folder} has {byte_size(plan.free)} free; make room, name another disk, or "
            "build fewer cells"
        )
