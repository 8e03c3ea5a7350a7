"""A table of performances under corruptions, such as a detector's AP per cell, to mPC and rPC.

The models are somebody else's, and so is their evaluation: what comes in is a number per cell.
"""

import csv
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from hardy.documents import read_document
from hardy.errors import InputError
from hardy.limits import LISTING
from hardy.metrics.corrupted_performance import mpc, rpc
from hardy.places import locate
from hardy.registry import unknown
from hardy.schema import is_number, is_whole
from hardy.scores.text_tables import Shown, TextTable, to_csv
from hardy.suites import load
from hardy.suites.cells import CLEAN, Cell, choose_cells, levels

_SUITE = "imagenet_c"
_HEADER = "corruption,severity"  # and what the numbers are called
_HIGHEST = 100.0
_DIGIT = re.compile("[0-9]")
_LISTED = 12  # of the cells that are missing


@dataclass(frozen=True, eq=False, repr=False)
class Performance(Shown):
    """Performances by cell, and what is quoted of them, in the unit of the table."""

    measure: str  # what the column is called, such as "AP"
    cells: Mapping[Cell, float]
    clean: float | None
    left_out: tuple[Cell, ...]  # in the table, and not asked for

    @property
    def by_corruption(self) -> dict[str, float]:
        """The mean over severities."""
        names = dict.fromkeys(cell.name for cell in self.cells)
        return {name: float(np.mean(self._of(name))) for name in names}

    @property
    def mpc(self) -> float:
        """Mean performance under corruption."""
        return float(mpc([self._of(name) for name in self.by_corruption]))

    @property
    def rpc(self) -> float | None:
        """The share of the clean performance that is left; None without a clean one."""
        if self.clean is None:
            return None
        return float(rpc([self._of(name) for name in self.by_corruption], self.clean))

    @property
    def whole(self) -> bool:
        """Whether it is over all that the benchmark counts: only then is it its mPC."""
        return set(self.cells) == set(choose_cells(load(_SUITE)))

    def _of(self, name: str) -> list[float]:
        return [value for cell, value in self.cells.items() if cell.name == name]

    def __repr__(self) -> str:
        return f"Performance({self._said(f'{self.mpc:.4g}')})"

    def tables(self, *, brief: bool = False) -> list[TextTable]:
        severities = sorted({cell.level for cell in self.cells})
        digits = 3 if max(self.cells.values()) <= 1 else 1
        rows = [
            (name, *(f"{value:.{digits}f}" for value in (*self._of(name), mean)))
            for name, mean in self.by_corruption.items()
        ]
        header = ("severity", *map(str, severities), "mean")
        title = f"{self.measure}: {self._said(f'{self.mpc:.{digits}f}')}"
        if self.clean is not None:
            title += f" of {self.clean:.{digits}f} on clean images"
        return [TextTable(title, header, rows, notes=self._notes())]

    def _said(self, mean: str) -> str:
        label, relative = self._labels
        named = f"{relative} " if self.whole else ""
        left = "" if self.rpc is None else f", {named}{100 * self.rpc:.1f} %"
        return f"{label} {mean}{left}"

    @property
    def _labels(self) -> tuple[str, str]:
        """The names of both numbers; only over all that it counts they are the benchmark's."""
        return ("mPC", "rPC") if self.whole else ("mean", "share of clean")

    def _notes(self) -> tuple[str, ...]:
        severities = {cell.level for cell in self.cells}
        notes = [
            f"mean over corruptions ({len(self.by_corruption)}) and severities ({len(severities)})"
        ]
        if not self.whole:
            notes[0] += ", not the mPC of the benchmark, which is over 15 and 5"
        if self.clean is None:
            notes.append("no rPC: the table has no line clean,0")
        if self.left_out:
            notes.append(f"left out: {len(self.left_out)} further cells of the table")
        return tuple(notes)

    def rows(self) -> list[dict[str, object]]:
        """Plain values, as they came, with the means."""
        cells = [(cell.name, cell.level, value) for cell, value in self.cells.items()]
        clean = [] if self.clean is None else [(CLEAN.name, CLEAN.level, self.clean)]
        label, relative = self._labels
        found = [(label, None, self.mpc), (relative, None, self.rpc)]
        means = [(name, None, mean) for name, mean in self.by_corruption.items()]
        return [
            {"corruption": name, "severity": level, self.measure: value}
            for name, level, value in (*clean, *cells, *means, *found)
            if value is not None
        ]

    def as_csv(self) -> str:
        return to_csv(self.rows())

    def as_json(self) -> str:
        return json.dumps(self.rows(), indent=1) + "\n"


def performance(
    table: str | os.PathLike[str] | Mapping[tuple[str, int], float],
    *,
    only: Iterable[str] = ("counted",),
    severities: Iterable[int] | None = None,
) -> Performance:
    """Compute mPC and rPC from a table of performances under corruptions, such as AP or mIoU.

    `table` is a CSV file with the columns corruption, severity and one of numbers, or a mapping of
    (corruption, severity) to a number; all as shares of 1 or all in percent. The line `clean,0` has
    the performance on clean images, without which there is no rPC. All 75 cells must be there,
    unless `only` or `severities` ask for fewer.

    ```python
    import hardy

    names = hardy.corruptions()[:15]
    table = {(name, s): 0.42 - 0.05 * s for name in names for s in range(1, 6)}
    print(hardy.performance({**table, ("clean", 0): 0.42}))
    ```
    """
    wanted = choose_cells(load(_SUITE), only, severities)
    measure, found = _from_mapping(table) if isinstance(table, Mapping) else _from_file(table)
    _check_scale(found)
    clean = found.pop(CLEAN, None)
    if clean == 0:
        raise InputError("expected a clean performance above 0 to divide by, got 0")
    if missing := [cell for cell in wanted if cell not in found]:
        listed = ", ".join(map(str, missing[:_LISTED]))
        more = f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
        raise InputError(
            f"expected {len(wanted)} cells, got no {listed}{more}; add them, or ask for fewer by "
            "`only` or `severities`"
        )
    left_out = tuple(cell for cell in found if cell not in wanted)
    return Performance(measure, {cell: found[cell] for cell in wanted}, clean, left_out)


def _from_mapping(table: Mapping[tuple[str, int], float]) -> tuple[str, dict[Cell, float]]:
    found = {}
    for key, value in table.items():
        if not isinstance(key, tuple) or len(key) != 2:
            raise InputError(f'expected keys such as ("fog", 3), got {key!r}')
        name, severity = key
        cell = _checked_cell(name, _plain(severity), "the table")
        found[cell] = _checked_value(_plain(value), f"the table, {cell}")
    return "performance", found


def _plain(value: Any) -> Any:
    """A number of NumPy as Python's own."""
    return value.item() if isinstance(value, np.generic) else value


def _from_file(path: str | os.PathLike[str]) -> tuple[str, dict[Cell, float]]:
    place = locate(path)
    header, *lines = _read_lines(place)
    names = [name.strip() for name in header]
    if len(names) != 3 or ",".join(names[:2]).lower() != _HEADER:
        raise InputError(
            f"{place}: expected the columns {_HEADER} and one of numbers such as AP, got "
            f"{','.join(names) or 'nothing'}"
        )
    found: dict[Cell, float] = {}
    for number, line in enumerate(lines, 2):
        where = f"{place}, line {number}"
        if not line:
            continue
        if len(line) != 3:
            raise InputError(f"{where}: expected 3 values, got {len(line)}")
        name, severity, value = (part.strip() for part in line)
        cell = _checked_cell(name, int(severity) if _DIGIT.fullmatch(severity) else severity, where)
        if cell in found:
            raise InputError(f"{where}: expected each cell once, got {cell} again; delete one")
        found[cell] = _checked_value(_number(value), where)
    return names[2], found


def _read_lines(place: Path) -> list[list[str]]:
    try:
        text = read_document(place, LISTING).decode("utf-8-sig")
        return list(csv.reader(text.splitlines(), strict=True)) or [[]]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {place} ({error}); expected a CSV file") from error


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text


def _checked_cell(name: Any, severity: Any, where: str) -> Cell:
    suite = load(_SUITE)
    known = (*suite.corruptions, CLEAN.name)
    if name not in known:
        raise unknown(f"corruption in {where}:", name, known)
    allowed = (CLEAN.level,) if name == CLEAN.name else levels(suite, name)
    if not is_whole(severity, 0) or severity not in allowed:
        raise InputError(
            f"{where}: expected a severity of {name} among {', '.join(map(str, allowed))}, got "
            f"{severity!r}"
        )
    return Cell(name, int(severity))


def _checked_value(value: Any, where: str) -> float:
    if not is_number(value) or not 0 <= value <= _HIGHEST:
        raise InputError(
            f"{where}: expected a performance from 0 to 1, or in percent, got {value!r}"
            + ("; COCO's tools say -1 where there was nothing to find" if value == -1 else "")
        )
    return float(value)


def _check_scale(found: Mapping[Cell, float]) -> None:
    """A share beside percents would give an rPC of thousands of percent."""
    clean = found.get(CLEAN)
    if clean and (clean <= 1) != (max(found.values()) <= 1):
        raise InputError(
            f"expected all performances as shares of 1, or all in percent, got {clean:g} for clean "
            f"images beside {max(found.values()):g}"
        )
