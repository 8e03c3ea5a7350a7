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
def whole_file(path: Path, *, wait: bool = True) -> Iterator[IO[bytes]]:
    """Opened to be written: it has its name when all of it is on the disk, and not before.

    Without `wait` that holds unless the machine itself goes down: for files that are many and can
    be made again, since the disk takes some milliseconds for each.
    """
    temporary = path.with_name(f".{secrets.token_hex(8)}{UNFINISHED}")
    try:
        with open(temporary, "xb") as file:  # a new one: never through a link to somewhere else
            yield file
            if wait:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if wait:
        sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """The names in it are on the disk too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
