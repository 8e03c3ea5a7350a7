"""Image files: one rule for reading, one for writing, one for walking a folder.

Reading is `Image.open(path).convert("RGB")`, as ImageNet code reads: the EXIF orientation is not
applied, colour profiles are not applied, CMYK and palettes are converted by Pillow. On top of that
the door's rules (`engine/door.py`) refuse what this line would cut silently: more than 8 bits,
transparency, further frames.
"""

import io
import os
from collections.abc import Callable
from pathlib import Path
from stat import S_ISDIR
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hardy.engine.door import UInt8, from_pil
from hardy.errors import HardyError, InputError
from hardy.files import write_file

if TYPE_CHECKING:
    from PIL.Image import Image

# What was read, before any conversion: a PIL image in the mode of its file, or RGB pixels.
Picture: TypeAlias = "Image | UInt8"
Convert: TypeAlias = Callable[[Picture], UInt8]

SUFFIXES = (
    *(".avif", ".bmp", ".gif", ".jp2", ".jpe", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm"),
    *(".ppm", ".tif", ".tiff", ".webp"),
)
# JPEG as the benchmark stores it; everything else keeps the pixels as they are.
JPEG = {"format": "JPEG", "quality": 85, "optimize": True}
WRITERS: dict[str, dict[str, Any]] = {
    ".bmp": {"format": "BMP"},
    ".jpeg": JPEG,
    ".jpg": JPEG,
    ".png": {"format": "PNG"},
    ".ppm": {"format": "PPM"},
    ".tif": {"format": "TIFF"},
    ".tiff": {"format": "TIFF"},
    ".webp": {"format": "WEBP", "lossless": True},
}


def rgb(picture: Picture) -> UInt8:
    """RGB pixels (H, W, 3) of a PIL image by the door's rules; an array has them already."""
    return picture if isinstance(picture, np.ndarray) else from_pil(picture)


def read_image(path: Path, convert: Convert = rgb) -> UInt8:
    """RGB pixels (H, W, 3) of one still image, or an InputError with the path and the reason.

    `convert` gets the picture as the file has it, in its own mode.
    """
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise InputError(f"cannot read {path}: there is no such file") from error
    except OSError as error:
        raise InputError(f"cannot read {path}: {error}") from error
    if S_ISDIR(status.st_mode):
        raise InputError(f"cannot read {path}: expected an image file, got a folder")
    return _decode(path if status.st_size else b"", str(path), convert)


def decode_image(data: bytes, name: str, convert: Convert = rgb) -> UInt8:
    """`read_image` of a file that is in memory; `name` is for the message."""
    return _decode(data, name, convert)


def _decode(file: Path | bytes, name: str, convert: Convert) -> UInt8:
    from PIL import Image, UnidentifiedImageError

    try:
        if file == b"":
            raise InputError("the file is empty")
        with Image.open(io.BytesIO(file) if isinstance(file, bytes) else file) as image:
            return convert(image)
    except UnidentifiedImageError as error:
        raise InputError(f"cannot read {name}: not an image that Pillow knows") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(
            f"cannot read {name}: {error}; if you trust it, raise PIL.Image.MAX_IMAGE_PIXELS"
        ) from error
    # Pillow's decoders meet broken data with OSError, SyntaxError, struct.error, EOFError,
    # ValueError...
    except Exception as error:
        raise InputError(f"cannot read {name}: {error or type(error).__name__}") from error


def check_output(path: Path, source: Path) -> None:
    """Refuse, before any work, a format that is not written and a name that is the input's."""
    _writer(path)
    if os.path.exists(path) and os.path.samefile(path, source):
        raise InputError(f"cannot write {path}: it is the input itself; name another output")


def _writer(path: Path) -> dict[str, Any]:
    suffix = path.suffix.lower()
    if suffix not in WRITERS:
        raise InputError(
            f"cannot write {path}: expected a name that ends in one of {' '.join(WRITERS)}; "
            ".png keeps every byte"
        )
    return WRITERS[suffix]


def write_image(path: Path, pixels: UInt8) -> None:
    from PIL import Image

    data, options = io.BytesIO(), _writer(path)
    try:
        Image.fromarray(pixels).save(data, **options)
    except (OSError, ValueError) as error:  # such as too large for the format
        raise HardyError(f"cannot write {path}: {error}") from error
    write_file(path, data.getvalue(), wait=False)  # there may be thousands


def walk(folder: Path) -> tuple[list[Path], int, list[str]]:
    """Image files below `folder`, relative and sorted, how many others, and folders not readable.

    An image file is one whose suffix says so. Hidden files and folders are passed over, links to
    folders are not followed.
    """
    images: list[Path] = []
    others, closed = 0, []

    def report(error: OSError) -> None:
        closed.append(f"cannot list {error.filename}: {error.strerror}")

    for where, folders, files in os.walk(folder, onerror=report):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.startswith("."):
                continue
            if Path(name).suffix.lower() in SUFFIXES:
                images.append(Path(where, name).relative_to(folder))
            else:
                others += 1
    return sorted(images), others, closed
