"""A chosen set of corruptions as a suite: a TOML file that `--suite FILE` takes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from hardy.design.overwriting import check_begins
from hardy.errors import InputError
from hardy.files import check_target, write_file
from hardy.registry import unknown
from hardy.suites import load, text_of
from hardy.suites import names as own_suites
from hardy.suites.suite import Suite

MARK = "# Written by hardy design, which writes over its own files only."


def write_suite(target: Path, base: str, counted: Sequence[str], source: str) -> Path:
    """The corruptions of a base suite, under the name of the file."""
    text = suite_toml(base, _name(target), counted, source)
    check_target(target)
    _check_ours(target, base)
    write_file(target, f"{MARK}\n{text}".encode())
    return target


def suite_toml(base: str, name: str, counted: Sequence[str], source: str) -> str:
    """The base suite with only these corruptions; a reference keeps its errors for them."""
    suite = base_suite(base)
    for one in counted:
        if one not in suite.corruptions:
            raise unknown(f"corruption of {suite.name}", one, suite.corruptions)
    data = tomllib.loads(text_of(suite))
    data |= {"name": name, "version": 1, "counted": list(counted), "validation": []}
    data["title"] = f"{name}: {len(counted)} corruptions of {suite.title}"
    data["source"] = f"{source}; {suite.source}"
    for errors in data.get("reference", {}).values():
        if isinstance(errors, dict):
            for other in set(errors) - set(counted):
                del errors[other]
    return as_toml(data)


def base_suite(name: str) -> Suite:
    suite = load(name)
    if suite.kind != "corruptions":
        raise InputError(f"expected a suite of corruptions to choose from, got {suite.name}")
    return suite


def as_toml(table: Mapping[str, Any]) -> str:
    return "\n".join(_lines(table)) + "\n"


def check_file_name(target: Path) -> None:
    if target.suffix != ".toml" or not re.fullmatch(r"[a-z0-9_]+", target.stem):
        raise InputError(
            f"expected a file of small letters, digits and _ such as my_suite.toml, got {target}"
        )


def _name(target: Path) -> str:
    """Of the suite that goes into a file."""
    check_file_name(target)
    name = target.stem
    if name in own_suites():
        raise InputError(f"{name} is a suite of Hardy's own; give the new one another name")
    return name


def _check_ours(target: Path, base: str) -> None:
    """What is there already, if anything, was written here, and is not what is chosen from."""
    if not target.exists():
        return
    if base.endswith(".toml") and target.samefile(base):
        raise InputError(
            f"cannot write {target}: it is the suite that is chosen from; name another file"
        )
    check_begins(target, MARK, "suite that `hardy design` wrote")


def _lines(table: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """As TOML: plain values first, then tables; empty ones are left out."""
    for key, value in table.items():
        if not isinstance(value, Mapping):
            yield f"{_key(key)} = {_value(value)}"
    for key, value in table.items():
        if isinstance(value, Mapping) and value:
            path = f"{above}{_key(key)}"
            yield f"\n[{path}]"
            yield from _lines(value, f"{path}.")


def _key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else _value(key)


def _value(value: Any) -> str:
    """Strings and numbers are written as in JSON, but that TOML has no surrogate pairs."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if not isinstance(value, str | int | float):
        raise InputError(f"expected text, numbers, lists and tables in a suite, got {value!r}")
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
