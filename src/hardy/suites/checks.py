"""The checks that suite and edition files pass when they are read; the errors name the place."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hardy.errors import InputError
from hardy.registry import unknown

MOST = 10**300  # of whole numbers


def check_keys(
    table: Any, where: str, required: Mapping[str, type], optional: Mapping[str, type] | None = None
) -> None:
    expect(isinstance(table, Mapping), where, "content", "a table", table)
    kinds = {**required, **(optional or {})}
    for key, value in table.items():
        if key not in kinds:
            raise unknown(f"{where} key", key, kinds)
        right = isinstance(value, kinds[key]) and not isinstance(value, bool)
        expect(right, where, key, f"a value of type {kinds[key].__name__}", value)
    for key in required:
        expect(key in table, where, key, "this key", "none")


def check_name(data: Mapping[str, Any], where: str) -> None:
    stem = where.rpartition("/")[2].removesuffix(".toml")
    expect(data["name"] == stem, where, "name", f'that of the file, "{stem}"', data["name"])


def expect(right: bool, where: str, key: str, expected: str, got: object) -> None:
    if not right:
        raise InputError(f"{where}: {key}: expected {expected}, got {got!r}; correct the file")


def is_number(value: object) -> bool:
    """A finite one that a float can hold, which a TOML integer need not be."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= MOST


def check_rows(rows: Any, header: list[Any], where: str, key: str) -> tuple[dict[str, float], ...]:
    """Rows of values under a header of parameter names."""
    for row in rows:
        is_row = isinstance(row, list) and len(row) == len(header)
        expect(is_row, where, key, f"{len(header)} values per row", row)
        for value in row:
            expect(is_number(value), where, key, "numbers", value)
    return tuple(dict(zip(header, map(float, row), strict=True)) for row in rows)
