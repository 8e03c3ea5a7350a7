"""Suites that are no part of Hardy: files that a user names.

Where results are kept, a copy lies beside them, so that they can be read without the user's file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from hardy.errors import InputError
from hardy.files import write_file
from hardy.suites.suite import Edition, Suite, parse_suite


def load(file: Path, taken: Sequence[str], edition: Callable[[str], Edition]) -> Suite:
    """The suite in a file; the names of Hardy's own are taken."""
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the suite {file} ({error})") from error
    return parse(text, file, taken, edition)


def parse(text: str, file: Path, taken: Sequence[str], edition: Callable[[str], Edition]) -> Suite:
    if file.stem in taken:
        raise InputError(
            f"{file}: {file.stem} is a suite of Hardy's own; call the file and its suite otherwise"
        )
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file}: expected a TOML file, but {error}; repair that line") from error
    except RecursionError as error:
        raise InputError(
            f"{file}: expected a TOML file, but it is nested too deeply; is it a suite?"
        ) from error
    return replace(parse_suite(data, file.name, edition), toml=text)


def keep_beside(folder: Path, suite: Suite) -> str:
    """A copy for whoever reads the results in a folder; Hardy's own suites need none. What to load
    it by is returned."""
    if suite.toml is not None:
        write_file(folder / copy_name(suite), suite.toml.encode())
    return beside(folder, suite.name)


def copy_name(suite: Suite) -> str:
    return f"{suite.name}.toml"


def beside(folder: Path, name: str) -> str:
    """What to load for the results in a folder: the copy, or else the name."""
    copy = folder / f"{name}.toml"
    return str(copy) if copy.is_file() else name
