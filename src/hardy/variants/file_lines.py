"""What a command has written into a folder: one line of JSON for each file.

A line is written before its file. So a kill can leave a line without its file, which is then made
again, but no file without its line, which nobody could tell from a file of somebody else.
"""

import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from hashlib import file_digest, sha256
from pathlib import Path, PurePosixPath
from typing import Any

from hardy.documents import parse_json, read_document
from hardy.errors import HardyError, InputError
from hardy.files import write_file
from hardy.inside import open_inside
from hardy.limits import LISTING, check_regular
from hardy.locks import hold, let_go
from hardy.schema import is_text

# Everything that a file depends on, and where it lies: "source", "output" and more.
Work = dict[str, Any]


def file_hash(path: Path) -> str:
    """SHA-256 of a file, which may have gone, or been closed to us, since it was listed."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


@contextmanager
def held(folder: Path, lock: str) -> Iterator[None]:
    """Keep other processes out of a folder: two of them would drop each other's lines."""
    busy = f"another process is writing to {folder}; wait for it, or name another folder"
    with telling_of_disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        held_by_us = hold(folder / lock, busy)
    try:
        yield
    finally:
        let_go(held_by_us)


@contextmanager
def telling_of_disk(folder: Path) -> Iterator[None]:
    """Tell in a line what a disk refuses."""
    try:
        yield
    except OSError as error:
        raise HardyError(
            f"cannot write to {folder} ({error.strerror or error}); what is finished is kept: see "
            "to the disk, or name another folder, and give the same command again"
        ) from error


class FileLines:
    """The lines of a folder, by output, in the file `name`, which `command` writes; to write any,
    the folder must be `held`."""

    def __init__(self, folder: Path, name: str, command: str) -> None:
        self.folder, self._name, self._command = folder, name, command
        self.lines = {line["output"]: line for line in self._read()}

    def lists(self, work: Work) -> bool:
        """Whether the file that is there is what this very work has written."""
        line = self.lines.get(work["output"], {})
        hash = line.get("sha256")
        return line == {**work, "sha256": hash} and file_hash(self.folder / work["output"]) == hash

    def forget(self, outputs: Collection[str]) -> None:
        """Drop the lines of files that will be made anew, and a line that a kill cut short."""
        self.lines = {name: line for name, line in self.lines.items() if name not in outputs}
        content = b"".join(map(_encoded, self.lines.values()))
        path = self.folder / self._name
        if path.exists() and path.read_bytes() != content:
            write_file(path, content)

    def add(self, work: Work, content: bytes) -> None:
        self.note(work, sha256(content).hexdigest())

    def note(self, work: Work, digest: str) -> None:
        """Add the line of a file whose SHA-256 is known."""
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        line = _encoded({**work, "sha256": digest})
        with (
            telling_of_disk(self.folder),
            open(open_inside(str(self.folder), self._name, flags), "ab", buffering=0) as file,
        ):
            rest = memoryview(line)
            while rest:  # a disk may take less than it is given
                rest = rest[file.write(rest) :]

    def _read(self) -> list[Work]:
        path = self.folder / self._name
        if not os.path.exists(path):
            return []
        try:
            content = read_document(path, LISTING)
            *lines, _ = content.split(b"\n")  # what follows the last is cut short
            found = [parse_json(line) for line in lines]
        except InputError:
            raise
        except (OSError, ValueError):
            found = [None]
        names = ("source", "output")
        if not all(
            isinstance(line, dict)
            and all(_is_name(line.get(name)) for name in names)
            and _is_inside(line["output"])
            for line in found
        ):
            raise InputError(
                f"{path}: expected the lines that `{self._command}` writes; "
                "move the file away, or name another folder"
            )
        return found


def _is_name(value: Any) -> bool:
    return is_text(value) and PurePosixPath(value).name != ""


def _is_inside(value: str) -> bool:
    """Whether a file below the folder can have that name."""
    path = PurePosixPath(value)
    try:
        return not path.is_absolute() and ".." not in path.parts and b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False


def _encoded(line: Work) -> bytes:
    return json.dumps(line).encode() + b"\n"
