"""Files inside a folder that may have come from anywhere: nothing is written through a link, and
nothing is read through one that leads out.

The folder itself is the user's to name, and may be a link. Below it each step is taken from the
folder that is open already, and one that is a link fails, even if it was put there a moment ago.
Windows opens nothing relative to a folder: there each step is looked at before it is taken, which
refuses links that lie there, but not one that another process puts in place just then.
"""

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hardy.errors import InputError
from hardy.places import is_url

_STEPS = {os.open, os.mkdir, os.rename, os.stat, os.unlink}
BY_STEPS = os.supports_dir_fd >= _STEPS and hasattr(os, "O_NOFOLLOW")
_FOLLOW_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
# Windows would write line ends of its own into bytes that are not said to be such; and a pipe would
# be waited for.
_FILE = _FOLLOW_NO_LINK | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE
# How systems say that it is a link, no folder, a folder, or a pipe.
_OF_ANOTHER_KIND = (errno.ELOOP, errno.EMLINK, errno.ENOTDIR, errno.EISDIR, errno.ENXIO)
_REPARSE = 0x400  # how Windows marks links and junctions


def inner_path(folder: Path, name: str) -> Path:
    """The path of a file that is to be read, unless a link on its way leads out of the folder."""
    path = folder / name
    if is_url(folder):  # where there are no links
        return path
    if not Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise InputError(
            f"cannot read {path}: a link leads out of {folder}; put the file itself in its place"
        )
    return path


def open_inside(folder: str, name: str, flags: int) -> int:
    """Open a file for writing, by flags of `os.open`; refuse one that other names lead to as well.

    The folders that `name` passes through are made.
    """
    with _last_step(folder, name) as (last, above):
        try:
            handle = os.open(last, flags | _FILE, 0o666, dir_fd=above)
        except OSError as error:
            raise _refusal(folder, name, "a file", error) from error
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        os.close(handle)
        raise _foreign(f"{folder}/{name}", "a file")
    return handle


def make_inside(folder: str, name: str) -> None:
    """Make a folder, and those above it, unless it is there."""
    with _last_step(folder, f"{name}/"):
        pass


def write_inside(
    folder: str, name: str, data: bytes | memoryview, temporary: str, *, wait: bool = False
) -> None:
    """Write one whole file of very many: `temporary` is the one name that a process needs for it.

    Without `wait` it need not be on the disk yet; who writes so many sees to that once for
    thousands of them.
    """
    with _last_step(folder, temporary) as (unfinished, workshop):
        try:
            handle = os.open(unfinished, _NEW, 0o666, dir_fd=workshop)
        except FileExistsError:  # a killed process left it, or somebody put it there
            os.unlink(unfinished, dir_fd=workshop)
            handle = os.open(unfinished, _NEW, 0o666, dir_fd=workshop)
        # By the system's own calls: Python's file objects cost as much again for a file this small.
        try:
            rest = memoryview(data)
            while rest:
                rest = rest[os.write(handle, rest) :]
            if wait:
                os.fsync(handle)
        finally:
            os.close(handle)
        with _last_step(folder, name) as (last, above):
            os.replace(unfinished, last, src_dir_fd=workshop, dst_dir_fd=above)
            if wait and above is not None:
                os.fsync(above)


@contextmanager
def _last_step(folder: str, name: str) -> Iterator[tuple[str, int | None]]:
    """What is left of the way to a name, and the open folder that it starts from."""
    *way, last = name.split("/")
    if not BY_STEPS:
        place = folder
        for part in way:
            place = f"{place}/{part}"
            with suppress(FileExistsError):
                os.mkdir(place)
            refuse_link(place)
        if last and os.path.lexists(f"{place}/{last}"):
            refuse_link(f"{place}/{last}")
        yield f"{place}/{last}", None
        return
    here = os.open(folder, _FOLDER)
    try:
        for number, part in enumerate(way, 1):
            try:
                below = _enter(part, here)
            except OSError as error:
                raise _refusal(folder, "/".join(way[:number]), "a folder", error) from error
            os.close(here)
            here = below
        yield last, here
    finally:
        os.close(here)


def _enter(part: str, above: int) -> int:
    try:
        return os.open(part, _FOLDER | _FOLLOW_NO_LINK, dir_fd=above)
    except FileNotFoundError:
        with suppress(FileExistsError):  # another process makes it too
            os.mkdir(part, dir_fd=above)
        return os.open(part, _FOLDER | _FOLLOW_NO_LINK, dir_fd=above)


def refuse_link(place: str) -> None:
    """Refuse what is a link at this moment."""
    found = os.lstat(place)
    if stat.S_ISLNK(found.st_mode) or getattr(found, "st_file_attributes", 0) & _REPARSE:
        raise _foreign(place, "a file or folder")


def refuse_links(folder: str, names: Iterable[str]) -> None:
    """Refuse links in the place of names below a folder, or on the way to one, at this moment."""
    places = set()
    for name in names:
        while name and name not in places:
            places.add(name)
            name = name.rpartition("/")[0]
    for place in sorted(places):  # a folder before what is in it
        with suppress(FileNotFoundError, NotADirectoryError):
            refuse_link(f"{folder}/{place}")


def _refusal(folder: str, name: str, expected: str, error: OSError) -> Exception:
    foreign = error.errno in _OF_ANOTHER_KIND
    return _foreign(f"{folder}/{name}", expected) if foreign else error


def _foreign(place: str, expected: str) -> InputError:
    return InputError(
        f"{place}: expected {expected} of its own, got a link or something else; remove it, or "
        "name another folder"
    )
