"""docs/reference.md, made from the docstrings: `python -m tests.reference` writes it anew."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from operator import attrgetter
from pathlib import Path
from typing import Any

import hardy
from hardy.rooms import Room

PAGE = Path(__file__).parent.parent / "docs/reference.md"
INTRODUCTION = """\
# Reference

Every public name of Hardy, with its signature and one sentence; `help(hardy.corrupt)` shows the
rest, with an example that runs. This page is made from the docstrings.
"""


def public_names() -> list[str]:
    own = [name for name in hardy.__all__ if not name.startswith("_")]
    return sorted([*own, "torch.Corrupt", "torch.CorruptedDataset"])


def public(name: str) -> Any:
    """What has the name: hardy.corrupt, hardy.torch.Corrupt."""
    return attrgetter(name)(hardy)


def summary(thing: object) -> str:
    """The first paragraph of the docstring, on one line."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def signature(name: str, function: Callable[..., Any]) -> str:
    """As its source has it, with the names of types that stand there; long ones take more lines."""
    source = function._function() if isinstance(function, Room) else function
    source = source.__init__ if isinstance(source, type) else source
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(source))).body
    assert isinstance(node, ast.FunctionDef)
    one, parts = node.args, []
    if isinstance(function, type):
        one.args, node.returns = one.args[1:], None
    first = len(one.args) - len(one.defaults)
    defaults = [None] * first + one.defaults
    parts += map(_parameter, one.args, defaults)
    if one.kwonlyargs:
        parts += ["*", *map(_parameter, one.kwonlyargs, one.kw_defaults)]
    if one.kwarg is not None:
        parts.append(f"**{_parameter(one.kwarg, None)}")
    returned = f" -> {ast.unparse(node.returns)}" if node.returns is not None else ""
    line = f"hardy.{name}({', '.join(parts)}){returned}"
    if len(line) <= 100:
        return line
    return f"hardy.{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returned}"


def _parameter(one: ast.arg, default: ast.expr | None) -> str:
    """A parameter with its type; a default that is a function of no name is not spelled out."""
    shown = "..." if isinstance(default, ast.Lambda) else default and ast.unparse(default)
    return ast.unparse(one) + (f" = {shown}" if shown else "")


def page() -> str:
    parts = [INTRODUCTION]
    for name in public_names():
        thing = public(name)
        parts.append(f"\n## {name}\n")
        if not isinstance(thing, type) or "." in name:  # others are not made by hand
            parts.append(f"\n```python\n{signature(name, thing)}\n```\n")
        parts.append(f"\n{summary(thing)}\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
