"""A command parses, calls one public function, prints; what it needs beyond that are words."""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from types import FunctionType
from typing import Any

import pytest
import typer

import hardy
from hardy.cli import app
from hardy.cli.options import in_options, list_faults
from tests.pages import ROOT

COMMANDS = typer.main.get_command(app).commands
SOURCE = ROOT / "src/hardy"
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(SOURCE.rglob("*.py"))}
CLI = {path: tree for path, tree in TREES.items() if path.parent.name == "cli"}
FLOOR = {"hardy.cli", "hardy.errors", "hardy.files", "hardy.places", "hardy.progress"}
PRINTING = {"hardy.scores.text_tables"}


def public_call(node: ast.AST) -> str | None:
    """The X of a call of hardy.X."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        of = node.func.value
        if isinstance(of, ast.Name) and of.id == "hardy":
            return node.func.attr
    return None


def most_calls(node: ast.AST, helpers: dict[str, ast.AST]) -> list[str]:
    """The public functions that one way through the code calls: the way that calls most of them.

    What is called in a loop is called twice; calls of the file's own functions are followed.
    """
    if isinstance(node, ast.If | ast.IfExp):
        branches: list[list[ast.AST]] = [
            list(some) if isinstance(some, list) else [some] for some in (node.body, node.orelse)
        ]
        ways = [[name for one in some for name in most_calls(one, helpers)] for some in branches]
        return most_calls(node.test, helpers) + max(ways, key=len)
    found = [name] if (name := public_call(node)) else []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in helpers:
        rest = {name: one for name, one in helpers.items() if name != node.func.id}
        found += most_calls(helpers[node.func.id], rest)
    for child in ast.iter_child_nodes(node):
        found += most_calls(child, helpers)
    return found * 2 if isinstance(node, ast.For | ast.While) else found


def calls_of(source: str, name: str) -> list[str]:
    functions = {
        one.name: one for one in ast.parse(source).body if isinstance(one, ast.FunctionDef)
    }
    return most_calls(functions.pop(name), functions)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_calls_one_public_function(name: str) -> None:
    function = inspect.unwrap(COMMANDS[name].callback)
    called = calls_of(inspect.getsource(sys.modules[function.__module__]), function.__name__)
    assert len(called) == 1, called
    assert called[0] in hardy.__all__


def test_the_check_can_fail() -> None:
    one = "def help(): return hardy.score()\n"
    assert calls_of(one + "def run(): return help(), hardy.runs()", "run") == ["score", "runs"]
    assert calls_of(one + "def run(x):\n for y in x: help()", "run") == ["score", "score"]
    assert calls_of(one + "def run(x):\n if x: help()\n else: hardy.runs()", "run") == ["score"]
    assert calls_of("def run(): return score()", "run") == []


def test_the_command_line_takes_only_public_names_of_hardy() -> None:
    for path, tree in CLI.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                assert node.value.id != "hardy" or node.attr in hardy.__all__, (
                    path.name,
                    node.attr,
                )
            if isinstance(node, ast.Import):
                names = [one.name for one in node.names if one.name.startswith("hardy")]
                assert names in ([], ["hardy"]), path.name


def imports(node: ast.AST) -> Iterator[tuple[str, str]]:
    """Modules of Hardy and what is taken of them; without those that type checkers alone see."""
    if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
        return
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hardy."):
        yield from ((str(node.module), one.name) for one in node.names)
    for child in ast.iter_child_nodes(node):
        yield from imports(child)


def test_of_the_rooms_it_imports_constants_types_and_what_prints() -> None:
    taken = {one for tree in CLI.values() for one in imports(tree)}
    assert ("hardy.catalogue", "KINDS") in taken  # some there are
    for module, name in sorted(taken):
        if ".".join(module.split(".")[:2]) not in FLOOR and module not in PRINTING:
            thing = getattr(import_module(module), name)
            assert not isinstance(thing, FunctionType), f"{module}:{name} is a function"


def texts(node: ast.AST) -> Iterator[str]:
    """All strings that are no docstrings, with {} for what is filled in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.JoinedStr):
            parts = child.values
            yield "".join(str(p.value) if isinstance(p, ast.Constant) else "{}" for p in parts)
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value
        if not isinstance(child, ast.JoinedStr) and not (
            isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        ):
            yield from texts(child)


# What no command calls has arguments that no command has.
OF_PYTHON = {path for path in TREES if path.parent.name == "hooks"}
MESSAGES = [
    text
    for path, tree in TREES.items()
    if path not in CLI.keys() | OF_PYTHON
    for text in texts(tree)
]


def test_messages_name_arguments_which_the_command_line_spells_as_options() -> None:
    """A user of Python has no --options; those of a whole command in `` are its own."""
    for text in MESSAGES:
        without = re.sub(r"`hardy [^`]*`|pip \w+ --\S+|pytest( --\S+ [A-Z]+)+", "", text)
        assert not re.search(r"(?<!^)--[a-z]", without), text
    options = {word for one in COMMANDS.values() for param in one.params for word in param.opts}
    named = {one for text in MESSAGES for one in re.findall(r"`[a-z_]+(?:=[^`]*)?`", text)}
    named -= {"`means`", "`clean`"}  # columns of a metric, which no command prints
    assert "`own_classes=True`" in named
    for one in named:
        assert in_options(one).split()[0] in options, one


@pytest.mark.parametrize(
    ("said", "spelled"),
    [
        ("name them with `images`, or", "name them with --images, or"),
        ("say `own_classes=True`", "say --own-classes"),
        ("by `only=clean`; see `hardy eval`", "by --only clean; see `hardy eval`"),
        ("start=3 by `settings`", "start=3 by --set"),
        ("lr=0.1/seed=3 has \x1b", "lr=0.1/seed=3 has \\x1b"),
    ],
)
def test_arguments_as_options(said: str, spelled: str) -> None:
    assert in_options(said) == spelled


def test_faults_name_options_as_they_are_typed(capsys: pytest.CaptureFixture[str]) -> None:
    list_faults(["got net; `hardy eval` without `until` completes it"], "run", "scored")
    assert "`hardy eval` without --until completes it" in capsys.readouterr().err


def test_both_sides_are_told_in_their_words(run: Any) -> None:
    with pytest.raises(hardy.InputError, match=r"name them with `images`, or .* with `files`"):
        hardy.evaluate("fake:10", suite="cifar10_c")
    _, _, error = run("eval", "fake:10", "--suite", "cifar10_c")
    assert "name them with --images, or a folder that holds the whole suite with --files" in error
