"""Images to look at: a contact sheet, a sequence as a moving picture, pictures inside a page."""

import base64
import io
from collections.abc import Iterable, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from hardy.engine.door import UInt8
from hardy.errors import need
from hardy.files import write_file
from hardy.images.image_files import WRITERS, check_output, write_image
from hardy.notebook import GREY, LEFT, as_text

PAPER, INK, GAP = (255, 255, 255), (30, 30, 30), 4
_PER_SECOND = 10  # frames of a moving picture
_ACROSS = 8  # frames in a row of a sheet
SHOWN = 12  # images of a batch
_QUALITY = 75
_THUMB = 'style="width: 112px; max-width: none; image-rendering: auto"'
# Below this side a picture is stored without loss: it is shown enlarged, and small anyway.
TINY = 64


def contact_sheet(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[UInt8]]]) -> UInt8:
    """Pictures in a table, with the columns' names on top and each row's name at its left."""
    from PIL import Image, ImageDraw, ImageFont

    side = rows[0][1][0].shape[0]
    font = ImageFont.load_default(size=max(11, min(24, side // 9)))
    line = round(font.getbbox("Ay")[3] * 1.5)
    margin = round(max(font.getlength(name) for name, _ in rows)) + 4 * GAP
    down = side + GAP
    across = max(down, round(max(map(font.getlength, columns))) + 2 * GAP)
    sheet = Image.new("RGB", (margin + across * len(columns), line + down * len(rows)), PAPER)
    draw = ImageDraw.Draw(sheet)
    for x, name in enumerate(columns):
        draw.text((margin + (x + 0.5) * across, line / 2), name, INK, font, anchor="mm")
    for y, (name, pictures) in enumerate(rows):
        top = line + y * down
        draw.text((margin - 2 * GAP, top + side / 2), name, INK, font, anchor="rm")
        for x, picture in enumerate(pictures):
            left = margin + x * across + (across - GAP - side) // 2
            sheet.paste(Image.fromarray(picture), (left, top))
    return np.array(sheet)


def frame_sheet(frames: Iterable[UInt8]) -> tuple[list[str], list[tuple[str, list[UInt8]]]]:
    """The columns and rows of a contact sheet of a sequence."""
    pictures = list(frames)
    starts = range(0, len(pictures), _ACROSS)
    rows = [(f"frame {start}", pictures[start : start + _ACROSS]) for start in starts]
    return [f"+{k}" for k in range(_ACROSS)], rows


def check_clip(path: Path, source: Path | None) -> None:
    """Refuse, before any work, what cannot be written."""
    hint = ".gif and .mp4 move, the others show all frames on a sheet"
    check_output(path, source, (".gif", ".mp4", *WRITERS), hint)
    if path.suffix.lower() == ".mp4":
        need("av", "video", "an .mp4 (unlike a .gif)")


def write_clip(path: Path, frames: Iterable[UInt8]) -> None:
    pictures, suffix = list(frames), path.suffix.lower()
    if suffix == ".mp4":
        _write_mp4(path, pictures)
    elif suffix == ".gif":
        _write_gif(path, pictures)
    else:
        write_image(path, contact_sheet(*frame_sheet(pictures)))


def _write_gif(path: Path, frames: list[UInt8]) -> None:
    from PIL import Image

    first, *rest = (Image.fromarray(frame) for frame in frames)
    options = {"save_all": True, "append_images": rest, "duration": 1000 // _PER_SECOND, "loop": 0}
    data = io.BytesIO()
    first.save(data, format="GIF", **options)
    write_file(path, data.getvalue())


def _write_mp4(path: Path, frames: list[UInt8]) -> None:
    av = need("av", "video", "an .mp4 (unlike a .gif)")
    height, width = frames[0].shape[:2]
    data = io.BytesIO()
    with av.open(data, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=_PER_SECOND, options={"crf": "18"})
        stream.width, stream.height = width, height
        # Most players show 4:2:0 only, and that needs even sides.
        stream.pix_fmt = "yuv444p" if height % 2 or width % 2 else "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    write_file(path, data.getvalue())


def encode(image: UInt8) -> bytes:
    """WebP, small enough for a page."""
    from PIL import Image

    data, lossless = io.BytesIO(), min(image.shape[:2]) <= TINY
    Image.fromarray(image).save(data, "WEBP", quality=_QUALITY, lossless=lossless, method=2)
    return data.getvalue()


def data_uri(webp: bytes) -> str:
    return "data:image/webp;base64," + base64.b64encode(webp).decode("ascii")


def sheet_html(columns: Sequence[str], rows: Sequence[tuple[str, Sequence[UInt8]]]) -> str:
    """The same table in a notebook; what is wider than the page is scrolled."""
    heads = "".join(f'<th style="text-align: center">{as_text(name)}</th>' for name in columns)
    lines = [f"<tr><th></th>{heads}</tr>"]
    for name, pictures in rows:
        cells = "".join(
            f'<td style="padding: 2px"><img src="{data_uri(encode(picture))}" '
            f'alt="{as_text(f"{name}, {column}")}" {_THUMB}></td>'
            for column, picture in zip(columns, pictures, strict=False)
        )
        lines.append(f"<tr><th {LEFT}>{as_text(name)}</th>{cells}</tr>")
    return f'<div style="overflow-x: auto"><table>{"".join(lines)}</table></div>'


def batch_html(images: Any, names: Sequence[str] = ()) -> str:
    """Images (N, H, W, 3), or frames, beside each other; `names` stand below them."""
    shown = [np.asarray(image, np.uint8) for image, _ in zip(images, range(SHOWN), strict=False)]
    labels = [*names[: len(shown)], *(f"{place}" for place in range(len(names), len(shown)))]
    cards = "".join(
        '<figure style="display: inline-block; margin: 0 6px 6px 0">'
        f'<img src="{data_uri(encode(image))}" alt="{escape(label)}" '
        f"{_THUMB}>"
        f'<figcaption style="font-size: 11px; color: {GREY}">{escape(label)}</figcaption></figure>'
        for image, label in zip(shown, labels, strict=True)
    )
    more = len(images) - len(shown)
    return f"<div>{cards}</div>" + (f"<div>and {more:,} more</div>" if more > 0 else "")
