"""The part of a build that runs in its workers: some units, from the source to the disk."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from hardy.errors import InputError
from hardy.images.source import Source
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite
from hardy.variants import DecodedImage
from hardy.variants.disk.layout import Layout, open_layout, units_of
from hardy.variants.disk.manifest import ManifestContents
from hardy.variants.generated import Generated

# Files that are made together: fewer calls, and at 224 x 224 all that two need at a time still fits
# the processor's cache (36 ms of corruptions per photograph; alone 37, with four or more 44).
TOGETHER = 2
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
    cells: tuple[Cell, ...]


class BuiltUnit(NamedTuple):
    """What one unit came to."""

    unit: int
    images: int
    cells: dict[Cell, str]
    faults: ImageFaults

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
        got = {unit: [index for index in units[unit] if index in images] for unit in group.units}
        hashes: dict[int, dict[Cell, str]] = {unit: {} for unit in group.units}
        chunk = made_by.chunk(list(images), list(images.values())) if images else None
        for cell in group.cells:
            made = chunk.make(cell) if chunk else None
            start = 0
            for unit, rest in got.items():
                hashes[unit][cell] = ""
                if made is not None and rest:
                    part = made[start : start + len(rest)]
                    hashes[unit][cell] = layout.write(units[unit], cell, part, rest)
                    start += len(rest)
        return [
            BuiltUnit(
                unit,
                len(got[unit]),
                hashes[unit],
                {index: faults[index] for index in units[unit] if index in faults},
            )
            for unit in group.units
        ]

    return build_units


def list_units(
    contents: ManifestContents,
    layout: Layout,
    units: list[range],
    made_by: Generated,
    cells: Sequence[Cell],
) -> tuple[list[UnitGroup], ImageFaults]:
    """What is to be done, in the images' order; and images that were bad, and still are."""
    missing = ~np.stack([contents.listed(cell) for cell in cells], axis=1)
    faults: ImageFaults = {}
    readable: set[int] = set()
    for column, cell in enumerate(cells):
        for unit, bad in contents.bad(cell).items():
            for index in set(bad) - readable - faults.keys():
                _, fault = try_images(made_by, [index])
                faults |= fault
                readable |= {index} - fault.keys()
            missing[unit, column] |= not readable.isdisjoint(bad)
        for unit in np.flatnonzero(~missing[:, column]).tolist():
            if contents.hash(unit, cell) and not layout.there(units[unit], cell):
                missing[unit, column] = True
    groups: list[UnitGroup] = []
    for unit in np.flatnonzero(missing.any(axis=1)).tolist():
        rest = tuple(cell for cell, lacks in zip(cells, missing[unit], strict=True) if lacks)
        last = groups[-1] if groups else None
        if last and last.cells == rest and (len(last.units) + 1) * layout.size <= TOGETHER:
            groups[-1] = UnitGroup((*last.units, unit), rest)
        else:
            groups.append(UnitGroup((unit,), rest))
    # The worker reports these again.
    again = {index for group in groups for unit in group.units for index in units[unit]}
    return groups, {index: fault for index, fault in faults.items() if index not in again}
