"""Tables of text, and the ways they leave: to a terminal, as Markdown, as CSV, into a notebook.

Names of models and files are text and nothing else: no markup in them is obeyed, and control
characters are spelled out.
"""

from __future__ import annotations

import csv
import io
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from hardy.errors import printable
from hardy.files import write_file
from hardy.notebook import GREY, LEFT, RIGHT, as_text, caption_html, notes_html, table_html
from hardy.places import locate
from hardy.registry import unknown

if TYPE_CHECKING:
    from hardy.scores.score import Score

NOTHING = "–"  # where a table has no number
_TEXT_FORMATS = ("table", "md", "csv", "json")
# Widths in a terminal: of the first column in a table that is split, and the least in one that is
# not; of a heading; and between columns.
FIRST, LEAST, HEADING, GAP = 40, 24, 16, 2
WIDTH = 100  # of a file
BLUE = "#0072b2"  # of the palette that reports have, for a notebook
_NUMBER = re.compile(r"[<>≤≥= ]*[-+−±]?\d|–$|$")  # how a cell with a number starts, or is empty
_FORMULA = ("=", "+", "-", "@")  # how a spreadsheet's formulas start


class TextTable(NamedTuple):
    title: str
    header: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    best: frozenset[tuple[int, int]] = frozenset()  # (row, column) of what stands out
    notes: tuple[str, ...] = ()


class Shown(Protocol):
    """Results that can be printed, and written in every format of text."""

    def tables(self, *, brief: bool = False) -> list[TextTable]: ...
    def as_csv(self) -> str: ...
    def as_json(self) -> str: ...

    def render(self, format: str) -> str:
        """The text of a file in one of these formats."""
        if format == "table":
            return to_text(self.tables(brief=True))
        if format == "md":
            return to_markdown(self.tables())
        if format in _TEXT_FORMATS:
            return self.as_csv() if format == "csv" else self.as_json()
        raise unknown("format of a table", format, _TEXT_FORMATS)

    def write(self, output: str | os.PathLike[str], format: str | None = None) -> Path:
        """Write a file, whole or not at all; its suffix picks the format unless it is named:
        .md, .csv, .json, and of any other a table of text."""
        target = locate(output)
        suffix = target.suffix.lower().lstrip(".")
        text = self.render(format or (suffix if suffix in _TEXT_FORMATS else _TEXT_FORMATS[0]))
        write_file(target, text.encode(), "name another file")
        return target

    def _repr_html_(self) -> str:
        return to_html(self.tables(brief=True))


def to_terminal(tables: Iterable[TextTable]) -> None:
    """A table that is too wide comes in several pieces, each with the first column. What goes into
    a pipe or a file has a line per row, as wide as it needs, unless COLUMNS says how wide."""
    from rich.console import Console

    console = Console()
    for table in tables:
        if not console.is_terminal and "COLUMNS" not in os.environ:
            console = Console(width=_whole_width(table))
        _print(console, table)


def to_text(tables: Iterable[TextTable]) -> str:
    """As a terminal has it, without colours."""
    from rich.console import Console

    file = io.StringIO()
    for table in tables:
        _print(Console(file=file, width=WIDTH, color_system=None), table)
    return file.getvalue()


def _print(console: Any, table: TextTable) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table
    from rich.text import Text

    def text(content: str, style: str = "") -> Text:
        return Text(printable(content), style=style, overflow="fold")

    console.print(text(table.title, "bold"))
    widths = _widths(table, console.width)
    first = _first_width(widths, console.width)
    for columns in _pieces(widths, console.width - first):
        grid = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, GAP - 1, 0, 0), show_edge=False)
        for column in (0, *columns):
            width = widths[column] if column else first
            heading = Text(_folded(table.header[column], width), overflow="fold")
            grid.add_column(
                heading,
                justify="left" if _is_text(table, column) else "right",
                overflow="fold",
                width=width,
            )
        for number, row in enumerate(table.rows):
            marked = ["bold" if (number, c) in table.best else "" for c in (0, *columns)]
            cells = [_folded(row[0], first), *(printable(row[column]) for column in columns)]
            grid.add_row(
                *(Text(*cell, overflow="fold") for cell in zip(cells, marked, strict=True))
            )
        console.print(grid)
    for note in table.notes:
        console.print(text(note, "dim"))
    console.print()


def _widths(table: TextTable, room: int) -> list[int]:
    """What columns need; headings fold where there is no room for them, but not within a word."""
    columns = range(len(table.header))
    headings = [printable(heading) for heading in table.header]
    cells = [max([1, *(len(printable(row[column])) for row in table.rows)]) for column in columns]
    whole = [max(cells[column], len(headings[column])) for column in columns]
    if sum(whole) + GAP * (len(whole) - 1) <= room:
        return whole
    words = [max(HEADING, *map(len, _words(heading))) for heading in headings]
    return [min(whole[c], max(cells[c], words[c])) if c else whole[c] for c in columns]


def _words(text: str) -> list[str]:
    """The parts of a name that a line does not break."""
    return re.findall(r"[^\s:/._@-]*[\s:/._@-]*", text)


def _folded(text: str, width: int) -> str:
    """Break a text into lines of that width, between words as far as these are short enough."""
    lines = [""]
    for word in _words(printable(text)):
        if lines[-1] and len((lines[-1] + word).rstrip()) > width:
            lines.append("")
        lines[-1] += word
    return "\n".join(line.rstrip() for line in lines)


def _is_text(table: TextTable, column: int) -> bool:
    """Whether it is read from the left: the first column, and any that is not all of numbers."""
    return column == 0 or not all(_NUMBER.match(row[column]) for row in table.rows)


def _first_width(widths: Sequence[int], room: int) -> int:
    """The width of the first column: it is narrowed, down to LEAST, before the table is split. In
    one that is split in any case, names are broken as little as may be."""
    rest = room - sum(width + GAP for width in widths[1:])
    alone = room - max(widths[1:]) - GAP
    return max(1, min(widths[0], rest if rest >= LEAST else FIRST, alone))


def _whole_width(table: TextTable) -> int:
    """What nothing of it is broken in."""
    widths = _widths(table, sys.maxsize)
    lines = (len(printable(text)) for text in (table.title, *table.notes))
    return max(sum(widths) + GAP * len(widths), *lines)


def _pieces(widths: Sequence[int], room: int) -> list[list[int]]:
    pieces: list[list[int]] = [[]]
    used = 0
    for column in range(1, len(widths)):
        if pieces[-1] and used + widths[column] + GAP > room:
            pieces.append([])
            used = 0
        pieces[-1].append(column)
        used += widths[column] + GAP
    return pieces


def to_markdown(tables: Iterable[TextTable]) -> str:
    parts = []
    for table in tables:
        lines = [f"### {_escape(table.title)}", "", _line(map(_escape, table.header))]
        sides = range(len(table.header))
        lines.append(_line("---" if _is_text(table, column) else "---:" for column in sides))
        for number, row in enumerate(table.rows):
            cells = map(_escape, row)
            marked = (
                f"**{cell}**" if (number, c) in table.best else cell for c, cell in enumerate(cells)
            )
            lines.append(_line(marked))
        lines += [line for note in table.notes for line in ("", _escape(note))]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escape(text: str) -> str:
    """Underscores within words, as corruptions have them, are no markup."""
    text = printable(text).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"[\\`*\[\]|~#]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])", r"\\\g<0>", text)


def to_csv(rows: Sequence[Mapping[str, Any]]) -> str:
    """A line per row, under the names of its values; lists are joined by spaces."""
    out = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: _plain(value) for name, value in row.items()})
    return out.getvalue()


def _plain(value: Any) -> Any:
    """A spreadsheet takes text that starts like a formula for one, unless a ' stands before it."""
    if isinstance(value, tuple | list):
        value = " ".join(map(str, value))
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULA) else value


def to_html(tables: Iterable[TextTable]) -> str:
    """As a notebook shows them, one below the other."""
    return "".join(
        table_html(
            table.title,
            table.header,
            table.rows,
            bold=table.best,
            is_text=partial(_is_text, table),
            notes=table.notes,
        )
        for table in tables
    )


def scores_html(
    scores: Iterable[Score], told: Sequence[str], *, title: str = "", seen: Iterable[str] = ()
) -> str:
    """A row per score with its interval drawn, and what is to be told below."""
    rows = "".join(
        f"<tr><th {LEFT}>{as_text(score.name)}</th><td {RIGHT}>"
        f"{as_text(score.figure() + score.mark(seen))}</td><td>{_strip(score)}</td></tr>"
        for score in scores
    )
    return f"<table>{caption_html(title)}{rows}</table>{notes_html(told)}"


def _strip(score: Score) -> str:
    """The interval from 0 to 100, or to its own end where it goes further."""
    top = max(100.0 if score.unit or score.value > 2 else 1.0, score.interval.high)
    low, value, high = (
        120 * max(0.0, number) / top
        for number in (score.interval.low, score.value, score.interval.high)
    )
    return (
        '<svg width="124" height="12" viewBox="-2 0 124 12" role="img" '
        f'aria-label="95 % interval from {score.interval.low:.4g} to {score.interval.high:.4g}">'
        f'<path d="M0 6h120" stroke="{GREY}" stroke-opacity=".35" stroke-width="2"/>'
        f'<path d="M{low:.1f} 6H{high:.1f}" stroke="{BLUE}" stroke-width="4"/>'
        f'<circle cx="{value:.1f}" cy="6" r="3" fill="{BLUE}"/></svg>'
    )
