"""The limits of what Hardy takes in. What comes from outside may claim any size: it is refused by
its claim, before memory or hours are spent on it.

Each limit is far above what benchmarks need, says why it is there, and is raised by an environment
variable. Bounds that a format itself has, such as the four dimensions of images, stand with it.
"""

import errno
import os
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path

from hardy.errors import InputError

_DIGITS = 4000  # of a number in a message; Python writes no more than 4,300


@dataclass(frozen=True)
class Limit:
    """The most that is taken of something."""

    variable: str  # of the environment; it raises the limit
    usual: int
    unit: str
    reason: str

    @property
    def value(self) -> int:
        text = os.environ.get(self.variable, "")
        if not text:
            return self.usual
        if not re.fullmatch("0*[1-9][0-9]{0,17}", text):
            raise InputError(
                f"expected the environment variable {self.variable} as a whole number above 0, got "
                f"{text!r}; correct it, or unset it"
            )
        return int(text)

    def check(self, got: int, where: object) -> None:
        """Refuse more; `where` names the file, or whatever it is that claims so much."""
        if got > self.value:
            raise self.exceeded(f"{got:,}" if got < 10**_DIGITS else "very many", where)

    def exceeded(self, got: str, where: object) -> InputError:
        """The error, where it is known only that there are more than the limit."""
        return InputError(
            f"{where}: expected at most {self.value:,} {self.unit}, got {got} ({self.reason}); if "
            f"that is right, set the environment variable {self.variable} higher"
        )


IMAGES = Limit(
    "HARDY_MOST_IMAGES",
    10_000_000,
    "images",
    "the name, id and label of each are in memory",
)
PIXELS = Limit(
    "HARDY_MOST_PIXELS",
    178_956_970,
    "pixels in an image",
    "it is Pillow's own limit, and a small file can claim more",
)
FRAMES = Limit(
    "HARDY_MOST_FRAMES",
    1000,
    "frames in a sequence",
    "all of them are in memory; those of the benchmarks have 31 at most",
)
INFLATED = Limit(
    "HARDY_LARGEST_INFLATED",
    2_000_000_000,
    "bytes when it is unpacked",
    "a compressed file of a few kilobytes can claim any size",
)
ROWS = Limit(
    "HARDY_LARGEST_ROW_GROUP",
    2_000_000_000,
    "bytes in a row group or a column of names",
    "it is in memory at once, and equal rows take no room in the file",
)
RECORD = Limit(
    "HARDY_LARGEST_RECORD",
    20_000_000,
    "bytes in a record",
    "it is in memory at once, and takes up to 25 times as much there",
)
CARD_HEAD = Limit(
    "HARDY_LARGEST_CARD_HEAD",
    500_000,
    "letters in the head of a model card",
    "its parser takes some ten seconds for so many",
)
LISTING = Limit(
    "HARDY_LARGEST_LISTING",
    200_000_000,
    "bytes in a list of images",
    "it is in memory at once, and takes up to 25 times as much there",
)
SETS = Limit(
    "HARDY_MOST_SETS",
    1_000_000,
    "sets to try",
    "the search for a largest set may take longer than anybody waits",
)
FIGURE = Limit(
    "HARDY_LARGEST_FIGURE",
    1_000_000,
    "as a figure in a model's config",
    "libraries make room for it before they look for weights",
)
LAYERS = Limit(
    "HARDY_MOST_LAYERS",
    1000,
    "layers in a row in a model's config",
    "libraries build them before they look for weights",
)
SIDE = Limit(
    "HARDY_LARGEST_SIDE",
    4096,
    "pixels along a side of what a model is shown",
    "batches of such images are in memory",
)


def check_archive(path: Path) -> None:
    """Refuse a zip whose compressed members unpack to too much, by what it says of them."""
    try:
        with zipfile.ZipFile(path) as archive:
            packed = [one for one in archive.infolist() if one.compress_type != zipfile.ZIP_STORED]
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return  # no archive, or a broken one: its reader tells
    INFLATED.check(sum(one.file_size for one in packed), path)


def check_regular(path: Path) -> None:
    """Raise an OSError over what is no file: a pipe would be waited for, a device never ends."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no file")


_OF_DATA = (IMAGES, PIXELS, FRAMES, INFLATED, ROWS, RECORD, CARD_HEAD, LISTING, SETS)
LIMITS = (*_OF_DATA, FIGURE, LAYERS, SIDE)
