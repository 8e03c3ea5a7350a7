"""What a built folder holds, with hashes: the only thing that a rerun or a check trusts.

`manifest.json` says what is being built; `manifest.jsonl` has a line per finished unit of images,
with a hash per cell. Lines are written at checkpoints, after everything they speak of has reached
the disk, so a file that they do not list is rebuilt and a file that they list is whole.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Any

from hardy.errors import InputError
from hardy.suites.cells import Cell

HEADER, LINES = "manifest.json", "manifest.jsonl"
VERSION = 1
CHECKPOINT_SECONDS = 5.0


def content_hash(data: bytes | memoryview) -> str:
    return blake2b(data, digest_size=16).hexdigest()


def write_atomically(path: Path, data: bytes | memoryview) -> None:
    """Under a temporary name, then renamed: a reader never meets half a file."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        temporary.write_bytes(data)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
    os.replace(temporary, path)


def read_header(folder: Path) -> dict[str, Any] | None:
    try:
        header = json.loads((folder / HEADER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise InputError(f"{folder / HEADER}: expected JSON, but {error}") from error
    if not isinstance(header, dict) or header.get("manifest") != VERSION:
        raise InputError(f"{folder / HEADER}: expected a manifest of version {VERSION}")
    return header


def read_lines(folder: Path) -> Iterator[tuple[int, dict[Cell, str]]]:
    """(unit, hash per cell); a last line cut short by a crash is passed over."""
    try:
        file = (folder / LINES).open("rb")
    except FileNotFoundError:
        return
    with file:
        for line in file:
            if not line.endswith(b"\n"):
                return
            try:
                entry = json.loads(line)
                yield int(entry["unit"]), {_cell(k): str(v) for k, v in entry["cells"].items()}
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise InputError(
                    f"{folder / LINES}: a line is damaged ({line[:60]!r}); remove it, and the same "
                    "command builds what it spoke of again"
                ) from error


def _cell(text: str) -> Cell:
    name, _, level = text.rpartition(":")
    return Cell(name, int(level))


class Writer:
    """Appends finished units; one process at a time, by a lock on the file."""

    def __init__(self, folder: Path, header: Mapping[str, Any]) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / LINES).open("ab")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self._file.close()
            raise InputError(
                f"another process is building in {folder}; wait for it, or name another folder"
            ) from error
        self._cut_broken_line()
        self._waiting: list[bytes] = []
        self._due = time.monotonic() + CHECKPOINT_SECONDS
        text = json.dumps({"manifest": VERSION, **header}, indent=2, ensure_ascii=False)
        write_atomically(folder / HEADER, text.encode())

    def _cut_broken_line(self) -> None:
        """A line that a crash cut short must not be glued to the next one."""
        path = self._folder / LINES
        data = path.read_bytes()
        if data and not data.endswith(b"\n"):
            os.truncate(path, data.rfind(b"\n") + 1)

    def add(self, unit: int, cells: Mapping[Cell, str]) -> None:
        entry = {"unit": unit, "cells": {str(cell): value for cell, value in cells.items()}}
        self._waiting.append(json.dumps(entry, separators=(",", ":")).encode() + b"\n")
        if time.monotonic() >= self._due:
            self.checkpoint()

    def checkpoint(self) -> None:
        """First what the lines speak of, then the lines."""
        if self._waiting:
            os.sync()
            self._file.write(b"".join(self._waiting))
            self._file.flush()
            os.fsync(self._file.fileno())
            self._waiting.clear()
        self._due = time.monotonic() + CHECKPOINT_SECONDS

    def __enter__(self) -> Writer:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.checkpoint()
        finally:
            self._file.close()
