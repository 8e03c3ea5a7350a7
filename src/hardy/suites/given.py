"""Suites that are no part of Hardy: files that a user names.

Where results are kept, a copy lies beside them, so that they can be read without the user's file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from hardy.errors import InputError
from hardy.suites.schema import Edition, Suite, parse_suite
from hardy.whole import whole_file


class Given(NamedTuple):
    suite: Suite
    text: str  # of the file
    file: Path


SUITES: dict[str, Given] = {}  # by name, as last read


def load(file: Path, taken: Sequence[str], edition: Callable[[str], Edition]) -> Suite:
    """The suite in a file; the names of Hardy's own are taken."""
    if file.stem in taken:
        raise InputError(
            f"{file}: {file.stem} is a suite of Hardy's own; call the file and its suite otherwise"
        )
    try:
        text = file.read_text(encoding="utf-8")
        data = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"cannot read the suite {file} ({error})") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file}: expected a TOML file, but {error}; repair that line") from error
    suite = parse_suite(data, file.name, edition)
    SUITES[suite.name] = Given(suite, text, file.resolve())
    return suite


def address(suite: Suite) -> str:
    """What another process loads it by."""
    return str(SUITES[suite.name].file) if suite.name in SUITES else suite.name


def keep_beside(folder: Path, suite: Suite) -> None:
    """A copy for whoever reads the results in a folder; Hardy's own suites need none."""
    if suite.name in SUITES:
        with whole_file(folder / copy_name(suite)) as file:
            file.write(SUITES[suite.name].text.encode())


def copy_name(suite: Suite) -> str:
    return f"{suite.name}.toml"


def beside(folder: Path, name: str) -> str:
    """What to load for the results in a folder: the copy, or else the name."""
    copy = folder / f"{name}.toml"
    return str(copy) if copy.is_file() else name
