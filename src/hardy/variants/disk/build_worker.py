"""The part of a build that runs in its workers: some units, from the source to the disk."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from hardy.errors import InputError
from hardy.files import other_work
from hardy.images.source import Source
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite
from hardy.variants import DecodedImage
from hardy.variants.disk.layout import Layout, open_layout, units_of
from hardy.variants.disk.manifest import content_hash, sync_disk
from hardy.variants.generated import Generated

SAID_OF_PIXELS = "the pixels of {name} are others than before"
ImageFaults = dict[int, str]  # an image, and what is wrong with it


class Landmarks(NamedTuple):
    """What a worker on another machine must find before it works: it would take images that it
    does not see for bad ones, and write where nobody looks."""

    mark: str  # a file in the folder that only this build has
    image: int  # one that can be read
    pixels: str  # its hash


class BuildJob(NamedTuple):
    """All a worker needs; it travels to other processes."""

    suite: Suite
    source: Source
    seed: int
    format: str
    folder: str
    shape: tuple[int, ...]  # of one image
    landmarks: Landmarks | None = None  # where workers may be on other machines


def layout_of(job: BuildJob) -> Layout:
    return open_layout(job.suite, Path(job.folder), job.format, job.source, job.shape)


class UnitGroup(NamedTuple):
    """Units that lack the same cells, and are built together."""

    units: tuple[int, ...]
    cells: tuple[Cell, ...]  # none: its images are compared with what they were, and that is all
    sources: tuple[tuple[str, ...], ...]  # what is known of the images of each unit


# What a worker is given at a time. One on another machine waits for its disk after each of them:
# after every group it would wait as long as it works.
Load = tuple[UnitGroup, ...]


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


def worker(job: BuildJob) -> Callable[[Load], list[BuiltUnit]]:
    """Set up once per process: the function that builds some units."""
    _check_seen(job)
    layout = layout_of(job)
    units = units_of(len(job.source), layout.size)

    def build_load(load: Load) -> list[BuiltUnit]:
        built = [unit for group in load for unit in build_units(group)]
        if job.landmarks and any(group.cells for group in load):
            _bring_to_disk(job.folder)
        return built

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

    return build_load


def _check_seen(job: BuildJob) -> None:
    if job.landmarks is None:
        return
    mark, image, pixels = job.landmarks
    if not os.path.exists(mark):
        raise InputError(
            f"expected a folder to build in that all workers see, but {mark}, which this build has "
            "written, is not there; name a folder on such a disk"
        )
    made_by = Generated(job.suite, job.source, job.seed, stored=False)
    got, faults = try_images(made_by, [image])
    if image in got and content_hash(got[image].pixels) == pixels:
        return
    reason = faults.get(image, "it has other pixels")
    raise InputError(
        f"expected images on a disk that all workers see, but {job.source.files[image]} cannot be "
        f"read as where the build was started ({reason}); name images on such a disk"
    )


def _bring_to_disk(folder: str) -> None:
    """Whoever has the manifest can see to the disk of its own machine only."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        sync_disk(handle)
    finally:
        os.close(handle)


def _check_sources(
    job: BuildJob, unit: range, before: tuple[str, ...], now: tuple[str, ...]
) -> None:
    """Refuse images that are not what they were: a build would mix two versions of them."""
    for index, then, hash in zip(unit, before, now, strict=False):
        if then and hash and then != hash:
            name = job.source.files[index]
            raise other_work(Path(job.folder), "a build", SAID_OF_PIXELS.format(name=name))
