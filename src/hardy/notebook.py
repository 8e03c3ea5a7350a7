"""What notebooks show of a table: small HTML without scripts, files or colours of its own.

The colours are the page's, but for a grey that light and dark pages can both bear. Names of models
and files are text and nothing else: no markup in them is obeyed.
"""

from collections.abc import Callable, Collection, Sequence
from html import escape

from hardy.errors import printable

GREY = "#7d8785"  # at least 3.5 : 1 against white and against dark pages
LEFT = 'style="text-align: left; padding: 2px 12px"'
RIGHT = 'style="text-align: right; font-variant-numeric: tabular-nums; padding: 2px 12px"'


def table_html(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    bold: Collection[tuple[int, int]] = (),
    is_text: Callable[[int], bool] = lambda column: True,
    notes: Sequence[str] = (),
) -> str:
    """A table with its title above and notes below. `bold` has (row, column) of what stands out,
    `is_text` says of a column whether it is read from the left; numbers stand at the right."""
    sides = [LEFT if is_text(column) else RIGHT for column in range(len(header))]
    body = [
        [
            f"<td {side}>{f'<b>{as_text(cell)}</b>' if (number, column) in bold else as_text(cell)}"
            "</td>"
            for column, (side, cell) in enumerate(zip(sides, row, strict=True))
        ]
        for number, row in enumerate(rows)
    ]
    heads = [f"<th {side}>{as_text(name)}</th>" for side, name in zip(sides, header, strict=True)]
    lines = "".join(
        f"<tr>{''.join(cells)}</tr>" for cells in ([heads] if any(header) else []) + body
    )
    # A wide one is scrolled by itself, and not the notebook.
    box = 'style="overflow-x: auto; margin-top: 8px"'
    return f"<div {box}><table>{caption_html(title)}{lines}</table></div>{notes_html(notes)}"


def caption_html(title: str) -> str:
    style = 'style="text-align: left; padding: 2px 12px; white-space: nowrap"'
    return f"<caption {style}><b>{as_text(title)}</b></caption>" if title else ""


def notes_html(notes: Sequence[str]) -> str:
    return "".join(f'<div style="color: {GREY}">{as_text(note)}</div>' for note in notes)


def as_text(text: str) -> str:
    return escape(printable(text))
