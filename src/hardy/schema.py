"""The fields of a JSON file that anybody may have written: each is checked before it is used."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from hardy.errors import InputError

SHOWN = 60


class Field(NamedTuple):
    expected: str
    fits: Callable[[Any], bool]


def is_whole(value: Any, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def all_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def or_null(field: Field) -> Field:
    return Field(f"{field.expected} or null", lambda value: value is None or field.fits(value))


TEXT = Field("text", is_text)
TEXTS = Field("a list of texts", all_of(is_text))
WHOLE = Field("a whole number above 0", is_whole)
TABLE = Field("a table", lambda value: isinstance(value, dict))
TABLES = Field("a list of tables", all_of(TABLE.fits))


def check_fields(
    data: Mapping[str, Any],
    schema: Mapping[str, Field],
    where: str,
    todo: str,
    missing: str | None = None,
) -> None:
    """All that the schema names are there and fit; others are nobody's business here. `missing` is
    what to do about one that is not there, where that is something else."""
    for name, field in schema.items():
        if name not in data:
            raise InputError(
                f"{where}: {name}: expected {field.expected}, got nothing; {missing or todo}"
            )
        expect(field.fits(data[name]), field.expected, data[name], f"{where}: {name}", todo)


def expect(right: bool, expected: str, got: Any, where: str, todo: str) -> None:
    if not right:
        raise InputError(f"{where}: expected {expected}, got {brief(got)}; {todo}")


def brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
