"""The README is short, and what it says is what was measured."""

from __future__ import annotations

import re
import shlex

import pytest

from tests.pages import README, blocks, page

COMMANDS = [
    line for language, text in blocks("README.md") if not language for line in text.splitlines()
]


def test_it_fits_on_a_few_screens() -> None:
    assert len(README.split()) <= 900


def test_one_table_has_the_figures() -> None:
    tables = re.findall(r"(?:^\|.*\n)+", README, re.MULTILINE)
    assert sum(bool(re.search(r"\d+ (?:ms|%)", table)) for table in tables) == 1


def test_six_lines_evaluate() -> None:
    (code,) = [text for language, text in blocks("README.md") if language == "python"]
    assert len(code.split("\n\n", 1)[1].splitlines()) <= 6


@pytest.mark.parametrize("line", [line for line in COMMANDS if not line.startswith("hardy ")])
def test_other_commands_are_make_targets_or_the_install(line: str) -> None:
    """`make` targets are run by CI, the install by building the environment; here: they exist."""
    program, *words = shlex.split(line)
    if program == "make":
        assert words[0] in re.findall(r"^([\w-]+):", page("Makefile"), re.MULTILINE)
    else:
        assert (program, words) == ("pip", ["install", ".[torchvision,report]"])
