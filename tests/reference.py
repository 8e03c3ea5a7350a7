"""docs/reference.md, made from the docstrings: `python -m tests.reference` writes it anew."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import hardy

PAGE = Path(__file__).parent.parent / "docs/reference.md"
INTRODUCTION = """\
# Reference

Every public name of Hardy, with its signature and one sentence; `help(hardy.corrupt)` shows the
rest, with an example that runs. This page is made from the docstrings.
"""


def public_names() -> list[str]:
    return [name for name in hardy.__all__ if not name.startswith("_")]


def summary(thing: object) -> str:
    """The first paragraph of the docstring, on one line."""
    return " ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split())


def signature(name: str, function: Callable[..., Any]) -> str:
    """As one would type it, a parameter per line where it is long."""
    whole = inspect.signature(function)
    parts: list[str] = []
    for one in whole.parameters.values():
        if one.kind is one.KEYWORD_ONLY and "*" not in parts:
            parts.append("*")
        default = "" if one.default is one.empty else f" = {_shown(one.default)}"
        stars = "**" if one.kind is one.VAR_KEYWORD else ""
        parts.append(f"{stars}{one.name}: {_annotation(one.annotation)}{default}")
    returned = f" -> {_annotation(whole.return_annotation)}"
    line = f"hardy.{name}({', '.join(parts)}){returned}"
    if len(line) <= 100:
        return line
    return f"hardy.{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returned}"


def _annotation(written: object) -> str:
    return written if isinstance(written, str) else inspect.formatannotation(written)


def _shown(default: object) -> str:
    """Functions by name, since their addresses differ."""
    name: str | None = getattr(default, "__name__", None)
    return "..." if name == "<lambda>" else name or repr(default)


def page() -> str:
    parts = [INTRODUCTION]
    for name in public_names():
        thing = getattr(hardy, name)
        parts.append(f"\n## {name}\n")
        if not isinstance(thing, type):
            parts.append(f"\n```python\n{signature(name, thing)}\n```\n")
        parts.append(f"\n{summary(thing)}\n")
    return "".join(parts)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
