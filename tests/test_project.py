"""What the project says of itself: its version in one place, how to cite it, what it ships."""

from __future__ import annotations

import re
import tomllib

import hardy
from tests.pages import ROOT, page

PROJECT = tomllib.loads(page("pyproject.toml"))


def test_the_version_stands_in_one_place() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/hardy/__init__.py"
    places = [
        path.relative_to(ROOT).as_posix()
        for path in [*ROOT.glob("*.*"), *(ROOT / "src").rglob("*.py"), *(ROOT / "docs").glob("*")]
        if path.is_file() and hardy.__version__.encode() in path.read_bytes()
    ]
    assert places == ["src/hardy/__init__.py"]


def test_what_is_in_the_making_comes_after_the_last_release() -> None:
    first, *released = re.findall(r"^## \[(.*?)\]", page("CHANGELOG.md"), re.MULTILINE)
    version, unfinished, _ = hardy.__version__.partition(".dev")
    assert first == ("Unreleased" if unfinished else version)
    numbers = [tuple(map(int, one.split("."))) for one in (version, *released)]
    assert numbers == sorted(set(numbers), reverse=True)


def test_it_can_be_cited() -> None:
    keys = dict(re.findall(r"^([\w-]+):(.*)$", page("CITATION.cff"), re.MULTILINE))
    assert {"cff-version", "message", "title", "authors"} <= keys.keys(), "what the format asks for"
    assert keys["license"].strip() == PROJECT["project"]["license"]
    assert PROJECT["project"]["description"][1:] in keys["title"]
    assert "CITATION.cff" in PROJECT["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
