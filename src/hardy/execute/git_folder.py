"""The commit of the folder that work is done in, read from the files of its repository.

Git itself is never started: the settings of a repository, which may have come from anywhere, can
name programs that git then runs, even to say whether files were changed. So nothing here says that.
"""

import os
import re
from pathlib import Path

_LONGEST = 1 << 12  # bytes of a line that is read
_LARGEST = 1 << 26  # of the list of packed references
_NESTED = 5  # references to references
_COMMIT = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_REFERENCE = re.compile(r"refs/(?!.*\.\.)[^\\:]+")


def git_commit() -> str | None:
    """The commit that is checked out in the current folder, where the user's work lies; None where
    there is none to be read. It is not Hardy's own, which has its version."""
    try:
        here = Path.cwd()
        top = next((at for at in (here, *here.parents) if os.path.lexists(at / ".git")), None)
        return None if top is None else _checked_out(_git_folder(top / ".git"))
    except (OSError, ValueError):
        return None


def _git_folder(place: Path) -> Path:
    """The folder itself, or the one that a file names: that of a submodule or a worktree."""
    if place.is_dir():
        return place
    named = _first_line(place).removeprefix("gitdir:").strip()
    if named.startswith(("\\\\", "//")):  # Windows would log in at the machine that is named
        raise ValueError(f"{named} is a folder of another machine")
    return place.parent / named


def _checked_out(folder: Path) -> str | None:
    shared = folder
    if (folder / "commondir").is_file():  # of a worktree
        shared = folder / _first_line(folder / "commondir")
    said = _first_line(folder / "HEAD")
    for _ in range(_NESTED):
        if _COMMIT.fullmatch(said):
            return said
        name = said.removeprefix("ref:").strip()
        if not _REFERENCE.fullmatch(name):
            return None
        place = next((at / name for at in (folder, shared) if (at / name).is_file()), None)
        said = _packed(shared, name) if place is None else _first_line(place)
    return None


def _packed(folder: Path, name: str) -> str:
    """What the list of references that have no file of their own says of one; else nothing."""
    place, length = folder / "packed-refs", 0
    if place.is_file():
        with place.open("rb") as file:
            while (line := file.readline(_LONGEST)) and length < _LARGEST:
                length += len(line)
                commit, _, named = line.decode(errors="replace").strip().partition(" ")
                if named == name:
                    return commit
    return ""


def _first_line(place: Path) -> str:
    if not place.is_file():  # a pipe would be waited for
        raise ValueError(f"{place} is no file")
    with place.open("rb") as file:
        return file.readline(_LONGEST).decode().strip()
