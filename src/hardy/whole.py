"""Files that are there whole or not at all, whatever happens while they are written."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

# How a name ends until its file is finished: by it, what a killed process left is known as ours.
UNFINISHED = ".hardy-unfinished"


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Opened to be written: it has its name when all of it is on the disk, and not before."""
    temporary = path.with_name(f".{secrets.token_hex(8)}{UNFINISHED}")
    try:
        with open(temporary, "xb") as file:  # a new one: never through a link to somewhere else
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """The names in it are on the disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
