"""The README is short, and what it says is what was measured."""

from __future__ import annotations

import re

from tests.pages import README, blocks


def test_it_fits_on_a_few_screens() -> None:
    assert len(README.split()) <= 900


def test_one_table_has_the_figures() -> None:
    tables = re.findall(r"(?:^\|.*\n)+", README, re.MULTILINE)
    assert sum(bool(re.search(r"\d+ (?:ms|%)", table)) for table in tables) == 1


def test_six_lines_evaluate() -> None:
    (code,) = [text for language, text in blocks("README.md") if language == "python"]
    assert len(code.split("\n\n", 1)[1].splitlines()) <= 6
