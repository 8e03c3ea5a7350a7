"""A sequence of frames as one file to look at: a moving picture, or a sheet of all frames."""

import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from hardy.errors import InputError, MissingResource
from hardy.files import write_file
from hardy.images.image_files import (
    WRITERS,
    UInt8,
    write_image,
)
from hardy.images.sheet import contact_sheet

PER_SECOND = 10
ACROSS = 8


def check_clip(path: Path, source: Path) -> None:
    """Refuse, before any work, what cannot be written."""
    known = (".gif", ".mp4", *WRITERS)
    if path.suffix.lower() not in known:
        raise InputError(
            f"cannot write {path}: expected a name that ends in one of {' '.join(known)}; "
            ".gif and .mp4 move, the others show all frames on a sheet"
        )
    if path.exists() and path.samefile(source):
        raise InputError(f"cannot write {path}: it is the input itself; name another output")
    if path.suffix.lower() == ".mp4":
        _av()


def write_clip(path: Path, frames: Iterable[UInt8]) -> None:
    suffix = path.suffix.lower()
    if suffix == ".mp4":
        _write_mp4(path, list(frames))
    elif suffix == ".gif":
        _write_gif(path, list(frames))
    else:
        pictures = list(frames)
        starts = range(0, len(pictures), ACROSS)
        rows = [(f"frame {start}", pictures[start : start + ACROSS]) for start in starts]
        write_image(path, contact_sheet([f"+{k}" for k in range(ACROSS)], rows))


def _write_gif(path: Path, frames: list[UInt8]) -> None:
    from PIL import Image

    first, *rest = (Image.fromarray(frame) for frame in frames)
    options = {"save_all": True, "append_images": rest, "duration": 1000 // PER_SECOND, "loop": 0}
    data = io.BytesIO()
    first.save(data, format="GIF", **options)
    write_file(path, data.getvalue())


def _write_mp4(path: Path, frames: list[UInt8]) -> None:
    av = _av()
    height, width = frames[0].shape[:2]
    data = io.BytesIO()
    with av.open(data, "w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=PER_SECOND, options={"crf": "18"})
        stream.width, stream.height = width, height
        # Most players show 4:2:0 only, and that needs even sides.
        stream.pix_fmt = "yuv444p" if height % 2 or width % 2 else "yuv420p"
        for frame in frames:
            container.mux(stream.encode(av.VideoFrame.from_ndarray(frame, format="rgb24")))
        container.mux(stream.encode())
    write_file(path, data.getvalue())


def _av() -> Any:
    try:
        import av
    except ImportError as error:
        raise MissingResource(
            'video needs PyAV, which is missing; pip install "hardy[video]", or name a .gif'
        ) from error
    return av
