"""The fields of a result file: one that is missing, unknown or of the wrong kind is refused by its
name, and so is what no reader could show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from hardy import schema as fields
from hardy.registry import unknown
from hardy.schema import Field, all_of, check_fields

NAME, PROSE = 1000, 10_000  # letters
MOST = 10**9  # of any number: ratios to a reference come nowhere near, and nothing overflows
TODO = "correct the file"


def _is_text(value: Any, longest: int = NAME) -> bool:
    """Something to see, and nothing that no file can hold."""
    if not isinstance(value, str) or len(value) > longest:
        return False
    seen = any(letter.isprintable() and not letter.isspace() for letter in value)
    return seen and not any("\ud800" <= letter <= "\udfff" for letter in value)


def _is_prose(value: Any) -> bool:
    return _is_text(value, PROSE)


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= MOST


def is_whole(value: Any) -> bool:
    return is_number(value) and fields.is_whole(value)


TEXT = Field(f"text of at most {NAME:,} letters", _is_text)
TEXTS = Field(f"a list of texts of at most {NAME:,} letters", all_of(_is_text))
LONG_TEXT = Field(f"text of at most {PROSE:,} letters", _is_prose)
LONG_TEXTS = Field(f"a list of texts of at most {PROSE:,} letters", all_of(_is_prose))
NUMBER = Field("a number of at most 1e9", is_number)
FINITE = Field("a finite number", math.isfinite)
WHOLE = Field("a whole number above 0", is_whole)
WHOLES = Field("a list of whole numbers above 0", all_of(is_whole))


def check_table(data: Any, schema: Mapping[str, Field], where: str, prefix: str) -> None:
    expect(isinstance(data, dict), "a table", data, f"{where}: {prefix.rstrip('.') or 'content'}")
    for name in data:
        if name not in schema:
            raise unknown(
                f"field of {where}:", f"{prefix}{name}"[:60], [prefix + n for n in schema]
            )
    given, wanted = ({prefix + name: each for name, each in one.items()} for one in (data, schema))
    check_fields(given, wanted, where, TODO, "add the field")


def check_field(field: Field, value: Any, where: str) -> None:
    expect(field.fits(value), field.expected, value, where)


def expect(right: bool, expected: str, got: Any, where: str) -> None:
    fields.expect(right, expected, got, where, TODO)


def check_finite(value: Any, where: str) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            check_finite(inner, f"{where}.{name}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            check_finite(inner, f"{where}[{place}]")
    elif isinstance(value, float):
        check_field(FINITE, value, where)
