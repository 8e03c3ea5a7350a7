"""A contact sheet: labelled rows of pictures of one size."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

UInt8 = npt.NDArray[np.uint8]

PAPER, INK, GAP = (255, 255, 255), (30, 30, 30), 4


def contact_sheet(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[UInt8]]]) -> UInt8:
    """Pictures in a table, with the columns' names on top and each row's name at its left."""
    side = rows[0][1][0].shape[0]
    font = ImageFont.load_default(size=max(11, min(24, side // 9)))
    line = round(font.getbbox("Ay")[3] * 1.5)
    margin = round(max(font.getlength(name) for name, _ in rows)) + 4 * GAP
    step = side + GAP
    sheet = Image.new("RGB", (margin + step * len(columns), line + step * len(rows)), PAPER)
    draw = ImageDraw.Draw(sheet)
    for x, name in enumerate(columns):
        draw.text((margin + x * step + side / 2, line / 2), name, INK, font, anchor="mm")
    for y, (name, pictures) in enumerate(rows):
        top = line + y * step
        draw.text((margin - 2 * GAP, top + side / 2), name, INK, font, anchor="rm")
        for x, picture in enumerate(pictures):
            sheet.paste(Image.fromarray(picture), (margin + x * step, top))
    return np.array(sheet)
