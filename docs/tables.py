"""Fills the tables of the pages from the registries: `python -m docs.tables`, or `make docs`.

A page says where a table goes and of what it is: `<!-- table: suites -->` ... `<!-- end -->`. What
stands between the two lines is written here and nowhere else.
"""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import hardy

DOCS = Path(__file__).parent
PLACE = re.compile(r"(<!-- table: ([\w ]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def rows(kind: str) -> list[tuple[str, str]]:
    """(name, a line about it): what `hardy ls` lists of a kind, or the public functions."""
    if kind == "functions":
        called = {name: getattr(hardy, name) for name in hardy.__all__ if name[0] != "_"}
        return [(f"hardy.{name}", first_line(thing)) for name, thing in called.items()]
    return [(entry.name, entry.summary) for entry in hardy.names(kind)]


def first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n\n")[0].replace("\n", " ")


def table(kind: str) -> str:
    lines = [f"| `{name}` | {said} |\n" for name, said in rows(kind)]
    return f"| {kind.rstrip('s')} | what it is |\n|---|---|\n{''.join(lines)}"


def filled(page: str) -> str:
    """The page with every table as it should be."""
    return PLACE.sub(lambda place: place[1] + table(place[2]) + place[3], page)


def main() -> None:
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        if filled(text) != text:
            path.write_text(filled(text), encoding="utf-8")
            print(path)


if __name__ == "__main__":
    main()
