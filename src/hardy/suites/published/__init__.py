"""What others published, as printed: TOML tables, flagged where they contradict themselves.

Columns are called as Hardy's scores are ("mCE", "clean error"), so `find` puts a run beside them.
The errors of the reference models are part of the suites.
"""

import csv
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hardy.documents import parse_toml
from hardy.errors import InputError
from hardy.registry import unknown
from hardy.schema import FLAG, TABLE, TABLES, TEXT, TEXTS, check_table
from hardy.suites.published.printed_table import (
    PublishedNumber,
    PublishedTable,
    Remark,
    parse_cells,
    parse_printed,
)

_TABLE_FIELDS = dict.fromkeys(("name", "title", "suite", "csv"), TEXT)
_TABLE_TOO = {
    **dict.fromkeys(("source", "entries", "mean", "prefix"), TEXT),
    "verified": FLAG,
    "text": TEXTS,
    "others": TEXTS,
    "labels": TABLE,
    "flag": TABLES,
}
_REMARK = {"row": TEXT, "column": TEXT, "inconsistent": FLAG, "note": TEXT}


@cache
def _tables() -> dict[str, PublishedTable]:
    tables: dict[str, PublishedTable] = {}
    for path in sorted(Path(__file__).parent.glob("*.toml")):
        for table in parse_file(parse_toml(path.read_text(encoding="utf-8"), path), path.name):
            if table.name in tables:
                raise InputError(f'{path.name}: the table "{table.name}" exists already; rename it')
            tables[table.name] = table
    return tables


def table_names() -> tuple[str, ...]:
    """The tables there are."""
    return tuple(_tables())


def load_table(name: str) -> PublishedTable:
    """The table of that name."""
    if name not in _tables():
        raise unknown("published table", name, table_names())
    return _tables()[name]


def find(column: str, suite: str, *, verified: bool = True) -> list[PublishedNumber]:
    """All numbers published under that name for a suite, in the order of the tables.

    The same model may come more than once, with different numbers: each comes with its table.
    """
    found = []
    for table in _tables().values():
        if table.suite == suite and column in table.columns and (table.verified or not verified):
            for row, values in table.rows.items():
                if (value := values[column]) is not None:
                    found.append(PublishedNumber(row, value, table, table.notes(row, column)))
    return found


def parse_file(data: Mapping[str, Any], where: str) -> list[PublishedTable]:
    too = {"original": FLAG, "standard": TEXTS}
    check_table(data, {"source": TEXT, "table": TABLES}, where, optional=too)
    tables = [_parse_table(table, data, where) for table in data["table"]]
    nowhere = [row for row in data.get("standard", ()) if not any(row in t.rows for t in tables)]
    if nowhere:
        raise InputError(
            f"{where}: expected standard to name rows of the tables, got "
            f"{', '.join(nowhere)}; correct the names"
        )
    return tables


def _parse_table(data: Mapping[str, Any], file: Mapping[str, Any], where: str) -> PublishedTable:
    where = f"{where} [{data.get('name')}]"
    check_table(data, _TABLE_FIELDS, where, optional=_TABLE_TOO)
    for flag in data.get("flag", ()):
        check_table(flag, _REMARK, where, optional={"comparable": FLAG})
    header, *lines = csv.reader(data["csv"].strip().splitlines())
    text = tuple(data.get("text", ()))
    columns = tuple(name for name in header[1:] if name not in text)
    mean, others = data.get("mean"), data.get("others", [])
    named = [*others, *([mean] if mean else [])]
    missing = [name for name in [*named, *text] if name not in header]
    if missing or ("entries" not in data and named):
        raise InputError(
            f"{where}: expected text, others and mean to name columns, and the last two only in a "
            f"table with entries, got {missing or named}"
        )
    cells = parse_cells(header, lines, where)
    table = PublishedTable(
        name=data["name"],
        title=data["title"],
        source=data.get("source", file["source"]),
        suite=data["suite"],
        original=file.get("original", False),
        verified=data.get("verified", True),
        columns=columns,
        metric=data.get("entries"),
        entries=tuple(name for name in columns if name not in named) if "entries" in data else (),
        mean=mean,
        rows={
            row: {name: parse_printed(its[name], f"{where} {row}, {name}") for name in columns}
            for row, its in cells.items()
        },
        words={row: {name: its[name] for name in text} for row, its in cells.items()},
        flags=tuple(Remark(**flag) for flag in data.get("flag", ())),
        prefix=data.get("prefix", ""),
        labels=data.get("labels", {}),
        standard=tuple(row for row in file.get("standard", ()) if row in cells),
    )
    table.check(where)
    return table
