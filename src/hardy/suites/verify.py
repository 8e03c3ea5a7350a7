"""Compares a built folder with its manifest: what is missing, altered, or not ours."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

from hardy.errors import InputError
from hardy.suites import load
from hardy.suites.cells import Cell
from hardy.suites.layout import open_layout, units_of
from hardy.suites.manifest import HEADER, LINES, read_header, read_lines
from hardy.suites.stored import listed_source


class Report(NamedTuple):
    checked: int
    missing: list[str]
    altered: list[str]
    extra: list[str]

    @property
    def fine(self) -> bool:
        return not (self.missing or self.altered or self.extra)


def verify(folder: Path, track: Callable[[list[int]], Iterable[int]] = iter) -> Report:
    """Read every file that the manifest lists, and look for others."""
    header = read_header(folder)
    if header is None:
        raise InputError(
            f"expected a folder that `hardy build` wrote, got {folder} without {HEADER}"
        )
    suite = load(header["suite"])
    layout = open_layout(
        suite, folder, header["format"], listed_source(header), tuple(header["shape"])
    )
    units = units_of(header["images"], layout.size)
    lines: dict[int, dict[Cell, str]] = {}
    for unit, hashes in read_lines(folder):
        lines.setdefault(unit, {}).update(hashes)
    cells = sorted({cell for hashes in lines.values() for cell in hashes})
    missing, altered, checked = [], [], 0
    for number in track(list(range(len(units)))):
        hashes = lines.get(number, {})
        for cell in cells:
            found = layout.hash(units[number], cell)
            name = layout.name(units[number], cell)
            if cell not in hashes or found is None:
                missing.append(name)
            elif found != hashes[cell]:
                altered.append(name)
            checked += 1
    expected = {HEADER, LINES, *layout.paths(header["images"], cells)}
    return Report(checked, missing, altered, sorted(_files(folder) - expected))


def _files(folder: Path) -> set[str]:
    return {
        Path(where, name).relative_to(folder).as_posix()
        for where, _, names in os.walk(folder)
        for name in names
    }
