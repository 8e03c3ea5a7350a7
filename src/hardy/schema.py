"""One set of checks for what people may have written: suites, records, results, published tables.

A table is checked field by field before anything of it is used. An error names the place and says
what was expected, what came, and what to do.
"""

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any, NamedTuple

from hardy.errors import InputError
from hardy.registry import unknown

SHOWN = 60
LARGEST = 10**300  # of whole numbers, which a float can hold
_CORRECT = "correct the file"


class Field(NamedTuple):
    """What a value has to be, in words and as a test."""

    expected: str
    fits: Callable[[Any], bool]


def is_whole(value: Any, least: int = 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST


def is_number(value: Any) -> bool:
    """A finite one that a float can hold, which an integer in a file need not be."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return math.isfinite(value) if isinstance(value, float) else abs(value) <= LARGEST


def is_text(value: Any) -> bool:
    return isinstance(value, str)


def all_of(fits: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(map(fits, value))


def or_null(field: Field) -> Field:
    return Field(f"{field.expected} or null", lambda value: value is None or field.fits(value))


def one_of(words: Collection[str]) -> Field:
    return Field(" or ".join(words), lambda value: is_text(value) and value in words)


def at_least(least: int) -> Field:
    return Field(f"a whole number of {least} or more", lambda value: is_whole(value, least))


TEXT = Field("text", is_text)
TEXTS = Field("a list of texts", all_of(is_text))
WHOLE = Field("a whole number above 0", is_whole)
FLAG = Field("true or false", lambda value: isinstance(value, bool))
LIST = Field("a list", lambda value: isinstance(value, list))
TABLE = Field("a table", lambda value: isinstance(value, dict))
TABLES = Field("a list of tables", all_of(TABLE.fits))

Schema = Mapping[str, Field]


def check_table(
    data: Any,
    schema: Schema,
    where: str,
    todo: str = _CORRECT,
    *,
    optional: Schema | None = None,
    prefix: str = "",
) -> None:
    """All that the schema names is there and fits, what is optional fits, and there is no more.

    `prefix` is that of the fields in messages, such as "model.".
    """
    expect(isinstance(data, dict), "a table", data, f"{where}: {prefix.rstrip('.') or 'content'}")
    known = {prefix + name: field for name, field in {**schema, **(optional or {})}.items()}
    for name in data:
        if prefix + name not in known:
            raise unknown(f"field of {where}", f"{prefix}{name}"[:SHOWN], known)
    given = {prefix + name: value for name, value in data.items()}
    wanted = {name: known[name] for name in known if name in given or name[len(prefix) :] in schema}
    check_fields(given, wanted, where, todo, "add it")


def check_fields(
    data: Mapping[str, Any],
    schema: Schema,
    where: str,
    todo: str = _CORRECT,
    missing: str | None = None,
) -> None:
    """All that the schema names is there and fits; what else is there is nobody's business here.

    `missing` is what to do about a field that is not there, where that is something else.
    """
    for name, field in schema.items():
        if name not in data:
            raise InputError(
                f"{where}: {name}: expected {field.expected}, got nothing; {missing or todo}"
            )
        expect(field.fits(data[name]), field.expected, data[name], f"{where}: {name}", todo)


def expect(right: bool, expected: str, got: Any, where: str, todo: str = _CORRECT) -> None:
    if not right:
        raise InputError(f"{where}: expected {expected}, got {brief(got)}; {todo}")


def brief(value: Any) -> str:
    try:
        text = " ".join(repr(value).split("\n"))
    except ValueError:  # Python does not write out a whole number of thousands of digits
        text = "a number of too many digits"
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
