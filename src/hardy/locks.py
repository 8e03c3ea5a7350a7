"""Folders in which one process works at a time."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hardy.errors import InputError
from hardy.inside import refuse_link
from hardy.rerun import refuse_in_rerun

if TYPE_CHECKING:
    from filelock import FileLock

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)  # how a file system says that


class BusyFolder(InputError):
    """Another process holds what is wanted; it may be about to end."""


def hold(path: Path, busy: str) -> FileLock:
    """Lock a file until it is released, or the process ends; a second process is told `busy`.

    A file of its own: Windows lets nobody read one that is locked.
    """
    from filelock import FileLock, Timeout  # only here: commands that hold nothing start sooner

    lock = FileLock(path, thread_local=False, fallback_to_soft=False)
    try:
        if os.path.lexists(path):
            refuse_link(str(path))
        lock.acquire(timeout=0)
        # Between opening and locking, the file may have made way for that of another process.
        locked = lock._context.lock_file_fd  # filelock has no other way to say which file it is
        if locked is None or not os.path.samestat(os.fstat(locked), os.stat(path)):
            raise FileNotFoundError(path)
    except (Timeout, FileNotFoundError) as error:
        lock.release()
        raise BusyFolder(busy) from error
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise InputError(
            f"expected a folder that can be held for one process, got one on a file system without "
            f"locks ({error.strerror}); name a folder on another"
        ) from error
    return lock


@contextmanager
def alone_in(folder: Path, lock: str, act: str, doing: str) -> Iterator[None]:
    """The folder, made if need be, for this process alone, to `act` in: "train", "training in"."""
    refuse_in_rerun()
    busy = f"another process is {doing} {folder}; wait for it, or name another folder"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        held = hold(folder / lock, busy)
    except OSError as error:
        raise InputError(
            f"expected a folder to {act}, got {folder} ({error.strerror}); name another"
        ) from error
    try:
        yield
    finally:
        let_go(held)


def let_go(lock: FileLock | None) -> None:
    """Release a lock, if there is one, and leave no file of it."""
    if lock is None:
        return
    with suppress(OSError):  # Windows deletes no open file; there, releasing it does
        os.unlink(lock.lock_file)  # first: later it may be that of another process
    lock.release()
