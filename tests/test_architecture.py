"""The map is true: folders and the files above them are on it, and what it names exists."""

from __future__ import annotations

import ast
import re

import pytest

import hardy
from tests.pages import ROOT, page

SOURCE = ROOT / "src" / "hardy"
MAP = page("docs/architecture.md")
NAMED = re.findall(r"`([^`\s]+)`", MAP)
FOLDERS = sorted(
    found.relative_to(SOURCE).as_posix()
    for found in SOURCE.rglob("*")
    if found.is_dir() and found.name != "__pycache__"
)


def test_each_folder_has_its_line() -> None:
    rows = re.findall(r"^\| `([\w/]+)/` \| \S.*\|$", MAP, re.MULTILINE)
    assert sorted(rows) == FOLDERS


def test_each_file_above_the_rooms_is_named() -> None:
    assert {path.name for path in SOURCE.glob("*.py")} <= set(NAMED)


def test_the_drawing_names_every_room() -> None:
    words = re.findall(r"<text[^>]*>([^<]*)</text>", page("docs/architecture.svg"))
    assert {folder for folder in FOLDERS if "/" not in folder} <= set(words)


def test_five_files_are_to_be_read_first() -> None:
    part = MAP.partition("## Read these five files first\n")[2].partition("\n## ")[0]
    assert len(re.findall(r"^\d\. `\S+\.(?:py|toml)`: ", part, re.MULTILINE)) == 5


@pytest.mark.parametrize(
    "path", sorted({n for n in NAMED if re.fullmatch(r"[\w/]+\.(py|toml)", n)})
)
def test_each_file_exists(path: str) -> None:
    assert (SOURCE / path).is_file() or (ROOT / path).is_file()


@pytest.mark.parametrize("name", sorted({n for n in NAMED if re.search(r"\.py:\w", n)}))
def test_each_function_exists(name: str) -> None:
    path, _, inner = name.partition(":")
    body: list[ast.stmt] = ast.parse((SOURCE / path).read_text(encoding="utf-8")).body
    for part in inner.split("."):
        *_, found = [  # the last one: overloads come before it
            node
            for node in body
            if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == part
        ]
        body = found.body


def test_each_public_function_exists() -> None:
    assert {name for name in NAMED if re.fullmatch(r"hardy\.\w+", name)} <= {
        f"hardy.{name}" for name in hardy.__all__
    }


def test_the_walks_are_walked() -> None:
    """Three of them, each through several rooms."""
    walks = re.split(r"^`hardy[^`]*`:$", MAP.partition("## The walks")[2], flags=re.MULTILINE)[1:]
    assert len(walks) == 3
    for walk in walks:
        assert len({name.partition("/")[0] for name in re.findall(r"`(\S+\.py:\S+)`", walk)}) >= 2
