"""The form of a published table: numbers as they were printed, and remarks on some of them."""

import re
from dataclasses import dataclass
from typing import NamedTuple

from hardy.errors import InputError

# A bound, a number, and the spread over training runs, as in ">76.7" and "58.1±0.4".
_PRINTED = re.compile(
    r"(?P<bound>>?)(?P<number>[+-]?\d+(?P<decimals>\.\d+)?)(±(?P<spread>\d+\.\d+))?"
)


class PrintedNumber(NamedTuple):
    """A number as it was printed; what it was rounded from lies within half a step of it."""

    text: str
    value: float
    half_step: float
    spread: float | None = None  # over training runs
    is_bound: bool = False  # printed with ">": only a lower bound is known


def parse_printed(text: str, where: str) -> PrintedNumber | None:
    """A number as printed; an empty cell is None."""
    if not text:
        return None
    match = _PRINTED.fullmatch(text)
    if match is None:
        raise InputError(f'{where}: expected a number like 76.7, >76.7 or 58.1±0.4, got "{text}"')
    decimals = len(match["decimals"] or ".") - 1
    spread = None if match["spread"] is None else float(match["spread"])
    half_step = 0.5 * 10**-decimals
    return PrintedNumber(text, float(match["number"]), half_step, spread, bool(match["bound"]))


def parse_cells(header: list[str], lines: list[list[str]], where: str) -> dict[str, dict[str, str]]:
    """The text of each cell by its row, whose name stands first, and by its column."""
    rows: dict[str, dict[str, str]] = {}
    for line in lines:
        if len(line) != len(header):
            raise InputError(
                f"{where}: expected {len(header)} cells in every row, got {len(line)}: {line}"
            )
        if line[0] in rows:
            raise InputError(f'{where}: expected different rows, got "{line[0]}" twice')
        rows[line[0]] = dict(zip(header, line, strict=True))
    return rows


class Remark(NamedTuple):
    """A remark on one number: `inconsistent` ones contradict the rest of their row."""

    row: str
    column: str
    inconsistent: bool
    note: str
    comparable: bool = True  # False: measured on other images than the suite's


@dataclass(frozen=True)
class PublishedTable:
    name: str
    title: str
    source: str
    suite: str  # ours where there is one of that name
    original: bool  # from the paper that brought the benchmark, whose names of models come first
    verified: bool  # False: recalled, not read
    columns: tuple[str, ...]  # of numbers
    metric: str | None  # what the entries are, in a table with a column per corruption
    entries: tuple[str, ...]
    mean: str | None  # the column that holds their mean
    rows: dict[str, dict[str, PrintedNumber | None]]  # model or method -> column -> number
    words: dict[str, dict[str, str]]  # model or method -> text column -> text
    flags: tuple[Remark, ...]
    prefix: str  # of rows that only their table tells apart
    labels: dict[str, str]  # rows that are called something else beside other tables' rows
    standard: tuple[str, ...] = ()  # rows of models that were trained for accuracy alone

    def check(self, where: str) -> None:
        """Refuse labels of rows, and remarks on numbers, that are not there."""
        for row, label in self.labels.items():
            if row not in self.rows or not isinstance(label, str):
                raise InputError(
                    f'{where}: expected labels to be texts for rows of the table, got "{row}" = '
                    f"{label!r}"
                )
        for row, column, *_ in self.flags:
            if self.rows.get(row, {}).get(column) is None:
                raise InputError(
                    f'{where}: expected a flag to name a number of the table, got row "{row}", '
                    f'column "{column}"'
                )

    def label(self, row: str) -> str:
        """What to call a row where its table is not named."""
        return self.labels.get(row) or self.prefix + row

    def notes(self, row: str, column: str) -> tuple[str, ...]:
        return tuple(f.note for f in self.flags if (f.row, f.column) == (row, column))

    def comparable(self, row: str, column: str) -> bool:
        """Whether no flag says that the number was measured on other images than the suite's."""
        return all(f.comparable for f in self.flags if (f.row, f.column) == (row, column))


class PublishedNumber(NamedTuple):
    """One published number."""

    row: str  # the model or method
    value: PrintedNumber
    table: PublishedTable
    notes: tuple[str, ...]
