"""Compares a folder of corrupted images with its manifest: what is missing, altered, not ours, and
whether all that was asked for has been made."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from hardy.errors import InputError
from hardy.places import UNFINISHED, UrlPath, is_url, locate
from hardy.progress import Track, watch
from hardy.suites import copy_name, load, suite_in
from hardy.suites.cells import Cell, cell_folder
from hardy.variants.build_check import BuildCheck
from hardy.variants.disk.build_header import HEADER, read_header
from hardy.variants.disk.layout import open_layout, units_of
from hardy.variants.disk.manifest import (
    LINES,
    LOCK,
    WORKSHOP,
    content_hash,
    parse_cell,
    read_contents,
)
from hardy.variants.mirror_check import check_mirror
from hardy.variants.mirror_manifest import CORRUPTED
from hardy.variants.stored import listed_source


def verify(folder: str | os.PathLike[str], *, track: Track = watch) -> BuildCheck:
    """Compare a folder that `hardy.build` or `hardy.corrupt_files` wrote with its manifest: every
    file is read.

    What is missing or altered, and what does not belong there, is listed by name; `unfinished` says
    that the work was stopped before its end, and `fine` that there is nothing of all this. To mend
    a folder, delete the files that are `spoilt` and make them again by the same call, which also
    ends what is unfinished. Beside images that `hardy.corrupt_files` wrote, other files may lie.

    >>> import hardy, numpy
    >>> numpy.savez("four.npz", images=numpy.zeros((4, 32, 32, 3), "uint8"), labels=range(4))
    >>> _ = hardy.build("cifar10_c", images="four.npz", out="small-c", only=["contrast"], workers=1)
    >>> hardy.verify("small-c").fine
    True
    """
    folder = locate(folder)
    header = read_header(folder)
    if header is None:
        if is_url(folder) or not (folder / CORRUPTED).is_file():
            raise InputError(
                f"expected a folder that `hardy build` or `hardy corrupt` wrote, got {folder} "
                f"without {HEADER} or {CORRUPTED}"
            )
        return check_mirror(folder, track)
    return _check_build(folder, header, track)


@dataclass
class _Findings:
    checked: int = 0
    missing: list[str] = field(default_factory=list)
    altered: list[str] = field(default_factory=list)
    spoilt: dict[str, None] = field(default_factory=dict)  # as an ordered set

    def compare(self, name: str, found: str | None, wanted: str, file: str) -> None:
        """`file` is the one that it lies in, if it is there."""
        self.checked += found is not None
        if found is None:
            self.missing.append(name)
        elif found != wanted:
            self.altered.append(name)
            self.spoilt[file] = None


def _check_build(folder: Path, header: dict[str, Any], track: Track) -> BuildCheck:
    suite, source = load(suite_in(folder, header["suite"])), listed_source(header)
    layout = open_layout(suite, folder, header["format"], source, tuple(header["shape"]))
    layout.check()
    units = units_of(header["images"], layout.size)
    contents = read_contents(folder, units)
    cells = sorted({*map(parse_cell, header["cells"]), *contents.cells})
    listed = np.array([contents.listed(cell) for cell in cells], bool)
    listed = listed.reshape(len(cells), len(units))
    whole = sum(len(units[number]) for number in np.flatnonzero(listed.all(axis=0)))
    stopped = not is_url(folder) and (folder / WORKSHOP / LOCK).exists()
    unfinished = stopped or whole < header["images"]
    findings = _Findings()
    arrays = header["format"] == "npy"
    files = {cell: next(layout.paths(1, [cell])) for cell in cells} if arrays else {}
    beside = layout.beside(source.labels)
    for name, data in beside.items():
        file = folder / name
        found = content_hash(file.read_bytes()) if file.is_file() else None
        if found is not None or not unfinished:  # it comes at the end
            findings.compare(name, found, content_hash(data), name)
    for number in track(range(len(units)), len(units), "units"):
        for place in np.flatnonzero(listed[:, number]):
            cell = cells[place]
            if wanted := contents.hash(number, cell):
                name, found = layout.name(units[number], cell), layout.hash(units[number], cell)
                findings.compare(name, found, wanted, files.get(cell, name))
    top = {HEADER, LINES, *beside, *files.values()}
    top |= set() if suite.toml is None else {copy_name(suite)}
    expected = {cell_folder(suite, cell): cell for cell in cells}
    extra = _extra(folder, top, expected, lambda cell: layout.paths(header["images"], [cell]))
    bad = {index for cell in cells for some in contents.bad(cell).values() for index in some}
    return BuildCheck(
        findings.checked,
        len(bad),
        findings.missing,
        findings.altered,
        sorted(extra),
        "array part" if arrays else "file",
        unfinished=unfinished,
        built=whole,
        images=header["images"],
        spoilt=tuple(findings.spoilt),
    )


def _folders(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The folders below one, "." for itself, and the names of the files in each."""
    if not isinstance(folder, UrlPath):
        for where, below, names in os.walk(folder):  # which does not follow links
            links = [name for name in below if os.path.islink(os.path.join(where, name))]
            yield Path(where).relative_to(folder).as_posix(), names + links
        return
    found: dict[str, list[str]] = {}
    for name, is_folder in folder.children(all_below=True):
        if not is_folder:
            place, _, last = name.rpartition("/")
            found.setdefault(place or ".", []).append(last)
    yield from sorted(found.items())


def _extra(
    folder: Path, top: set[str], cells: dict[str, Cell], paths: Callable[[Cell], Iterable[str]]
) -> Iterator[str]:
    """Files that should not be there. The paths of one cell are in memory at a time."""
    current: Cell | None = None
    expected = top
    for below, names in _folders(folder):
        if below == WORKSHOP:  # what a killed process left, and the next one sweeps
            continue
        inside = next((name for name in cells if f"{below}/".startswith(f"{name}/")), None)
        cell = cells[inside] if inside else None
        if cell != current:
            current, expected = cell, set(paths(cell)) if cell else top
        for name in names:
            path = name if below == "." else f"{below}/{name}"
            if path not in expected and not (below == "." and name.endswith(UNFINISHED)):
                yield path
