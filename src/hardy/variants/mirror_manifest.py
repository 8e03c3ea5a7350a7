"""What `hardy.corrupt_files` has written into a folder: one line of JSON for each image.

A line is written before its file. So a kill can leave a line without its file, which is then made
again, but no file without its line, which nobody could tell from a file of somebody else.
"""

import json
import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path, PurePosixPath
from typing import Any

from hardy.documents import parse_json, read_document
from hardy.errors import HardyError, InputError
from hardy.files import hold, let_go, write_file
from hardy.inside import open_inside
from hardy.limits import LISTING, check_regular
from hardy.schema import is_text

CORRUPTED, LOCK = "corrupted.jsonl", ".corrupted.lock"
# Everything that a corrupted image depends on, and where it lies.
Work = dict[str, Any]


def file_hash(path: Path) -> str:
    """SHA-256 of a file, which may have gone, or been closed to us, since it was listed."""
    try:
        check_regular(path)
        return sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror or error}") from error


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Keep other processes out of a folder: two of them would drop each other's lines."""
    busy = f"another process is writing to {folder}; wait for it, or name another folder"
    with _disk(folder):
        folder.mkdir(parents=True, exist_ok=True)
        lock = hold(folder / LOCK, busy)
    try:
        yield
    finally:
        let_go(lock)


@contextmanager
def _disk(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HardyError(
            f"cannot write to {folder} ({error.strerror or error}); what is finished is kept: see "
            "to the disk, or name another folder, and give the same command again"
        ) from error


class MirrorManifest:
    """The lines of a folder; to write any, it must be `held`."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._path = folder, folder / CORRUPTED
        self._lines = {line["output"]: line for line in self._read()}

    def lists(self, work: Work) -> bool:
        """Whether the file that is there is what this very work has written."""
        line = self._lines.get(work["output"], {})
        hash = line.get("sha256")
        return line == {**work, "sha256": hash} and file_hash(self._folder / work["output"]) == hash

    @property
    def celled(self) -> bool:
        """Whether there are images in folders CORRUPTION/SEVERITY."""
        return any(_is_celled(line) and self._has(line) for line in self._lines.values())

    def check_alike(
        self, made: Collection[str], *, celled: bool, keep_format: bool, edition: str
    ) -> None:
        """Refuse to put images beside others of another layout, format or edition; those of which
        `made` takes the place do not count."""
        names = {_without_suffix(output) for output in made}
        for line in self._lines.values():
            fault = _apart(line, celled, keep_format, edition)
            if fault and _without_suffix(line["output"]) not in names and self._has(line):
                raise InputError(f"the images in {self._folder} {fault}, or name another folder")

    def twins(self, outputs: Collection[str]) -> set[str]:
        """What is there of the same images in another format, by another suffix."""
        names = {_without_suffix(output) for output in outputs}
        return {
            output
            for output in self._lines.keys() - set(outputs)
            if _without_suffix(output) in names and self._has(self._lines[output])
        }

    def _has(self, line: Work) -> bool:
        return os.path.lexists(self._folder / line["output"])

    def forget(self, outputs: Collection[str]) -> None:
        """Drop the lines of files that will be made anew, and a line that a kill cut short."""
        self._lines = {name: line for name, line in self._lines.items() if name not in outputs}
        content = b"".join(map(_encoded, self._lines.values()))
        if self._path.exists() and self._path.read_bytes() != content:
            write_file(self._path, content)

    def add(self, work: Work, content: bytes) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
        line = _encoded({**work, "sha256": sha256(content).hexdigest()})
        with (
            _disk(self._folder),
            open(open_inside(str(self._folder), CORRUPTED, flags), "ab", buffering=0) as file,
        ):
            rest = memoryview(line)
            while rest:  # a disk may take less than it is given
                rest = rest[file.write(rest) :]

    def _read(self) -> list[Work]:
        if not os.path.exists(self._path):
            return []
        try:
            content = read_document(self._path, LISTING)
            *lines, _ = content.split(b"\n")  # what follows the last is cut short
            found = [parse_json(line) for line in lines]
        except InputError:
            raise
        except (OSError, ValueError):
            found = [None]
        names = ("source", "output")
        if not all(
            isinstance(line, dict) and all(_is_name(line.get(name)) for name in names)
            for line in found
        ):
            raise InputError(
                f"{self._path}: expected the lines that `hardy corrupt` writes; "
                "move the file away, or name another folder"
            )
        return found


def _is_celled(line: Work) -> bool:
    return bool(line["output"].count("/") == line["source"].count("/") + 2)


def _is_kept(line: Work) -> bool | None:
    """Whether an image has the name and format of its source; None where PNG has both."""
    source, output = PurePosixPath(line["source"]), PurePosixPath(line["output"])
    if output.suffix != ".png":
        return True
    return None if output.name == source.name else False


def _apart(line: Work, celled: bool, keep_format: bool, edition: str) -> str | None:
    """What sets an image apart from those to come, and what to do about it."""
    if celled and not _is_celled(line):
        return "are of one corruption, without a folder such as fog/3; ask for one corruption"
    kept = _is_kept(line)
    if kept and not keep_format:
        return "keep their names and formats; say `keep_format=True`"
    if keep_format and kept is False:
        return "are PNG files; leave `keep_format` out"
    there = line.get("edition")
    if there != edition:
        return f"are of the edition {there}, not {edition}; say `edition={there}`"
    return None


def _is_name(value: Any) -> bool:
    return is_text(value) and PurePosixPath(value).name != ""


def _without_suffix(output: str) -> str:
    return str(PurePosixPath(output).with_suffix(""))


def _encoded(line: Work) -> bytes:
    return json.dumps(line).encode() + b"\n"
