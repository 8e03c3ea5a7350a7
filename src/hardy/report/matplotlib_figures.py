"""Figures for a paper: PDF, SVG or PNG of a stated size and font, drawn by Matplotlib.

It needs no browser, and its files have no dates: the same store gives the same bytes.
"""

import io
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from math import ceil
from textwrap import wrap
from typing import Any, NamedTuple

from hardy.engine.door import open_pil
from hardy.errors import InputError, need
from hardy.report.figures import Figure, Series
from hardy.report.matplotlib_axes import INK, draw_panel, legend_handle, printed
from hardy.report.palette import GREY

DPI = 200
GENERIC = ("serif", "sans-serif", "monospace")
_GRID = "#dedbd2"
# Dates and versions are left out: with them, every file would be different.
METADATA: dict[str, dict[str, Any]] = {
    "pdf": {"CreationDate": None, "Producer": None, "Creator": None},
    "svg": {"Date": None, "Creator": None},
    "png": {"Software": None},
}
PLOT_FORMATS = tuple(METADATA)


class Print(NamedTuple):
    """The size of a figure on paper, and its font."""

    width: float = 6.5  # inches
    height: float | None = None  # None: what the figure needs
    font: str = "sans-serif"
    size: float = 8.0  # points


def save_figure(figure: Figure, format: str, how: Print | None = None) -> bytes:
    """Draw the figure and return the content of its file."""
    how = how or Print()
    if format not in PLOT_FORMATS:
        known, came = ", ".join(PLOT_FORMATS), format or "none"
        raise InputError(f"expected a figure as {known}, got {came}; name such a file")
    _check(how)
    with _settings(how):
        sheet = _draw(figure, how)
        data = io.BytesIO()
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("error", ".*axes sizes collapsed.*")
                sheet.savefig(data, format=format, dpi=DPI, metadata=METADATA[format])
        except UserWarning as error:
            raise InputError(
                f"expected room for all names, got {how.width:g} × {sheet.get_figheight():.2g} "
                f"inches at {how.size:g} points; make it larger, or the font smaller"
            ) from error
    return data.getvalue()


class OverviewPart(NamedTuple):
    """What a section of a report shows."""

    title: str
    sees: str
    figures: Sequence[Figure]


def overview(parts: Iterable[OverviewPart], how: Print | None = None) -> bytes:
    """Draw all figures below each other as one PNG, each under its title and its sentence, and
    those of a section under the section's."""
    import numpy as np
    from PIL import Image

    how = how or Print()
    drawn = []
    for part in parts:
        drawn.append(_caption(part.title, part.sees, how, larger=1.6))
        for figure in part.figures:
            drawn.append(_caption(figure.title, figure.sees + figure.leaves_out(), how))
            drawn.append(save_figure(figure, "png", how))
    sheets = []
    for sheet in drawn:
        with open_pil(io.BytesIO(sheet)) as opened:
            sheets.append(np.asarray(opened.convert("RGB")))
    data = io.BytesIO()
    Image.fromarray(np.concatenate(sheets)).save(data, "PNG")
    return data.getvalue()


def _caption(title: str, text: str, how: Print, larger: float = 1.2) -> bytes:
    with _settings(how):
        from matplotlib.figure import Figure as Sheet

        letters = int(how.width / _letter(how)) - 4
        heading = wrap(printed(title), int(letters / larger / 1.1))
        lines = wrap(printed(text), letters)
        line = how.size / 72 * 1.4
        above = 1.4 + larger * len(heading)
        height = line * (above + len(lines) + 0.4)
        sheet = Sheet(figsize=(how.width, height))
        left = 0.1 / how.width
        top: dict[str, Any] = {"verticalalignment": "top", "linespacing": 1.4}
        size = larger * how.size
        sheet.text(left, 1 - line / height, "\n".join(heading), weight="bold", size=size, **top)
        sheet.text(left, 1 - above * line / height, "\n".join(lines), **top)
        data = io.BytesIO()
        sheet.savefig(data, format="png", dpi=DPI, metadata=METADATA["png"])
    return data.getvalue()


def _letter(how: Print) -> float:
    """The width of an average letter, in inches."""
    return 0.56 * how.size / 72


def _check(how: Print) -> None:
    font_manager = need("matplotlib.font_manager", "plot", "a figure in a file")
    for name, value in (("width", how.width), ("height", how.height), ("font size", how.size)):
        if value is not None and not 0.5 <= value <= 72:
            raise InputError(f"expected a {name} from 0.5 to 72, got {value:g}")
    if how.font in GENERIC:
        return
    try:
        font_manager.findfont(how.font, fallback_to_default=False)
    except ValueError as error:
        raise InputError(
            f'expected {", ".join(GENERIC)} or an installed font, got "{how.font}"'
        ) from error


@contextmanager
def _settings(how: Print) -> Iterator[None]:
    settings = {
        "font.family": [how.font],
        "font.size": how.size,
        "axes.titlesize": how.size,
        "axes.labelsize": how.size,
        "legend.fontsize": how.size,
        "xtick.labelsize": 0.9 * how.size,
        "ytick.labelsize": 0.9 * how.size,
        "text.parse_math": False,  # a name may hold dollars
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": GREY,
        "axes.linewidth": 0.6,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "grid.color": _GRID,
        "grid.linewidth": 0.5,
        "xtick.color": INK,
        "ytick.color": INK,
        "pdf.fonttype": 42,  # letters stay letters
        "svg.hashsalt": "hardy",
        "legend.frameon": False,
    }
    with need("matplotlib", "plot", "a figure in a file").rc_context(settings):
        yield


def _draw(figure: Figure, how: Print) -> Any:
    from matplotlib.figure import Figure as Sheet

    across = {"large": 1, "medium": 2, "small": 4}[figure.size]
    across = min(len(figure.panels), across)
    down = ceil(len(figure.panels) / across)
    legend = [one for one in figure.legend() if one.shown]
    height = how.height or _height(figure, down, how, legend)
    sheet = Sheet(figsize=(how.width, height), layout="constrained")
    axes = sheet.subplots(down, across, squeeze=False, sharex=figure.size == "small")
    spots = list(axes.flat)
    for axis, panel in zip(spots, figure.panels, strict=False):
        draw_panel(axis, figure, panel)
    for place in range(len(figure.panels), len(spots)):
        spots[place].remove()
        spots[place - across].tick_params(labelbottom=True)  # now the lowest
    if figure.size == "large":
        spots[0].set(xlabel=figure.x_title, ylabel=figure.y_title)
    else:
        sheet.supxlabel(figure.x_title, fontsize=how.size)
        sheet.supylabel(figure.y_title, fontsize=how.size)
    if len(legend) > 1:
        handles = [legend_handle(one, figure.kind) for one in legend]
        sheet.legend(handles=handles, loc="outside upper left", ncols=_columns(legend, how))
    return sheet


def _columns(legend: list[Series], how: Print) -> int:
    """How many columns of the legend fit beside each other, with keys and gaps."""
    longest = max((len(one.name) for one in legend), default=1)
    return max(1, min(3, int(how.width / (_letter(how) * (longest + 6)))))


def _height(figure: Figure, down: int, how: Print, legend: list[Series]) -> float:
    line = how.size / 72 * 1.45
    rows = max((len(panel.rows) for panel in figure.panels), default=0)
    space = line * (2 + ceil(len(legend) / _columns(legend, how)))
    if figure.kind == "heat":
        return down * (rows * line * 1.25 + 3 * line) + line
    if figure.kind == "bars":
        names = len({name for one in figure.panels[0].series for name in one.y})
        shown = sum(one.style is not None and one.shown for one in figure.panels[0].series)
        return space + 1.5 * line + names * line * (0.7 + 0.6 * shown)
    each = {"large": 0.6 * how.width, "medium": 0.45 * how.width, "small": 0.24 * how.width}
    return space + down * each[figure.size]
