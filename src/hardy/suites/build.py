"""Writes a suite to disk: each source image is decoded once for all of its outputs.

The same command resumes; with other cells it extends. A build is the suite, its source, seed and
format: a folder that holds another one is refused.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import HardyError, InputError
from hardy.execute import Executor
from hardy.images.source import Source
from hardy.suites import load
from hardy.suites.cells import Cell
from hardy.suites.generate import Generated
from hardy.suites.layout import Layout, encode_one, open_layout, units_of
from hardy.suites.manifest import Writer, read_header, read_lines
from hardy.suites.schema import Suite

FORMATS = {"corruptions": ("jpeg", "png", "npy", "tar"), "perturbations": ("mp4", "npy")}
LIBRARIES = ("numpy", "numba", "opencv-python-headless", "pillow", "av")

UInt8 = npt.NDArray[np.uint8]
Track = Callable[[Iterator["Done"], int], Iterable["Done"]]


class Done(NamedTuple):
    """What one unit came to."""

    unit: int
    images: int
    cells: dict[Cell, str]
    faults: list[str]


class Outcome(NamedTuple):
    built: int  # images, in the cells asked for
    kept: int  # images that were there already
    faults: list[str]


class Job(NamedTuple):
    """All a worker needs; it travels to other processes."""

    suite: str
    source: Source
    seed: int
    format: str
    folder: str
    shape: tuple[int, ...]  # of one image


def _layout(job: Job) -> Layout:
    return open_layout(load(job.suite), Path(job.folder), job.format, job.source, job.shape)


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
    track: Track = lambda done, total: done,
) -> Outcome:
    """Write `cells` of all images to `folder`; what is there, by the manifest, is left alone."""
    format = format or default_format(suite)
    if format not in FORMATS[suite.kind]:
        raise InputError(
            f"expected a format for {suite.name} among {', '.join(FORMATS[suite.kind])}, "
            f'got "{format}"'
        )
    if not len(source):
        raise InputError(f"expected images to build from, got none: {source.describe()}")
    sample = _sample(Generated(suite, source, tuple(cells), seed, stored=False))
    job = Job(suite.name, source, seed, format, str(folder), sample.shape)
    header = describe(job)
    _check_same_build(folder, header)
    layout = _layout(job)
    units = units_of(len(source), layout.size)
    missing = _missing(folder, units, cells)
    kept = len(source) - sum(len(units[unit]) for unit in missing)
    if not missing:
        return Outcome(0, kept, [])
    outputs = sum(len(units[unit]) * len(rest) for unit, rest in missing.items())
    _check_room(suite, format, outputs, sample, folder)
    layout.begin(cells)
    faults: list[str] = []
    built = 0
    with Writer(folder, header) as manifest:
        done = executor.run(partial(_worker, job), list(missing.items()))
        for result in track(done, sum(len(units[unit]) for unit in missing)):
            faults += result.faults
            built += result.images
            if not result.faults:  # a unit with faults is tried again by the next run
                manifest.add(result.unit, result.cells)
    layout.finish(cells, source.labels)
    return Outcome(built, kept, faults)


def describe(job: Job) -> dict[str, Any]:
    """The manifest's head: what decides the bytes, then what is good to know."""
    suite = load(job.suite)
    ids = sha256("\n".join(map(str, job.source.ids)).encode())
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
        "labels": None if job.source.labels is None else job.source.labels.tolist(),
        "classes": None if job.source.classes is None else list(job.source.classes),
        "source": job.source.describe(),
        "versions": _versions(),
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in ("hardy", *LIBRARIES):
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def _check_same_build(folder: Path, header: dict[str, Any]) -> None:
    before = read_header(folder)
    if before is None:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InputError(
                f"expected a new or empty folder, or one that Hardy is building, got {folder}; "
                "name another one"
            )
        return
    for key in ("suite", "suite_hash", "seed", "format", "images", "images_hash"):
        if before.get(key) != header[key]:
            raise InputError(
                f"{folder} holds another build: its {key} is {before.get(key)}, that of this one "
                f"is {header[key]}; name another folder"
            )


def _missing(
    folder: Path, units: list[range], cells: Sequence[Cell]
) -> dict[int, tuple[Cell, ...]]:
    """Per unit the cells that the manifest does not list."""
    listed: dict[int, set[Cell]] = {}
    for unit, hashes in read_lines(folder):
        listed.setdefault(unit, set()).update(hashes)
    wanted = {
        unit: tuple(cell for cell in cells if cell not in listed.get(unit, ()))
        for unit in range(len(units))
    }
    return {unit: rest for unit, rest in wanted.items() if rest}


def _check_room(suite: Suite, format: str, outputs: int, sample: Sample, folder: Path) -> None:
    """Refuse before the start what the disk cannot hold, by what a sample takes."""
    if format == "npy":
        sizes = [image.nbytes for _, image in sample.made]
    else:
        kind = ("jpeg" if suite.storage else "png") if format == "tar" else format
        # Half a block is what a small file wastes.
        sizes = [len(encode_one(suite, kind, cell, image)) + 2048 for cell, image in sample.made]
    need = outputs * sum(sizes) / len(sizes)
    place = folder
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if need > free:
        raise HardyError(
            f"{outputs:,} outputs need about {need / 1e9:,.1f} GB, and {place} has "
            f"{free / 1e9:,.1f} GB free; make room, name another disk, or build fewer cells"
        )


class Sample(NamedTuple):
    """The first image that can be read, under some of the cells."""

    shape: tuple[int, ...]
    made: list[tuple[Cell, UInt8]]


def _sample(made_by: Generated) -> Sample:
    """Sequences are costly, so one of them stands for all."""
    cells = made_by.cells
    few = cells[:: max(1, len(cells) // 15)] if made_by.suite.kind == "corruptions" else cells[:1]
    fault: InputError | None = None
    for index in range(len(made_by.source)):
        try:
            chunk = made_by.chunk([index])
        except InputError as error:
            fault = fault or error
            continue
        made = [(cell, chunk.make(cell)[0]) for cell in few]
        return Sample(made[0][1].shape[-3:], made)
    raise InputError(f"none of the {len(made_by.source):,} images can be read: {fault}")


def _worker(job: Job) -> Callable[[tuple[int, tuple[Cell, ...]]], Done]:
    """Set up once per process: the function that builds one unit."""
    layout = _layout(job)
    units = units_of(len(job.source), layout.size)

    def work(item: tuple[int, tuple[Cell, ...]]) -> Done:
        number, cells = item
        unit = units[number]
        made_by = Generated(load(job.suite), job.source, cells, job.seed, stored=False)
        got: list[int] = list(unit)
        faults: list[str] = []
        try:
            chunk = made_by.chunk(got)
        except InputError:
            got, faults = _readable(made_by, unit)
            if not got:
                return Done(number, 0, {}, faults)
            chunk = made_by.chunk(got)
        hashes = {cell: layout.write(unit, cell, chunk.make(cell), got) for cell in cells}
        return Done(number, len(got), hashes, faults)

    return work


def _readable(made_by: Generated, unit: range) -> tuple[list[int], list[str]]:
    got, faults = [], []
    for index in unit:
        try:
            made_by.chunk([index])
        except InputError as error:
            faults.append(str(error))
        else:
            got.append(index)
    return got, faults
