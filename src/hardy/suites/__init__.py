"""Benchmarks as data: the constants of each edition, and the suites made from them.

A new suite or edition is a new TOML file; nothing else lists them.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from hardy.documents import parse_toml, read_toml
from hardy.errors import InputError
from hardy.files import write_file
from hardy.places import is_url, locate
from hardy.registry import unknown
from hardy.rooms import call_room
from hardy.suites.edition_files import BROUGHT, Edition, parse_edition
from hardy.suites.edition_files import SEVERITIES as SEVERITIES
from hardy.suites.suite import Suite, parse_suite

_FOLDER = Path(__file__).parent


@cache
def suite_names() -> tuple[str, ...]:
    """List the suites there are; `hardy.suites()` is this function.

    >>> import hardy
    >>> "imagenet_c" in hardy.suites()
    True
    """
    return tuple(sorted(path.stem for path in _FOLDER.glob("*.toml")))


def load(name: str) -> Suite:
    """The suite of that name, or in that file, such as "my_suite.toml"."""
    return _load_file(locate(name)) if name.endswith(".toml") else _load(name)


def parse(text: str, name: str) -> Suite:
    """A suite that is in no file yet."""
    return _parse(text, Path(f"{name}.toml"))


@cache
def _load(name: str) -> Suite:
    if name not in suite_names():
        raise unknown("suite", name, suite_names())
    return parse_suite(_read(f"{name}.toml"), f"{name}.toml", edition, editions_of)


def _load_file(file: Path) -> Suite:
    _check_free(file)
    return _finish(*read_toml(file, "the suite"), file)


def _parse(text: str, file: Path) -> Suite:
    _check_free(file)
    return _finish(text, parse_toml(text, file), file)


def _check_free(file: Path) -> None:
    """A suite that is no part of Hardy cannot have the name of one that is."""
    if file.stem in suite_names():
        raise InputError(
            f"{file}: {file.stem} is a suite of Hardy's own; call the file and its suite otherwise"
        )


def _finish(text: str, data: Mapping[str, Any], file: Path) -> Suite:
    suite = parse_suite(data, file.name, edition, editions_of)
    return replace(suite, toml=text + _missing_constants(suite, data))


def _missing_constants(suite: Suite, data: Mapping[str, Any]) -> str:
    """What plug-ins brought to the suite, as TOML: with it, a copy can be read without them."""
    there = {*edition(suite.edition.name).corruptions, *data.get("constants", {})}
    lines = []
    for name in suite.corruptions:
        for row in () if name in there else suite.edition.corruptions[name]:
            values = [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in row.items()]
            lines += ["", f"[[constants.{json.dumps(name)}]]", *values]
    return "\n".join([*lines, ""]) if lines else ""


def keep_beside(folder: Path, suite: Suite) -> str:
    """Copy a suite that is not Hardy's into the folder of its results, and say what to load it by.

    So the results can be read without the user's file.
    """
    if suite.toml is not None:
        write_file(folder / copy_name(suite), suite.toml.encode())
    return suite_in(folder, suite.name)


def copy_name(suite: Suite) -> str:
    return f"{suite.name}.toml"


def suite_in(folder: Path, name: str) -> str:
    """What to load for the results in a folder: the copy, or else the name."""
    copy = folder / f"{name}.toml"
    # os.path.isfile, unlike Path.is_file, takes names of any length
    there = copy.is_file() if is_url(copy) else os.path.isfile(copy)
    return str(copy) if there else name


def text_of(suite: Suite) -> str:
    """The TOML of a suite."""
    return suite.toml or (_FOLDER / f"{suite.name}.toml").read_text(encoding="utf-8")


@cache
def editions(having: str | None = None) -> tuple[str, ...]:
    """The editions there are, or those that have a corruption or perturbation of that name."""
    found = sorted(path.stem for path in _FOLDER.glob("editions/*.toml"))
    return tuple(name for name in found if having is None or having in edition(name))


def editions_of(corruption: str) -> tuple[str, ...] | None:
    """The editions that have parameters for a corruption, those among them for which its plug-in
    brings some; None where there is no such corruption."""
    brought = BROUGHT[corruption].rows if corruption in BROUGHT else None
    ours = [name for name in editions() if corruption in edition(name).corruptions]
    return (*ours, *(brought or ())) if ours or brought is not None else None


@cache
def edition(name: str) -> Edition:
    """The edition of that name, such as "224" or "cifar"."""
    if name not in editions():
        raise unknown("edition", name, editions())
    return parse_edition(_read(f"editions/{name}.toml"), f"editions/{name}.toml")


def nearest_edition(height: int, width: int, among: Iterable[str]) -> str:
    """The edition whose side is nearest, in log, to the shorter side of an image."""
    if min(height, width) < 1:
        raise InputError(
            f"expected an image of at least one pixel, got height {height} and width {width}; "
            "check that the array is (height, width, channels)"
        )
    return _nearest_of(min(height, width), tuple(among))


@lru_cache(maxsize=1024)
def _nearest_of(side: int, among: tuple[str, ...]) -> str:
    return _nearest(side, {name: edition(name).side for name in among})


def _nearest(side: int, sides: Mapping[str, int]) -> str:
    """Compares ratios instead of logs, which gives the same order; a tie goes to the smaller."""

    def distance(name: str) -> tuple[float, int]:
        return max(side / sides[name], sides[name] / side), sides[name]

    return min(sides, key=distance)


def _read(file: str) -> dict[str, Any]:
    return parse_toml((_FOLDER / file).read_text(encoding="utf-8"), Path(file))


call_room(__name__, f"{__name__}:suite_names")
