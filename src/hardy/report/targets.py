"""Writing what is finished, and refusing what must not be written over before any work."""

from __future__ import annotations

import os
from pathlib import Path

from hardy.errors import HardyError, InputError
from hardy.files import whole_file
from hardy.store.records import RUN


def check_target(target: Path) -> None:
    """A new file or one to replace, and no part of a run: its record is all there is of it."""
    if os.path.isdir(target):  # unlike a Path's, no name is too long for it
        raise InputError(f"cannot write {target}: it is a folder; name a file in it")
    if os.path.exists(target) and not os.path.isfile(target):
        raise InputError(f"cannot write {target}: expected a file or a new name, got a device")
    if not os.path.isdir(target.parent):
        raise InputError(f"cannot write {target}: the folder {target.parent} is not there; make it")
    check_outside_runs(target)


def check_outside_runs(target: Path) -> None:
    for folder in Path(os.path.realpath(target)).parents:
        if (folder / RUN).exists():
            raise InputError(
                f"cannot write {target}: {folder} holds the predictions of a run; name another "
                "folder"
            )


def write_whole(target: Path, content: bytes) -> None:
    """Under a temporary name first, so that no half of a page is ever seen."""
    check_target(target)
    try:
        with whole_file(target) as file:
            file.write(content)
    except OSError as error:
        raise HardyError(f"cannot write {target}: {error}") from error
