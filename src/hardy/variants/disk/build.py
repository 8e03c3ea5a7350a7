"""`hardy.build` writes a suite to disk: each source image is decoded once for all of its outputs.

The same command resumes; with other cells it extends. A build is the suite, its source, seed and
format: a folder that holds another one is refused.
"""

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from hardy.errors import HardyError, InputError, warn_user
from hardy.execute import Executor, RayCrew, executor
from hardy.execute.executor import Setup
from hardy.execute.machine import versions
from hardy.files import check_apart, check_same
from hardy.images.labels import classes_of
from hardy.images.readers import open_images
from hardy.images.source import Fault, Source, part_of, relabelled
from hardy.metrics import stratified_subset
from hardy.places import UrlPath, is_folder, is_url, locate
from hardy.progress import Track, untracked, watch
from hardy.rerun import refuse_in_rerun
from hardy.suites import keep_beside, load
from hardy.suites.cells import Cell, choose_cells, levels
from hardy.suites.suite import Suite
from hardy.variants import BUILD_FORMATS, DecodedImage
from hardy.variants.carried_textures import with_textures
from hardy.variants.disk.build_cost import BuildPlan, check_space, free_space, size_of_one
from hardy.variants.disk.build_header import read_header
from hardy.variants.disk.build_worker import (
    SAID_OF_PIXELS,
    BuildJob,
    BuildOutcome,
    BuiltUnit,
    Landmarks,
    Load,
    layout_of,
    worker,
)
from hardy.variants.disk.layout import units_of
from hardy.variants.disk.manifest import (
    LINES,
    WORKSHOP,
    ManifestContents,
    ManifestWriter,
    content_hash,
    read_contents,
)
from hardy.variants.disk.sent_build import sent_in_the_end
from hardy.variants.disk.unit_groups import ELSEWHERE, list_units, loads
from hardy.variants.generated import Generated, check_formulas, check_suite_size

_BUILD_LIBRARIES = ("numpy", "numba", "opencv-python-headless", "pillow", "av")
# What may differ between the sessions of one build; `images_hash` speaks for names and labels.
_OF_THE_BUILD = (
    *("manifest", "suite_version", "recipe", "files", "ids", "labels", "classes"),
    *("source", "versions", "cells"),
)
_NUMBERING = ("npy", "tar")  # formats that have the numbers of classes, not their names
SAID = {
    "images_hash": "the list of images or labels is another",
    "suite_hash": "the suite has other contents than it had",
}
_UNKNOWN_SOURCES = (
    "Hardy 0.1.0 began this build, and kept no hashes of its images: only the first is compared "
    "with what it was"
)


def build(
    suite: str,
    *,
    images: str | os.PathLike[str],
    out: str | os.PathLike[str],
    labels: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    on: str | None = None,
    format: str | None = None,
    only: Iterable[str] = ("counted",),
    severities: Iterable[int] | None = None,
    subset: int | None = None,
    own_classes: bool = False,
    seed: int = 0,
    announce: Callable[[BuildPlan], object] = lambda plan: None,
    warn: Callable[[str], None] | None = None,
    track: Track = watch,
) -> BuildOutcome:
    """Write a suite to disk in its official layout.

    The same call resumes what was stopped, and other names or severities extend it; a folder that
    holds another build is refused. `images` is a path as `hardy.images.open_images` takes it. Left
    out, `format` is the suite's official one and `workers` as many processes as processors; `on`
    shares the work among the machines of a Ray cluster instead, as in `hardy.evaluate`, whose
    `subset` and `own_classes` these are. Images that cannot be used are left out and listed.
    `announce` is told what will be written, before it is. If `out` is a URL, it is made in the
    user's cache, and sent when it is whole.

    >>> import hardy, numpy
    >>> numpy.savez("four.npz", images=numpy.zeros((4, 32, 32, 3), "uint8"), labels=range(4))
    >>> hardy.build("cifar10_c", images="four.npz", out="small-c", only=["contrast"], workers=1)
    BuildOutcome(built=4, kept=0, faults=[])
    """
    refuse_in_rerun()
    if on is not None and workers is not None:
        raise InputError(f"expected `workers` or `on`, got both: {workers} and {on}")
    its_suite, place = load(suite), locate(out)
    if its_suite.shift is not None:
        raise InputError(
            f"expected a suite that is made of images, got {suite}, whose own are published; "
            "`hardy eval --files` reads them"
        )
    if on not in (None, "ray") and is_url(place):
        raise InputError(
            f"expected a folder to build in that all machines of {on} see, got {place}; name "
            "a folder, or build on one machine"
        )
    doers = executor(workers) if on is None else RayCrew(on, warn=warn or warn_user)
    cells = choose_cells(its_suite, only, severities)
    if is_folder(images):
        check_apart(locate(images), place)
    faults: list[Fault] = []
    rule = its_suite.rule_of_ids(by_path=own_classes)
    source = open_images(images, labels=labels, id_rule=rule, faults=faults)
    if subset is not None:
        labels_or_none = np.zeros(len(source)) if source.labels is None else source.labels
        source = part_of(source, stratified_subset(labels_or_none, source.ids, size=subset))
    written = format or _default_format(its_suite)
    source, doubts = _classed(its_suite, source, own=own_classes, format=written)
    workplace: AbstractContextManager[Path] = nullcontext(place)
    if isinstance(place, UrlPath):
        doubts += (f"built in that folder, sent to {place}, and removed in the end",)
        workplace = sent_in_the_end(place, track)
    with workplace as folder:
        outcome = build_cells(
            its_suite,
            source,
            folder,
            cells,
            executor=doers,
            elsewhere=on is not None,
            seed=seed,
            format=written,
            announce=lambda plan: announce(plan._replace(notes=plan.notes + doubts)),
            track=track,
        )
    return outcome._replace(faults=[fault.reason for fault in faults] + outcome.faults)


def _classed(
    suite: Suite, source: Source, *, own: bool, format: str
) -> tuple[Source, tuple[str, ...]]:
    """The images, and notes where they have no labels, or not those of the suite's classes.

    Class folders may show only some of these. Where just the numbers of classes are written, they
    are the suite's, since whoever reads them does not see the folders' names.
    """
    if source.labels is None:
        todo = "to evaluate on the files, name them with `labels`, now or then"
        note = f"these images have no labels; {todo}"
        return source, () if suite.kind == "perturbations" else (note,)
    if own:
        return source, ()
    try:
        known = classes_of(suite, source.labels, source.classes, len(source))
    except InputError:
        todo = "to evaluate on them, say `own_classes=True`"
        return source, (f"these are not the classes of {suite.title}; {todo}",)
    if format not in _NUMBERING or (known.labels == source.labels).all():
        return source, ()
    note = f"labels are numbers of the {suite.classes:,} classes of {suite.title}"
    todo = "say `own_classes=True` for numbers of those that are here"
    labels = known.labels.astype(np.int64)
    return relabelled(source, labels, known.names), (f"{note}; {todo}",)


def _default_format(suite: Suite) -> str:
    """The official one."""
    compressed = "jpeg" if suite.kind == "corruptions" else "mp4"
    return compressed if suite.storage else "npy"


def build_cells(
    suite: Suite,
    source: Source,
    folder: Path,
    cells: Sequence[Cell],
    *,
    executor: Executor,
    elsewhere: bool = False,
    seed: int = 0,
    format: str | None = None,
    announce: Callable[[BuildPlan], object] = lambda plan: None,
    track: Track = untracked,
) -> BuildOutcome:
    """Write `cells` of all images to `folder`; what the manifest lists is left alone. The executor
    may work `elsewhere`: on other machines."""
    format = format or _default_format(suite)
    if format not in BUILD_FORMATS[suite.kind]:
        raise InputError(
            f"expected a format for {suite.name} among {', '.join(BUILD_FORMATS[suite.kind])}, "
            f'got "{format}"'
        )
    if not len(source):
        raise InputError(f"expected images to build from, got none: {source.describe()}")
    _check_folder(folder)
    check_formulas(suite, cells)
    made_by = Generated(suite, source, seed, stored=False)
    index, first = _first(made_by)
    check_suite_size(suite, first)
    job = BuildJob(suite, source, seed, format, str(folder), first.shape)
    header = _describe_build(job) | {"first_image": [index, content_hash(first.pixels)]}
    _check_same_build(folder, header)
    before = (read_header(folder) or {}).get("cells", ())
    header["cells"] = sorted({*before, *map(str, cells)})  # all that was ever asked for
    layout = layout_of(job)
    layout.check()
    units = units_of(len(source), layout.size)
    contents = read_contents(folder, units)
    groups, kept_units, faults = list_units(contents, layout, units, made_by, cells)
    images = sum(len(units[unit]) for group in groups for unit in group.units)
    kept = len(source) - images - len(faults)
    if groups:
        outputs = sum(len(units[unit]) * len(one.cells) for one in groups for unit in one.units)
        made = sorted({cell for one in groups for cell in one.cells})
        size = outputs * size_of_one(suite, format, made_by.chunk([index], [first]), made)
        about = (source.describe(), suite.title, len(made), format, images, outputs, size)
        wanted = {str(Cell(c.name, level)) for c in cells for level in levels(suite, c.name)}
        whole = suite.kind != "corruptions" or wanted <= {*header["cells"]}
        lacking = format == "npy" and not whole
        notes: tuple[str, ...] = ()
        notes += ("arrays end in .part until all severities are built",) if lacking else ()
        notes += (_UNKNOWN_SOURCES,) if contents.of_unknown_sources else ()
        plan = BuildPlan(*about, folder, free_space(folder), notes)
        check_space(plan)
        announce(plan)
    built = 0
    try:
        with ManifestWriter(folder) as manifest:
            _check_same_build(folder, header)  # again: from here on nobody else writes it
            if elsewhere:
                marks = Landmarks(manifest.leave_mark(), *header["first_image"])
                job = job._replace(folder=str(folder.absolute()), landmarks=marks)
            if kept_units:
                with closing(
                    executor.run(partial(worker, job), loads(kept_units, layout))
                ) as compared:
                    deque(track(compared, len(kept_units), "units compared"), maxlen=0)
            if groups:
                manifest.begin(header)  # first: by it the folder is known as ours
                keep_beside(folder, suite)
                layout.begin(cells)
            begin: Setup[Load, list[BuiltUnit]] = partial(worker, job)
            if elsewhere:
                begin = with_textures(begin, cells)
            work = loads(groups, layout, ELSEWHERE if elsewhere else 1)
            with closing(executor.run(begin, work)) as results:
                every = (unit for group in results for unit in group)
                for unit in track(every, images, "images", BuiltUnit.dealt_with):
                    manifest.add(unit.unit, unit.cells, sorted(unit.faults), unit.sources)
                    faults |= unit.faults
                    built += unit.images
            manifest.checkpoint()  # before arrays get the name that says they are whole
            contents = read_contents(folder, units)
            layout.finish([c for c in cells if _complete(contents, suite, c)], source.labels)
            manifest.finish(units)
    except OSError as error:
        raise HardyError(
            f"cannot write to {folder}: {error}; what is finished is kept: see to the disk, then "
            "run the same command again"
        ) from error
    return BuildOutcome(built, kept, [faults[index] for index in sorted(faults)])


def _complete(contents: ManifestContents, suite: Suite, cell: Cell) -> bool:
    """Whether all is built that an official file with this cell holds: of arrays all severities."""
    every = levels(suite, cell.name) if suite.kind == "corruptions" else (cell.level,)
    return all(contents.listed(Cell(cell.name, level)).all() for level in every)


def _first(made_by: Generated) -> tuple[int, DecodedImage]:
    """The first image that can be read."""
    fault: InputError | None = None
    for index in range(len(made_by.source)):
        try:
            return index, made_by.read(index)
        except InputError as error:
            fault = fault or error
    raise InputError(f"none of the {len(made_by.source):,} images can be used: {fault}")


def _describe_build(job: BuildJob) -> dict[str, Any]:
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
        "recipe": Generated(suite, job.source).recipe,
        "shape": list(job.shape),
        "images": len(job.source),
        "images_hash": ids.hexdigest(),
        "files": list(job.source.files),
        "ids": list(job.source.ids),
        "labels": None if job.source.labels is None else job.source.labels.tolist(),
        "classes": None if job.source.classes is None else list(job.source.classes),
        "source": job.source.describe(),
        "versions": versions(_BUILD_LIBRARIES),
    }


def _check_folder(folder: Path) -> None:
    """Ours, or without a file: a build that was killed at its start leaves the two names only."""
    if not folder.exists() or read_header(folder) is not None:
        return
    if not folder.is_dir() or {path.name for path in folder.iterdir()} - {LINES, WORKSHOP}:
        raise InputError(
            f"expected a new or empty folder, or one that Hardy is building, got {folder}; name "
            "another one"
        )


def _check_same_build(folder: Path, header: dict[str, Any]) -> None:
    before = read_header(folder)
    if before is None:
        return
    (then, _), (now, _) = before["first_image"], header["first_image"]
    # Of other images another is the first, and so is one that can be read by now; another recipe
    # makes other pixels of it.
    alike = then == now and all(before.get(name) == header[name] for name in ("files", "recipe"))
    of_the_session = _OF_THE_BUILD if alike else (*_OF_THE_BUILD, "first_image")
    said = SAID | {"first_image": SAID_OF_PIXELS.format(name=header["files"][now])}
    check_same(folder, before, header, "a build", of_the_session=of_the_session, said=said)
