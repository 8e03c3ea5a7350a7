"""What Icons-50-R is made of: 50 classes with 568 subtypes, and the packages with their drawings.

`codepoints.csv` has the subtypes of the released archive, under the names of its files, and the
characters they are; `short_names` are those of emoji-datasource 5.0.1, `noto_name` those of
@iconify-json/noto 1.2.8, by which some packages call their files. `sources.csv` has a row for each
style of a package, in the order in which its drawings are taken.
"""

import csv
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

_FOLDER = Path(__file__).parent
SETS = ("free", "light", "full")
_ASTERISK = "002A"  # as a character of its own it is no emoji, and few sets have a drawing
_SILENT = ("FE0F", "200D")  # how emoji are joined and shown; vendors' files differ in having them


class Icon(NamedTuple):
    """A subtype of a class."""

    kind: str  # the class
    subtype: str
    codes: str  # its characters, as `plain_codes` writes them
    short_names: tuple[str, ...]
    noto_name: str


class IconSource(NamedTuple):
    """The drawings of one style in one version of a package."""

    style: str
    package: str
    layout: str  # a name of `layouts.LAYOUTS`
    place: str  # of the drawings in the package
    megabytes: float
    art: str  # the licence of the drawings, or whose they are
    terms: str  # "free", or "closed": not to be passed on
    sets: tuple[str, ...]
    sha256: str  # of the package


@cache
def icons() -> tuple[Icon, ...]:
    """One for each sequence of characters: of two names for the same one, the first; and without
    the asterisk."""
    found: dict[str, Icon] = {}
    for row in _rows("codepoints.csv"):
        codes = plain_codes(row["codes"].split("-"))
        names = tuple(row["short_names"].split())
        icon = Icon(row["class"], row["subtype"], codes, names, row["noto_name"])
        if codes != _ASTERISK:
            found.setdefault(codes, icon)
    return tuple(found.values())


@cache
def every_source() -> tuple[IconSource, ...]:
    return tuple(
        IconSource(
            row["style"],
            row["package"],
            row["layout"],
            row["place"],
            float(row["megabytes"]),
            row["art"],
            row["terms"],
            tuple(row["sets"].split()),
            row["sha256"],
        )
        for row in _rows("sources.csv")
    )


def sources_of(name: str) -> list[IconSource]:
    """Those of a set, in order."""
    return [source for source in every_source() if name in source.sets]


@cache
def class_names() -> tuple[str, ...]:
    return tuple(sorted({icon.kind for icon in icons()}))


def plain_codes(hexadecimals: Iterable[str]) -> str:
    """Characters as text, such as 0023-20E3: four digits or more, without those that are silent."""
    padded = (one.upper().zfill(4) for one in hexadecimals)
    return "-".join(one for one in padded if one not in _SILENT)


def _rows(file: str) -> list[dict[str, str]]:
    with (_FOLDER / file).open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))
