"""Writes a suite to disk: each source image is decoded once for all of its outputs.

The same command resumes; with other cells it extends. A build is the suite, its source, seed and
format: a folder that holds another one is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hardy.errors import HardyError, InputError
from hardy.execute import Executor
from hardy.execute.machine import versions
from hardy.files import check_same
from hardy.images.source import Source
from hardy.suites import suite_files as given
from hardy.suites.cells import Cell
from hardy.suites.suite import Suite
from hardy.variants import DecodedImage
from hardy.variants.disk.build_worker import (
    Done,
    Faults,
    Job,
    Task,
    layout_of,
    try_images,
    worker,
)
from hardy.variants.disk.layout import Layout, units_of
from hardy.variants.disk.manifest import (
    LINES,
    UNFINISHED,
    ManifestContents,
    ManifestWriter,
    content_hash,
    read_contents,
    read_header,
)
from hardy.variants.disk.space import Plan, check_room, plan
from hardy.variants.generated import Generated

FORMATS = {"corruptions": ("jpeg", "png", "npy", "tar"), "perturbations": ("mp4", "npy")}
LIBRARIES = ("numpy", "numba", "opencv-python-headless", "pillow", "av")
# Files that are made together: fewer calls, and at 224 x 224 all that two need at a time still fits
# the processor's cache (36 ms of corruptions per photograph; alone 37, with four or more 44).
TOGETHER = 2
# What may differ between the sessions of one build; `images_hash` speaks for names and labels.
OF_THE_SESSION = (
    *("manifest", "suite_version", "recipe", "files", "ids", "labels", "classes"),
    *("source", "versions", "cells"),
)
SAID = {
    "images_hash": "the list of images or labels is another",
    "suite_hash": "the suite has other contents than it had",
}

Track = Callable[[Iterator[Done], int], Iterable[Done]]


class Outcome(NamedTuple):
    built: int  # images that were made, in one cell or more
    kept: int  # images that were there already, in all cells
    faults: list[str]


def default_format(suite: Suite) -> str:
    """The official one."""
    if suite.kind == "corruptions":
        return "jpeg" if suite.storage else "npy"
    return "mp4" if suite.storage else "npy"


def build(
    suite: Suite,
    source: Source,
    folder: Path,
    cells: Sequence[Cell],
    *,
    executor: Executor,
    seed: int = 0,
    format: str | None = None,
    announce: Callable[[Plan], None] = lambda plan: None,
    track: Track = lambda done, total: done,
) -> Outcome:
    """Write `cells` of all images to `folder`; what the manifest lists is left alone.

    `announce` is told what will be written, before it is; `track` may watch units being finished.
    """
    format = format or default_format(suite)
    if format not in FORMATS[suite.kind]:
        raise InputError(
            f"expected a format for {suite.name} among {', '.join(FORMATS[suite.kind])}, "
            f'got "{format}"'
        )
    if not len(source):
        raise InputError(f"expected images to build from, got none: {source.describe()}")
    _check_folder(folder)
    made_by = Generated(suite, source, seed, stored=False)
    index, first = _first(made_by)
    job = Job(suite, source, seed, format, str(folder), first.shape)
    header = describe(job) | {"first_image": [index, content_hash(first.pixels)]}
    _check_same_build(folder, header)
    before = (read_header(folder) or {}).get("cells", ())
    header["cells"] = sorted({*before, *map(str, cells)})  # all that was ever asked for
    layout = layout_of(job)
    layout.check()
    units = units_of(len(source), layout.size)
    tasks, faults = _tasks(read_contents(folder, len(units)), layout, units, made_by, cells)
    images = sum(len(units[unit]) for task in tasks for unit in task.units)
    kept = len(source) - images - len(faults)
    if tasks:
        outputs = sum(len(units[u]) * len(task.cells) for task in tasks for u in task.units)
        sample = made_by.chunk([index], [first])
        expected = plan(suite, format, sample, cells, images, outputs, folder)
        check_room(expected, folder)
        announce(expected)
    built = 0
    try:
        with ManifestWriter(folder) as manifest:
            _check_same_build(folder, header)  # again: from here on nobody else writes it
            if tasks:
                manifest.begin(header)  # first: by it the folder is known as ours
                given.keep_beside(folder, suite)
                layout.begin(cells)
            with closing(executor.run(partial(worker, job), tasks)) as results:
                for done in track((done for result in results for done in result), images):
                    manifest.add(done.unit, done.cells, sorted(done.faults))
                    faults |= done.faults
                    built += done.images
            manifest.checkpoint()  # before arrays get the name that says they are whole
            layout.finish(cells, source.labels)
            manifest.finish(len(units))
    except OSError as error:
        raise HardyError(
            f"cannot write to {folder}: {error}; what is finished is kept: see to the disk, then "
            "run the same command again"
        ) from error
    return Outcome(built, kept, [faults[index] for index in sorted(faults)])


def _first(made_by: Generated) -> tuple[int, DecodedImage]:
    """The first image that can be read."""
    fault: InputError | None = None
    for index in range(len(made_by.source)):
        try:
            return index, made_by.read(index)
        except InputError as error:
            fault = fault or error
    raise InputError(f"none of the {len(made_by.source):,} images can be read: {fault}")


def describe(job: Job) -> dict[str, Any]:
    """The manifest's head: what decides the bytes, then what is good to know."""
    suite = job.suite
    ids = sha256("\n".join(map(str, job.source.ids)).encode(errors="surrogateescape"))
    if job.source.labels is not None:
        ids.update(np.ascontiguousarray(job.source.labels, np.int64).tobytes())
    return {
        "suite": suite.name,
        "suite_version": suite.version,
        "suite_hash": suite.content_hash(),
        "seed": job.seed,
        "format": job.format,
        "recipe": suite.recipe,
        "shape": list(job.shape),
        "images": len(job.source),
        "images_hash": ids.hexdigest(),
        "files": list(job.source.files),
        "ids": list(job.source.ids),
        "labels": None if job.source.labels is None else job.source.labels.tolist(),
        "classes": None if job.source.classes is None else list(job.source.classes),
        "source": job.source.describe(),
        "versions": versions(LIBRARIES),
    }


def _check_folder(folder: Path) -> None:
    """Ours, or without a file: a build that was killed at its start leaves the two names only."""
    if not folder.exists() or read_header(folder) is not None:
        return
    if not folder.is_dir() or {path.name for path in folder.iterdir()} - {LINES, UNFINISHED}:
        raise InputError(
            f"expected a new or empty folder, or one that Hardy is building, got {folder}; name "
            "another one"
        )


def _check_same_build(folder: Path, header: dict[str, Any]) -> None:
    before = read_header(folder)
    if before is None:
        return
    (then, _), (now, _) = before["first_image"], header["first_image"]
    # An image that can be read by now may be the first.
    of_the_session = OF_THE_SESSION if then == now else (*OF_THE_SESSION, "first_image")
    said = SAID | {"first_image": f"the pixels of {header['files'][now]} are others than before"}
    check_same(folder, before, header, "a build", of_the_session=of_the_session, said=said)


def _tasks(
    contents: ManifestContents,
    layout: Layout,
    units: list[range],
    made_by: Generated,
    cells: Sequence[Cell],
) -> tuple[list[Task], Faults]:
    """What is to be done, in the images' order; and images that were bad, and still are."""
    missing = ~np.stack([contents.listed(cell) for cell in cells], axis=1)
    faults: Faults = {}
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
    tasks: list[Task] = []
    for unit in np.flatnonzero(missing.any(axis=1)).tolist():
        rest = tuple(cell for cell, lacks in zip(cells, missing[unit], strict=True) if lacks)
        last = tasks[-1] if tasks else None
        if last and last.cells == rest and (len(last.units) + 1) * layout.size <= TOGETHER:
            tasks[-1] = Task((*last.units, unit), rest)
        else:
            tasks.append(Task((unit,), rest))
    # The worker reports these again.
    again = {index for task in tasks for unit in task.units for index in units[unit]}
    return tasks, {index: fault for index, fault in faults.items() if index not in again}
