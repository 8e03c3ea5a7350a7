"""Image files: one rule for reading, one for writing, one for walking a folder.

Reading is `Image.open(path).convert("RGB")`, as ImageNet code reads: the EXIF orientation is not
applied, colour profiles are not applied, CMYK and palettes are converted by Pillow. On top of that
the door's rules (`arrays/door.py`) refuse what this line would cut silently: more than 8 bits,
transparency, further frames.
"""

import os
import secrets
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.arrays.door import from_pil
from hardy.errors import HardyError, InputError

UInt8 = npt.NDArray[np.uint8]

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


def read_image(path: Path) -> UInt8:
    """RGB pixels (H, W, 3) of one still image, or an InputError with the path and the reason."""
    from PIL import Image, UnidentifiedImageError

    if path.is_dir():
        raise InputError(f"cannot read {path}: expected an image file, got a folder")
    try:
        if path.stat().st_size == 0:
            raise InputError("the file is empty")
        with Image.open(path) as image:
            return from_pil(image)
    except FileNotFoundError as error:
        raise InputError(f"cannot read {path}: there is no such file") from error
    except UnidentifiedImageError as error:
        raise InputError(f"cannot read {path}: not an image that Pillow knows") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(
            f"cannot read {path}: {error}; if you trust it, raise PIL.Image.MAX_IMAGE_PIXELS"
        ) from error
    # Pillow's decoders meet broken data with OSError, SyntaxError, struct.error, EOFError,
    # ValueError...
    except Exception as error:
        raise InputError(f"cannot read {path}: {error or type(error).__name__}") from error


def check_output(path: Path, source: Path) -> None:
    """Refuse, before any work, a format that is not written and a name that is the input's."""
    _writer(path)
    if path.exists() and path.samefile(source):
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
    """Write under a temporary name, then rename: a reader never meets half a file."""
    from PIL import Image

    options = _writer(path)
    # Hidden, so that `walk` passes over what a killed process left behind.
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            Image.fromarray(pixels).save(temporary, **options)
            os.replace(temporary, path)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise HardyError(f"cannot write {path}: {error}") from error


def walk(folder: Path) -> tuple[list[Path], int]:
    """Image files below `folder`, relative and sorted, and how many other files lie there.

    An image file is one whose suffix says so. Hidden files and folders are passed over, links to
    folders are not followed.
    """
    images, others = [], 0
    for where, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in files:
            if name.startswith("."):
                continue
            if Path(name).suffix.lower() in SUFFIXES:
                images.append(Path(where, name).relative_to(folder))
            else:
                others += 1
    return sorted(images), others
