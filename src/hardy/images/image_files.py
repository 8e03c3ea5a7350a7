"""Image files: one rule for reading, one for writing, one for walking a folder.

Reading is Pillow's `open(path).convert("RGB")`, as ImageNet code reads: the EXIF orientation is not
applied, colour profiles are not applied, CMYK and palettes are converted by Pillow. On top of that
the door (`engine/door.py`) knows few formats, and refuses what this line would cut silently: more
than 8 bits, transparency, further frames.

An image that is written in the place of another keeps its orientation, by which viewers turn it:
the pixels lie as they did.
"""

import io
import os
from collections.abc import Callable, Collection
from contextlib import suppress
from pathlib import Path
from stat import S_ISDIR
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np

from hardy.engine.door import FORMATS, UInt8, from_pil, open_pil
from hardy.errors import HardyError, InputError
from hardy.files import write_file
from hardy.limits import PIXELS
from hardy.patience import Unreachable
from hardy.places import is_url
from hardy.sized_file import SizedFile

if TYPE_CHECKING:
    from PIL.Image import Image

# What was read, before any conversion: a PIL image in the mode of its file, or RGB pixels.
Picture: TypeAlias = "Image | UInt8"
Convert: TypeAlias = Callable[[Picture], UInt8]

SUFFIXES = (
    *(".avif", ".bmp", ".gif", ".jp2", ".jpe", ".jpeg", ".jpg", ".pbm", ".pgm", ".png", ".pnm"),
    *(".ppm", ".tif", ".tiff", ".webp"),
)
WRITERS = {".bmp": "BMP", ".jpeg": "JPEG", ".jpg": "JPEG", ".png": "PNG", ".ppm": "PPM"}
WRITERS |= {".tif": "TIFF", ".tiff": "TIFF", ".webp": "WEBP"}
# JPEG as the benchmark stores it; everything else keeps the pixels as they are.
SETTINGS: dict[str, Any] = {"JPEG": {"quality": 85, "optimize": True}, "WEBP": {"lossless": True}}


_ORIENTATION = 0x0112  # EXIF's number for it
_AT_ONCE = 2**24  # bytes of a file


def rgb(picture: Picture) -> UInt8:
    """RGB pixels (H, W, 3) of a PIL image by the door's rules; an array has them already."""
    return picture if isinstance(picture, np.ndarray) else from_pil(picture)


def read_image(path: Path, convert: Convert = rgb) -> UInt8:
    """RGB pixels (H, W, 3) of one still image, or an InputError with the path and the reason.

    `convert` gets the picture as the file has it, in its own mode.
    """
    if is_url(path):  # it is not asked for twice, first whether it is there
        return decode_image(path, str(path), convert)
    try:
        status = path.stat()
    except OSError as error:
        why = "there is no such file" if isinstance(error, FileNotFoundError) else error
        raise InputError(f"cannot read {path}: {why}") from error
    if S_ISDIR(status.st_mode):
        raise InputError(f"cannot read {path}: expected an image file, got a folder")
    return decode_image(path, str(path), convert)


def read_oriented(path: Path) -> tuple[UInt8, int]:
    """`read_image`, and the orientation by which viewers turn the image: 1 is as it lies."""
    noted = 1

    def convert(picture: Picture) -> UInt8:
        nonlocal noted
        pixels = rgb(picture)  # first: it looks at what is not decoded yet
        if not isinstance(picture, np.ndarray):
            with suppress(Exception):  # a broken note is as good as none
                noted = int(picture.getexif().get(_ORIENTATION, 1))
        return pixels

    return read_image(path, convert), noted


def decode_image(file: Path | bytes, name: str, convert: Convert = rgb) -> UInt8:
    """`read_image` of a file that may be in memory; `name` is for the message."""
    from PIL import Image, UnidentifiedImageError

    if PIXELS.value > PIXELS.usual:  # Pillow refuses twice what it warns of
        Image.MAX_IMAGE_PIXELS = max(Image.MAX_IMAGE_PIXELS or 0, -(-PIXELS.value // 2))
    try:
        with io.BytesIO(file) if isinstance(file, bytes) else _opened(file) as stream:
            if not stream.read(1):
                raise InputError("the file is empty")
            stream.seek(0)
            with open_pil(stream) as image:
                return convert(image)
    except FileNotFoundError as error:
        raise InputError(f"cannot read {name}: there is no such file") from error
    except Unreachable:  # the store is at fault, and not the image
        raise
    except UnidentifiedImageError as error:
        known = f"not an image of a known format ({', '.join(FORMATS)})"
        raise InputError(f"cannot read {name}: {known}") from error
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise InputError(
            f"cannot read {name}: {error}; if you trust it, set the environment variable "
            f"{PIXELS.variable} higher, or PIL.Image.MAX_IMAGE_PIXELS"
        ) from error
    except Exception as error:  # Pillow's decoders meet broken data with nearly any kind
        raise InputError(f"cannot read {name}: {error or type(error).__name__}") from error


def _opened(path: Path) -> IO[bytes]:
    """A file on a disk, read at once, unless it is large. Pillow reads by the hundred bytes, and
    each time a thread would have to wait for Python's lock again."""
    stream = SizedFile(path)
    if is_url(path) or stream.length > _AT_ONCE:
        return stream
    with stream:
        return io.BytesIO(stream.read())


def decoder_versions() -> dict[str, str]:
    """Who decodes, since other versions may give other bytes."""
    import PIL
    from PIL import features

    turbo = "libjpeg_turbo" if features.check_feature("libjpeg_turbo") else "jpg"
    version = str(features.version(turbo) or "unknown")
    return {"Pillow": PIL.__version__, turbo: version}


def check_output(
    path: Path,
    source: Path | None = None,
    known: Collection[str] = WRITERS.keys(),
    hint: str = ".png keeps every byte",
) -> None:
    """Refuse a format that is not written and, before any work, a name that is the input's."""
    if path.suffix.lower() not in known:
        expected = f"a name that ends in one of {' '.join(known)}"
        raise InputError(f"cannot write {path}: expected {expected}; {hint}")
    if source is not None and path.exists() and path.samefile(source):
        raise InputError(f"cannot write {path}: it is the input itself; name another output")


def encode_image(path: Path, pixels: UInt8, orientation: int = 1) -> bytes:
    """The file that belongs to the path, whose suffix picks the format. BMP and PPM have no place
    for an orientation."""
    from PIL import Image

    check_output(path)
    data, format = io.BytesIO(), WRITERS[path.suffix.lower()]
    settings = SETTINGS.get(format, {})
    if orientation in range(2, 9):
        exif = Image.Exif()
        exif[_ORIENTATION] = orientation
        settings = {**settings, "exif": exif}
    try:
        Image.fromarray(pixels).save(data, format, **settings)
    except (OSError, ValueError) as error:  # such as too large for the format
        raise HardyError(f"cannot write {path}: {error}") from error
    return data.getvalue()


def write_image(path: Path, pixels: UInt8) -> None:
    write_file(path, encode_image(path, pixels), wait=False)


def walk(folder: Path) -> tuple[list[Path], int, list[str]]:
    """Image files below `folder`, relative and sorted, how many others, and folders not readable.

    An image file is one whose suffix says so. Hidden files and folders are passed over, links to
    folders are not followed.
    """
    images: list[Path] = []
    others, closed = 0, list[OSError]()
    for where, folders, files in os.walk(folder, onerror=closed.append):
        folders[:] = [name for name in folders if not name.startswith(".")]
        shown = [Path(where, name) for name in files if not name.startswith(".")]
        found = [path.relative_to(folder) for path in shown if path.suffix.lower() in SUFFIXES]
        images += found
        others += len(shown) - len(found)
    return sorted(images), others, [f"cannot list {e.filename}: {e.strerror}" for e in closed]
