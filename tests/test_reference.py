"""Every public name says what it is, shows how it is used, and stands on the reference page."""

from __future__ import annotations

import doctest
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

import hardy
from hardy import demonstration
from tests.reference import PAGE, page, public, public_names, summary
from tests.stylise.tiny_adain import use_tiny

FENCE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The demo takes fewer digits than it has, and styles are given by a narrow net."""
    use_tiny(tmp_path_factory.mktemp("adain"), monkeypatch)
    whole = demonstration.digits
    take = slice(demonstration.TRAINED_ON + 10)
    monkeypatch.setattr(demonstration, "digits", lambda: tuple(one[take] for one in whole()))


def docstring(name: str) -> str:
    return inspect.getdoc(public(name)) or ""


@pytest.mark.parametrize("name", public_names())
def test_it_has_a_sentence(name: str) -> None:
    assert re.match(r"[A-Z].*[.:]$", summary(public(name)), re.DOTALL)


@pytest.mark.parametrize("name", public_names())
def test_its_example_runs_in_an_empty_folder(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = docstring(name)
    fences = FENCE.findall(text)
    prompts = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert fences or prompts.examples, "there is no example"
    assert f"hardy.{name}" in "".join([*fences, *(one.source for one in prompts.examples)])
    for fence in fences:
        known: dict[str, Any] = {}
        exec(compile(fence, f"hardy.{name}", "exec"), known)
    said: list[str] = []
    doctest.DocTestRunner().run(prompts, out=said.append)
    assert said == []


def test_public_names_are_sorted_and_shown() -> None:
    assert sorted([*hardy.__all__, "torch"]) == dir(hardy)
    assert sorted(public_names()) == public_names()


def test_the_reference_page_is_what_the_docstrings_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.reference"
