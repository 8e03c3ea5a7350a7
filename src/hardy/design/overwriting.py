"""Whether a file may be written over: only one that the same command wrote."""

from __future__ import annotations

from pathlib import Path

from hardy.errors import InputError


def check_begins(target: Path, mark: str, what: str) -> None:
    """A file that is there already begins as all such files do."""
    expected = mark.encode()
    try:
        with target.open("rb") as file:
            ours = file.read(len(expected)) == expected
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"cannot write {target} ({error.strerror}); name another file") from error
    if not ours:
        raise InputError(
            f"cannot write {target}: it is no {what}; name another file, or delete that one"
        )
