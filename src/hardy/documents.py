"""Records and other texts that programs and people write: JSON, lines of JSON, TOML.

One reader for all of them: no larger than its limit, one line on whatever is wrong with it, and, in
a record that Hardy wrote, a sum by which a byte that changed is noticed.
"""

import json
import tomllib
from collections.abc import Callable, Collection, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from hardy.errors import InputError, told
from hardy.limits import RECORD, Limit, check_regular
from hardy.places import UrlPath
from hardy.schema import Field, Schema, check_fields, is_text

SUM = "sha256"  # the field of a record that holds the sum of all others
_ALTERED = (
    f"it is not as it was written, by its {SUM}; restore it, or, if you meant to change it, remove "
    "that field"
)

SUITE_NAME = Field(
    "the name of a suite, up to 200 letters without slashes",  # since files are called by it
    lambda value: is_text(value) and len(value) <= 200 and not set("/\\") & set(value),
)

Pairs = Callable[[list[tuple[str, Any]]], Any]


def read_document(path: Path, limit: Limit = RECORD) -> bytes:
    """All bytes of a file, unless it is too large; its reader says what an OSError means."""
    if isinstance(path, UrlPath):
        content = path.read_at_once(limit.value + 1)
    else:
        check_regular(path)
        with path.open("rb") as file:
            content = file.read(limit.value + 1)
    if len(content) > limit.value:
        limit.check(max(path.stat().st_size, len(content)), path)
    return content


def parse_json(content: bytes | str, pairs: Pairs | None = None) -> Any:
    """What JSON says, or a ValueError: also where it is nested too deeply, or no text."""
    try:
        return json.loads(content, object_pairs_hook=pairs)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_json(
    path: Path, expected: str, todo: str, *, limit: Limit = RECORD, pairs: Pairs | None = None
) -> Any:
    """The content of a JSON file; that there is none stays a FileNotFoundError."""
    try:
        return parse_json(read_document(path, limit), pairs)
    except (FileNotFoundError, NotADirectoryError, InputError):
        raise
    except (OSError, ValueError) as error:
        raise InputError(f"{path}: expected {expected}, but {why_unread(error)}; {todo}") from error


def without_fields(content: Any, names: Collection[str]) -> Any:
    """What a document says, less the fields of these names at any depth."""
    if isinstance(content, Mapping):
        kept = ((name, value) for name, value in content.items() if name not in names)
        return {name: without_fields(value, names) for name, value in kept}
    if isinstance(content, list):
        return [without_fields(one, names) for one in content]
    return content


def why_unread(error: OSError | ValueError) -> str:
    """Why a text cannot be read."""
    return error.strerror or told(error) if isinstance(error, OSError) else str(error)


def seal(content: Mapping[str, Any]) -> dict[str, Any]:
    """The record with the sum of what is in it."""
    plain = json.loads(json.dumps(content))  # tuples are lists, as in the file
    return {**plain, SUM: _sum(plain)}


def check_record(content: Any, schema: Schema, where: object, todo: str) -> dict[str, Any]:
    """The record without its sum, if all fields of the schema fit, and it is as it was written.

    Records of Hardy 0.1.0 have no sum, nor has one from which somebody removed it.
    """
    if not isinstance(content, dict):
        raise InputError(f"{where}: expected a table, got {type(content).__name__}; {todo}")
    plain = {name: value for name, value in content.items() if name != SUM}
    check_fields(plain, schema, str(where), todo)
    if content.get(SUM, _sum(plain)) != _sum(plain):
        raise InputError(f"{where}: {_ALTERED}")
    return plain


def _sum(content: Mapping[str, Any]) -> str:
    return sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def parse_toml(text: str, file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise InputError(
            f"{file}: expected a TOML file, but it is nested too deeply; is it a suite?"
        ) from error
    # A number of very many digits is no error of TOML's, but of Python's.
    except (ValueError, ArithmeticError, TypeError, LookupError, AttributeError) as error:
        raise InputError(f"{file}: expected a TOML file, but {error}; repair that line") from error


def read_toml(file: Path, what: str) -> tuple[str, dict[str, Any]]:
    """The text of a TOML file, and what it says."""
    try:
        text = read_document(file).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read {what} {file} ({error})") from error
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text, parse_toml(text, file)
