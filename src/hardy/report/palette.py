"""One palette, used the same way in every plot, table and page.

A model keeps its colour, marker and dash wherever it appears; what others measured is grey. The
colours are those of Okabe & Ito (2008), told apart with any kind of colour vision, without the
yellow, which fades on white. The dash tells models apart in grey print.
"""

from typing import NamedTuple

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00")
# Plotly's names, and Matplotlib's for the same shapes.
_MARKERS = (
    ("circle", "o"),
    ("square", "s"),
    ("diamond", "D"),
    ("triangle-up", "^"),
    ("cross", "P"),
    ("star", "*"),
)
_DASHES = (("solid", "-"), ("dash", "--"), ("dot", ":"), ("dashdot", "-."))
GREY = "#7d8785"  # at least 3.5 : 1 against white and against the dark page
OTHERS = (("circle-open", "o"), ("square-open", "s"), ("diamond-open", "D"), ("x-thin-open", "x"))

# From few errors to many: lightness falls evenly, so it reads in grey too.
SCALE = ("#f4f1e6", "#cfdcc9", "#97bfb4", "#5b9aa6", "#33708f", "#234a70", "#172a4a")


class Style(NamedTuple):
    colour: str
    marker: tuple[str, str]
    dash: tuple[str, str]


def style(number: int | None, mark: int = 0) -> Style:
    """The look of the model with that number, or of a published one: grey, told by its marker."""
    if number is None:
        return Style(GREY, OTHERS[mark % len(OTHERS)], _DASHES[2])
    turn = number // len(COLOURS)
    return Style(
        COLOURS[number % len(COLOURS)],
        _MARKERS[(number + turn) % len(_MARKERS)],
        _DASHES[turn % len(_DASHES)],
    )


def shade(share: float) -> str:
    """The colour on the scale for a share from 0 to 1."""
    place = min(max(share, 0.0), 1.0) * (len(SCALE) - 1)
    left = min(int(place), len(SCALE) - 2)
    ends = [[int(one[k : k + 2], 16) for k in (1, 3, 5)] for one in SCALE[left : left + 2]]
    mixed = [round(a + (b - a) * (place - left)) for a, b in zip(*ends, strict=True)]
    return "#" + "".join(f"{value:02x}" for value in mixed)


def ink_on(share: float) -> str:
    """Black or white, whichever is read more easily on that colour: at least 4.5 : 1."""
    colour = shade(share)
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in parts]
    light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    return "#000000" if (light + 0.05) ** 2 > 1.05 * 0.05 else "#ffffff"
