"""The part of a build that runs in its workers: some units, from the source to the disk."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from hardy.errors import InputError
from hardy.files import byte_size, other_work
from hardy.images.source import Source
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite
from hardy.variants import DecodedImage
from hardy.variants.disk.layout import Layout, open_layout, units_of
from hardy.variants.disk.manifest import content_hash
from hardy.variants.generated import Generated

SAID_OF_PIXELS = "the pixels of {name} are others than before"
ImageFaults = dict[int, str]  # an image, and what is wrong with it


class BuildJob(NamedTuple):
    """All a worker needs; it travels to other processes."""

    suite: Suite
    source: Source
    seed: int
    format: str
    folder: str
    shape: tuple[int, ...]  # of one image


def layout_of(job: BuildJob) -> Layout:
    return open_layout(job.suite, Path(job.folder), job.format, job.source, job.shape)


class UnitGroup(NamedTuple):
    """Units that lack the same cells, and are built together."""

    units: tuple[int, ...]
    cells: tuple[Cell, ...]  # none: its images are compared with what they were, and that is all
    sources: tuple[tuple[str, ...], ...]  # what is known of the images of each unit


class BuildPlan(NamedTuple):
    """What a build will write: told before it does."""

    source: str
    suite: str
    cells: int
    format: str
    images: int
    outputs: int  # files, or rows of arrays, or members of shards
    size: int  # bytes, estimated
    folder: Path
    free: int  # bytes on its disk
    notes: tuple[str, ...] = ()  # what is not as one may think

    def __str__(self) -> str:
        return (
            f"{self.source}\nto write: {self.cells} {'cell' if self.cells == 1 else 'cells'} of "
            f"{self.suite} for {self.images:,} images as {self.format}, {self.outputs:,} in all, "
            f"about {byte_size(self.size)}; {self.folder} has {byte_size(self.free)} free"
            + "".join(f"\nnote: {note}" for note in self.notes)
        )


class BuildOutcome(NamedTuple):
    """What a build came to."""

    built: int  # images that were made, in one cell or more
    kept: int  # images that were there already, in all cells
    faults: list[str]  # what could not be used, and why


class BuiltUnit(NamedTuple):
    """What one unit came to."""

    unit: int
    images: int
    cells: dict[Cell, str]
    faults: ImageFaults
    sources: tuple[str, ...]  # a hash per image; empty for faults

    def dealt_with(self) -> int:
        """How many images were built or are faults."""
        return self.images + len(self.faults)


def try_images(
    made_by: Generated, indices: Iterable[int]
) -> tuple[dict[int, DecodedImage], ImageFaults]:
    got: dict[int, DecodedImage] = {}
    faults: ImageFaults = {}
    for index in indices:
        try:
            got[index] = made_by.read(index)
        except InputError as error:
            faults[index] = str(error)
    return got, faults


def worker(job: BuildJob) -> Callable[[UnitGroup], list[BuiltUnit]]:
    """Set up once per process: the function that builds some units."""
    layout = layout_of(job)
    units = units_of(len(job.source), layout.size)

    def build_units(group: UnitGroup) -> list[BuiltUnit]:
        made_by = Generated(job.suite, job.source, job.seed, stored=False)
        images, faults = try_images(
            made_by, (index for unit in group.units for index in units[unit])
        )
        for index, image in list(images.items()):
            if image.shape != job.shape:
                del images[index]
                faults[index] = (
                    f"cannot use {job.source.files[index]}: expected the size of the first image, "
                    f"{job.shape}, got {image.shape}; a suite has one size"
                )
        sources = {
            unit: tuple(
                content_hash(images[index].pixels) if index in images else ""
                for index in units[unit]
            )
            for unit in group.units
        }
        for unit, before in zip(group.units, group.sources, strict=True):
            _check_sources(job, units[unit], before, sources[unit])
        got = {unit: [index for index in units[unit] if index in images] for unit in group.units}
        hashes: dict[int, dict[Cell, str]] = {unit: {} for unit in group.units}
        wanted = images and group.cells
        chunk = made_by.chunk(list(images), list(images.values())) if wanted else None
        for cell in group.cells:
            made = chunk.make(cell) if chunk else None
            start = 0
            for unit, rest in got.items():
                hashes[unit][cell] = ""
                if made is not None and rest:
                    part = made[start : start + len(rest)]
                    hashes[unit][cell] = layout.write(units[unit], cell, part, rest)
                    start += len(rest)
        bad = {unit: {i: faults[i] for i in units[unit] if i in faults} for unit in group.units}
        return [
            BuiltUnit(unit, len(got[unit]), hashes[unit], bad[unit], sources[unit])
            for unit in group.units
        ]

    return build_units


def _check_sources(
    job: BuildJob, unit: range, before: tuple[str, ...], now: tuple[str, ...]
) -> None:
    """Refuse images that are not what they were: a build would mix two versions of them."""
    for index, then, hash in zip(unit, before, now, strict=False):
        if then and hash and then != hash:
            name = job.source.files[index]
            raise other_work(Path(job.folder), "a build", SAID_OF_PIXELS.format(name=name))
