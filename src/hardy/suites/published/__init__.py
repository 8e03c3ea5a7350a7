"""What others published, as printed: TOML tables, flagged where they contradict themselves.

Columns are called as Hardy's scores are ("mCE", "clean error"), so `find` puts a run beside them.
The errors of the reference models are part of the suites.
"""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from hardy.errors import InputError
from hardy.suites.published.printed import (
    Flag,
    Printed,
    Table,
    parse_file,
)

__all__ = ["Flag", "Found", "Printed", "Table", "find", "load", "names"]

_FOLDER = Path(__file__).parent


class Found(NamedTuple):
    """One published number."""

    row: str  # the model or method
    value: Printed
    table: Table
    notes: tuple[str, ...]


@cache
def _tables() -> dict[str, Table]:
    tables: dict[str, Table] = {}
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


def load(name: str) -> Table:
    """The table of that name."""
    if name not in _tables():
        raise InputError(f'unknown published table "{name}" (all: {", ".join(names())})')
    return _tables()[name]


def find(column: str, suite: str, *, verified: bool = True) -> list[Found]:
    """All numbers published under that name for a suite, in the order of the tables.

    The same model may come more than once, with different numbers: each comes with its table.
    """
    found = []
    for table in _tables().values():
        if table.suite == suite and column in table.columns and (table.verified or not verified):
            for row, values in table.rows.items():
                value = values[column]
                if value is not None:
                    found.append(Found(row, value, table, table.notes(row, column)))
    return found
