"""What others published, as printed: TOML tables, flagged where they contradict themselves.

Columns are called as Hardy's scores are ("mCE", "clean error"), so `find` puts a run beside them.
The errors of the reference models are part of the suites.
"""

import csv
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from hardy.errors import InputError
from hardy.schema import FLAG, TABLE, TABLES, TEXT, TEXTS, check_table

__all__ = ["PrintedNumber", "PublishedNumber", "PublishedTable", "Remark", "find", "load", "names"]

_FOLDER = Path(__file__).parent
# A bound, a number, and the spread over training runs, as in ">76.7" and "58.1±0.4".
_PRINTED = re.compile(
    r"(?P<bound>>?)(?P<number>[+-]?\d+(?P<decimals>\.\d+)?)(±(?P<spread>\d+\.\d+))?"
)
TABLE_FIELDS = dict.fromkeys(("name", "title", "suite", "csv"), TEXT)
TABLE_TOO = {
    **dict.fromkeys(("source", "entries", "mean", "prefix"), TEXT),
    "verified": FLAG,
    "text": TEXTS,
    "others": TEXTS,
    "labels": TABLE,
    "flag": TABLES,
}
REMARK = {"row": TEXT, "column": TEXT, "inconsistent": FLAG, "note": TEXT}
REMARK_TOO = {"comparable": FLAG}


class PrintedNumber(NamedTuple):
    """A number as it was printed; what it was rounded from lies within half a step of it."""

    text: str
    value: float
    half_step: float
    spread: float | None = None  # over training runs
    is_bound: bool = False  # printed with ">": only a lower bound is known


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
    text_columns: tuple[str, ...]
    metric: str | None  # what the entries are, in a table with a column per corruption
    entries: tuple[str, ...]
    mean: str | None  # the column that holds their mean
    rows: dict[str, dict[str, PrintedNumber | None]]  # model or method -> column -> number
    words: dict[str, dict[str, str]]  # model or method -> text column -> text
    flags: tuple[Remark, ...]
    prefix: str  # of rows that only their table tells apart
    labels: dict[str, str]  # rows that are called something else beside other tables' rows

    def label(self, row: str) -> str:
        """What to call a row where its table is not named."""
        return self.labels.get(row) or self.prefix + row

    def notes(self, row: str, column: str) -> tuple[str, ...]:
        return tuple(f.note for f in self.flags if (f.row, f.column) == (row, column))

    def comparable(self, row: str, column: str) -> bool:
        """Whether no flag says that the number was measured on other images than the suite's."""
        return all(f.comparable for f in self.flags if (f.row, f.column) == (row, column))

    def consistent(self, row: str) -> bool:
        """Whether no number of the row is flagged as contradicting the others."""
        return not any(flag.inconsistent for flag in self.flags if flag.row == row)


class PublishedNumber(NamedTuple):
    """One published number."""

    row: str  # the model or method
    value: PrintedNumber
    table: PublishedTable
    notes: tuple[str, ...]


@cache
def _tables() -> dict[str, PublishedTable]:
    tables: dict[str, PublishedTable] = {}
    for path in sorted(_FOLDER.glob("*.toml")):
        try:
            data = tomllib.loads(path.read_text(encoding="utf-8"))
        except tomllib.TOMLDecodeError as error:
            raise InputError(f"{path.name}: expected a TOML file, but {error}") from error
        for table in parse_file(data, path.name):
            if table.name in tables:
                raise InputError(f'{path.name}: the table "{table.name}" exists already; rename it')
            tables[table.name] = table
    return tables


def names() -> tuple[str, ...]:
    """The tables there are."""
    return tuple(_tables())


def load(name: str) -> PublishedTable:
    """The table of that name."""
    if name not in _tables():
        raise InputError(f'unknown published table "{name}" (all: {", ".join(names())})')
    return _tables()[name]


def find(column: str, suite: str, *, verified: bool = True) -> list[PublishedNumber]:
    """All numbers published under that name for a suite, in the order of the tables.

    The same model may come more than once, with different numbers: each comes with its table.
    """
    found = []
    for table in _tables().values():
        if table.suite == suite and column in table.columns and (table.verified or not verified):
            for row, values in table.rows.items():
                value = values[column]
                if value is not None:
                    found.append(PublishedNumber(row, value, table, table.notes(row, column)))
    return found


def parse_file(data: Mapping[str, Any], where: str) -> list[PublishedTable]:
    check_table(data, {"source": TEXT, "table": TABLES}, where, optional={"original": FLAG})
    return [_parse_table(table, data, where) for table in data["table"]]


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


def _parse_table(data: Mapping[str, Any], file: Mapping[str, Any], where: str) -> PublishedTable:
    where = f"{where} [{data.get('name')}]"
    check_table(data, TABLE_FIELDS, where, optional=TABLE_TOO)
    header, *lines = csv.reader(data["csv"].strip().splitlines())
    text = tuple(data.get("text", ()))
    columns = tuple(name for name in header[1:] if name not in text)
    entries, mean = _parse_entries(data, header, columns, where)
    rows: dict[str, dict[str, PrintedNumber | None]] = {}
    words: dict[str, dict[str, str]] = {}
    for line in lines:
        if len(line) != len(header):
            raise InputError(
                f"{where}: expected {len(header)} cells in every row, got {len(line)}: {line}"
            )
        if line[0] in rows:
            raise InputError(f'{where}: expected different rows, got "{line[0]}" twice')
        cells = dict(zip(header, line, strict=True))
        spot = f"{where} {line[0]}"
        rows[line[0]] = {name: parse_printed(cells[name], f"{spot}, {name}") for name in columns}
        words[line[0]] = {name: cells[name] for name in text}
    return PublishedTable(
        name=data["name"],
        title=data["title"],
        source=data.get("source", file["source"]),
        suite=data["suite"],
        original=file.get("original", False),
        verified=data.get("verified", True),
        columns=columns,
        text_columns=text,
        metric=data.get("entries"),
        entries=entries,
        mean=mean,
        rows=rows,
        words=words,
        flags=tuple(_parse_flag(flag, rows, columns, where) for flag in data.get("flag", ())),
        prefix=data.get("prefix", ""),
        labels=_parse_labels(data.get("labels", {}), rows, where),
    )


def _parse_entries(
    data: Mapping[str, Any], header: list[str], columns: tuple[str, ...], where: str
) -> tuple[tuple[str, ...], str | None]:
    """The columns that are neither the mean nor among `others`."""
    mean, others = data.get("mean"), data.get("others", [])
    named = [*others, *([mean] if mean else [])]
    missing = [name for name in [*named, *data.get("text", [])] if name not in header]
    if missing or ("entries" not in data and named):
        raise InputError(
            f"{where}: expected text, others and mean to name columns, and the last two only in a "
            f"table with entries, got {missing or named}"
        )
    if "entries" not in data:
        return (), None
    return tuple(name for name in columns if name not in named), mean


def _parse_labels(labels: Mapping[str, Any], rows: Mapping[str, Any], where: str) -> dict[str, str]:
    for row, label in labels.items():
        if row not in rows or not isinstance(label, str):
            raise InputError(
                f'{where}: expected labels to be texts for rows of the table, got "{row}" = '
                f"{label!r}"
            )
    return dict(labels)


def _parse_flag(
    data: Mapping[str, Any],
    rows: Mapping[str, Mapping[str, PrintedNumber | None]],
    columns: tuple[str, ...],
    where: str,
) -> Remark:
    check_table(data, REMARK, where, optional=REMARK_TOO)
    flag = Remark(**data)
    if flag.row not in rows or flag.column not in columns or rows[flag.row][flag.column] is None:
        raise InputError(
            f'{where}: expected a flag to name a number of the table, got row "{flag.row}", column '
            f'"{flag.column}"'
        )
    return flag
