"""The pages in docs/: they are listed, their links lead somewhere, each block is run by a test."""

from __future__ import annotations

import re
import shlex

import pytest
import typer

from docs import tables
from hardy import cli
from tests.pages import (
    DOCS,
    OUTSIDE,
    ROOT,
    blocks,
    blocks_run_by,
    commands,
    in_order,
    not_run,
    page,
    run_elsewhere,
)

# Where the tests of other targets run blocks that are marked so.
ELSEWHERE = {
    "make test-cluster": "tests/cluster/test_page_commands.py",
    "make test-extras": "tests/extras/test_page_commands.py",
    "make test-slow": "tests/test_photo_demo.py",
}
SHOWN = [*in_order(), *OUTSIDE]


@pytest.mark.parametrize("name", in_order()[1:])
def test_tables_are_those_of_the_registries(name: str) -> None:
    """`make docs` writes them."""
    assert tables.filled(page(name)) == page(name)


def test_every_page_is_listed_once() -> None:
    there = {found.name for found in DOCS.glob("*.md")} - {"README.md"}
    assert sorted(in_order()) == sorted(["README.md", *(f"docs/{name}" for name in there)])


def anchors(text: str) -> list[str]:
    """What GitHub calls the headings of a page."""
    heads = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads]


@pytest.mark.parametrize("name", [*in_order(), "docs/README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_lead_somewhere(name: str) -> None:
    for path, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", page(name)):
        target = (ROOT / name).parent / path if path else ROOT / name
        assert target.exists(), path
        if anchor:
            assert anchor in anchors(target.read_text(encoding="utf-8")), f"{path}#{anchor}"


@pytest.mark.parametrize(
    "name",
    [*in_order(), "CONTRIBUTING.md", "SECURITY.md", "results/cifar10.md", "results/icons50.md"],
)
def test_files_that_are_named_exist(name: str) -> None:
    for path in re.findall(r"`((?:src|tests|docs|bench|engine|results)/[\w/.-]+)`", page(name)):
        assert (ROOT / path).exists() or (ROOT / "src/hardy" / path).exists(), path


@pytest.mark.parametrize("name", SHOWN)
def test_blocks_are_run_or_say_why_not(name: str) -> None:
    """Commands are `bash`. Hardy's are run below; `make` by CI, pip to make the environment."""
    assert {language for language, _ in blocks(name)} <= {"bash", "python", "text", "toml"}
    for line in commands(name):
        program, *words = shlex.split(line, comments=True)
        if program == "make":
            assert words[0] in re.findall(r"^([\w-]+):", page("Makefile"), re.MULTILINE)
        elif program == "pip":
            assert words == ["install", ".[torchvision,report]"]
        else:
            assert program == "hardy", line


# What a test cannot have: the GPU that studies were made on.
LACKING = r"^it trains .* on a GPU$"


def test_few_blocks_are_not_run_and_these_have_the_options_they_name() -> None:
    left_out = {name: not_run(name) for name in SHOWN if not_run(name)}
    assert sum(map(len, left_out.values())) <= 3
    assert all(re.search(LACKING, why) for texts in left_out.values() for why in texts.values())
    elsewhere = [text for name in SHOWN for text in run_elsewhere(name)]
    texts = [*elsewhere, *(text for some in left_out.values() for text in some)]
    lines = [line for text in texts for line in text.splitlines()]
    for line in lines:
        program, name, *words = shlex.split(line)
        if program == "hardy":
            command = typer.main.get_command(cli.app).commands[name]
            command.make_context(name, words).close()


def test_blocks_of_other_targets_are_run_there() -> None:
    """The test there takes every block with its mark, so that a new one cannot be forgotten."""
    marks = re.findall(r"^<!-- run by: (.+) -->$", "\n".join(map(page, SHOWN)), re.MULTILINE)
    assert set(marks) == set(ELSEWHERE)
    assert len(marks) == sum(len(blocks_run_by(target)) for target in ELSEWHERE)
    for target, file in ELSEWHERE.items():
        assert f'blocks_run_by("{target}")' in page(file)
        recipe = page("Makefile").partition(f"\n{target.split()[1]}: ")[2].partition("\n\n")[0]
        assert file.rpartition("/")[0] in recipe or re.search(r"pytest -q -m \w+$", recipe)
