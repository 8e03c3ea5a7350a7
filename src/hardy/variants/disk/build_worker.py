"""The part of a build that runs in its workers: some units, from the source to the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from hardy.errors import InputError
from hardy.images.source import Source
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite
from hardy.variants import DecodedImage
from hardy.variants.disk.layout import Layout, open_layout, units_of
from hardy.variants.generated import Generated

Faults = dict[int, str]  # an image, and what is wrong with it


class Job(NamedTuple):
    """All a worker needs; it travels to other processes."""

    suite: Suite
    source: Source
    seed: int
    format: str
    folder: str
    shape: tuple[int, ...]  # of one image


def layout_of(job: Job) -> Layout:
    return open_layout(job.suite, Path(job.folder), job.format, job.source, job.shape)


class Task(NamedTuple):
    """Units that lack the same cells."""

    units: tuple[int, ...]
    cells: tuple[Cell, ...]


class Done(NamedTuple):
    """What one unit came to."""

    unit: int
    images: int
    cells: dict[Cell, str]
    faults: Faults


def try_images(
    made_by: Generated, indices: Iterable[int]
) -> tuple[dict[int, DecodedImage], Faults]:
    got: dict[int, DecodedImage] = {}
    faults: Faults = {}
    for index in indices:
        try:
            got[index] = made_by.read(index)
        except InputError as error:
            faults[index] = str(error)
    return got, faults


def worker(job: Job) -> Callable[[Task], list[Done]]:
    """Set up once per process: the function that builds some units."""
    layout = layout_of(job)
    units = units_of(len(job.source), layout.size)

    def work(task: Task) -> list[Done]:
        made_by = Generated(job.suite, job.source, job.seed, stored=False)
        images, faults = try_images(
            made_by, (index for unit in task.units for index in units[unit])
        )
        for index, image in list(images.items()):
            if image.shape != job.shape:
                del images[index]
                faults[index] = (
                    f"cannot use {job.source.files[index]}: expected the size of the first image, "
                    f"{job.shape}, got {image.shape}; a suite has one size"
                )
        got = {unit: [index for index in units[unit] if index in images] for unit in task.units}
        hashes: dict[int, dict[Cell, str]] = {unit: {} for unit in task.units}
        chunk = made_by.chunk(list(images), list(images.values())) if images else None
        for cell in task.cells:
            made = chunk.make(cell) if chunk else None
            start = 0
            for unit, rest in got.items():
                hashes[unit][cell] = ""
                if made is not None and rest:
                    part = made[start : start + len(rest)]
                    hashes[unit][cell] = layout.write(units[unit], cell, part, rest)
                    start += len(rest)
        return [
            Done(
                unit,
                len(got[unit]),
                hashes[unit],
                {index: faults[index] for index in units[unit] if index in faults},
            )
            for unit in task.units
        ]

    return work
