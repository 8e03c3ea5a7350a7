"""Icons to look at: a row for each class, a column for each vendor."""

from collections import defaultdict

import numpy as np

from hardy.engine.door import UInt8
from hardy.images.icons50.icon_parts import IconName, icon_name, open_icons, small_icon
from hardy.images.icons50.raster import SIDE

_NOTHING = np.full((SIDE, SIDE, 3), 255, np.uint8)


def sheet_of_icons(where: str, size: int) -> tuple[list[str], list[tuple[str, list[UInt8]]]]:
    """The styles of a set or folder, and for each class an icon of each: the same one as far as the
    vendors draw it, that which most of them do, else another of the class; white if there is
    none. Pixels are enlarged, as far as an icon is no larger than `size`."""
    source, _ = open_icons(where)
    names = [icon_name(file) for file in source.files]
    drawn: dict[str, dict[IconName, int]] = defaultdict(dict)
    for row, name in enumerate(names):
        drawn[name.kind].setdefault(name, row)  # of several versions the first
    styles = sorted({name.style for name in names})
    times = max(1, size // SIDE)
    rows = []
    for kind, some in sorted(drawn.items()):
        subtypes = sorted({name.subtype for name in some})
        subtypes.sort(key=lambda subtype: -sum(name.subtype == subtype for name in some))
        pictures = []
        for style in styles:
            wanted = (IconName(kind, style, subtype) for subtype in subtypes)
            row_of = next((some[name] for name in wanted if name in some), None)
            found = _NOTHING if row_of is None else small_icon(source.read(row_of))
            pictures.append(found.repeat(times, axis=0).repeat(times, axis=1))
        rows.append((kind, pictures))
    return styles, rows
