"""Compares a built folder with its manifest: what is missing, altered, or not ours."""

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from hardy.errors import InputError
from hardy.places import UrlPath, locate
from hardy.progress import Track, watch
from hardy.suites import copy_name, load, suite_in
from hardy.suites.cells import Cell, cell_folder
from hardy.variants.disk.build_header import HEADER, read_header
from hardy.variants.disk.layout import open_layout, units_of
from hardy.variants.disk.manifest import LINES, content_hash, parse_cell, read_contents
from hardy.variants.stored import listed_source


class BuildCheck(NamedTuple):
    """How a built folder compares with its manifest."""

    checked: int  # files; of arrays, groups of rows
    left_out: int  # images that could not be read when it was their turn
    missing: list[str]
    altered: list[str]
    extra: list[str]

    @property
    def fine(self) -> bool:
        return not (self.missing or self.altered or self.extra)


def verify(folder: str | os.PathLike[str], *, track: Track = watch) -> BuildCheck:
    """Compare a folder that `hardy.build` wrote with its manifest: every file is read.

    What is missing or altered, and what does not belong there, is listed by name; `fine` tells
    whether there is nothing of the kind. To mend a folder, delete what is altered and build again.

    >>> import hardy, numpy
    >>> numpy.savez("four.npz", images=numpy.zeros((4, 32, 32, 3), "uint8"), labels=range(4))
    >>> _ = hardy.build("cifar10_c", images="four.npz", out="small-c", only=["contrast"], workers=1)
    >>> hardy.verify("small-c").fine
    True
    """
    folder = locate(folder)
    header = read_header(folder)
    if header is None:
        raise InputError(
            f"expected a folder that `hardy build` wrote, got {folder} without {HEADER}"
        )
    suite, source = load(suite_in(folder, header["suite"])), listed_source(header)
    layout = open_layout(suite, folder, header["format"], source, tuple(header["shape"]))
    layout.check()
    units = units_of(header["images"], layout.size)
    contents = read_contents(folder, units)
    cells = sorted({*map(parse_cell, header["cells"]), *contents.cells})
    missing: list[str] = []
    altered: list[str] = []

    def compare(name: str, found: str | None, wanted: str | None) -> None:
        if found is None or wanted is None:
            missing.append(name)
        elif found != wanted:
            altered.append(name)

    beside = layout.beside(source.labels)
    for name, data in beside.items():
        file = folder / name
        found = content_hash(file.read_bytes()) if file.is_file() else None
        compare(name, found, content_hash(data))
    checked = len(beside)
    listed = {cell: contents.listed(cell) for cell in cells}
    for number in track(range(len(units)), len(units), "units"):
        for cell in cells:
            wanted = contents.hash(number, cell) if listed[cell][number] else None
            if wanted != "":
                compare(layout.name(units[number], cell), layout.hash(units[number], cell), wanted)
                checked += 1
    # Arrays lie at the top.
    top = {HEADER, LINES, *beside, *(path for path in layout.paths(1, cells) if "/" not in path)}
    top |= set() if suite.toml is None else {copy_name(suite)}
    expected = {cell_folder(suite, cell): cell for cell in cells}
    extra = _extra(folder, top, expected, lambda cell: layout.paths(header["images"], [cell]))
    bad = {index for cell in cells for some in contents.bad(cell).values() for index in some}
    return BuildCheck(checked, len(bad), missing, altered, sorted(extra))


def _folders(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """The folders below one, "." for itself, and the names of the files in each."""
    if not isinstance(folder, UrlPath):
        for where, _, names in os.walk(folder):
            yield Path(where).relative_to(folder).as_posix(), names
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
        inside = next((name for name in cells if f"{below}/".startswith(f"{name}/")), None)
        cell = cells[inside] if inside else None
        if cell != current:
            current, expected = cell, set(paths(cell)) if cell else top
        for name in names:
            path = name if below == "." else f"{below}/{name}"
            if path not in expected:
                yield path
