"""What a built folder holds, with hashes: the only thing that a rerun or a check trusts.

`manifest.json` says what is being built; `manifest.jsonl` has a line per finished unit of images,
with a hash per cell, and one of the pixels of each image that the unit was made of. Lines are
written at checkpoints, after everything they speak of has reached the disk, so a file that they do
not list is rebuilt and a file that they list is whole.
"""

import ctypes
import json
import os
import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.documents import seal, why_unread
from hardy.errors import InputError
from hardy.files import CheckpointWriter, remove_unfinished, whole_file
from hardy.inside import make_inside, open_inside, write_inside
from hardy.limits import check_regular
from hardy.locks import let_go
from hardy.schema import brief, is_whole
from hardy.suites.cells import Cell
from hardy.variants.disk.build_header import HEADER, VERSION

LINES, WORKSHOP = "manifest.jsonl", ".unfinished"
LOCK = "lock"
_OURS = secrets.token_hex(4)  # beside the process's number, which another machine may have too
_MOST_CELLS = 1000  # that lines may name: all suites together have fewer
_DIGEST = 16  # bytes


def content_hash(data: bytes | memoryview | npt.NDArray[np.uint8]) -> str:
    """The first half of SHA-256, which processors have an instruction for."""
    plain = np.ascontiguousarray(data).data if isinstance(data, np.ndarray) else data
    return sha256(plain).hexdigest()[: 2 * _DIGEST]


def write_built(folder: str, name: str, data: bytes | memoryview, *, wait: bool = False) -> None:
    """Write one of the many files of a build; a checkpoint waits for the disk, if this does not.

    Until it is whole it lies where a `ManifestWriter` in the end sweeps what killed processes left.
    """
    write_inside(folder, name, data, f"{WORKSHOP}/{os.getpid()}-{_OURS}", wait=wait)


class ManifestContents:
    """What the lines list. Millions of hashes, so they are kept as bytes."""

    def __init__(self, units: Sequence[range]) -> None:
        self._images, self._units = units, len(units)
        self._digests: dict[Cell, bytearray] = {}
        self._listed: dict[Cell, npt.NDArray[np.bool_]] = {}
        self._bad: dict[Cell, dict[int, tuple[int, ...]]] = {}
        self._sources: dict[int, bytes] = {}

    @property
    def cells(self) -> tuple[Cell, ...]:
        return tuple(self._listed)

    def listed(self, cell: Cell) -> npt.NDArray[np.bool_]:
        """Whether each unit is listed for the cell."""
        return self._listed.get(cell, np.zeros(self._units, np.bool_))

    def hash(self, unit: int, cell: Cell) -> str:
        """The hash of a listed unit; empty where none of its images could be read."""
        digest = self._digests[cell][unit * _DIGEST : (unit + 1) * _DIGEST]
        return digest.hex() if any(digest) else ""

    def bad(self, cell: Cell) -> Mapping[int, tuple[int, ...]]:
        """Unit -> its images that could not be read, and are not in what was written."""
        return self._bad.get(cell, {})

    def sources(self, unit: int) -> tuple[str, ...]:
        """The hashes of the images a unit was made of, empty for those that could not be read; none
        at all where Hardy 0.1.0, which kept none, has built it."""
        joined = self._sources.get(unit, b"")
        every = (joined[at : at + _DIGEST] for at in range(0, len(joined), _DIGEST))
        return tuple(digest.hex() if any(digest) else "" for digest in every)

    @property
    def of_unknown_sources(self) -> bool:
        """Whether there are units of whose images nothing is known."""
        listed = (np.flatnonzero(some).tolist() for some in self._listed.values())
        return any(unit not in self._sources for some in listed for unit in some)

    def add(
        self, unit: int, cells: Mapping[Cell, str], bad: Sequence[int], sources: Sequence[str]
    ) -> None:
        if not 0 <= unit < self._units:
            raise ValueError(f"expected a unit below {self._units}, got {unit}")
        images = self._images[unit]
        if not all(index in images for index in bad):
            raise ValueError(f"expected images of the unit, {images}, got {brief(bad)}")
        if sources and len(sources) != len(images):
            raise ValueError(f"expected {len(images)} hashes of images, got {len(sources)}")
        if sources:  # one that cannot be read any more is still known
            known = self.sources(unit) or sources
            every = (_digest(new or old) for new, old in zip(sources, known, strict=True))
            self._sources[unit] = b"".join(every)
        for cell, value in cells.items():
            if cell not in self._listed:
                if len(self._listed) == _MOST_CELLS:
                    raise ValueError(f"expected up to {_MOST_CELLS:,} cells")
                self._listed[cell] = np.zeros(self._units, np.bool_)
                self._digests[cell] = bytearray(self._units * _DIGEST)
            digest = _digest(value)
            self._listed[cell][unit] = True
            self._digests[cell][unit * _DIGEST : (unit + 1) * _DIGEST] = digest
            self._bad.setdefault(cell, {}).pop(unit, None)
            if bad:
                self._bad[cell][unit] = tuple(bad)

    def lines(self) -> Iterator[bytes]:
        """The same again, in an order that does not depend on how it came about."""
        for unit in range(self._units):
            by_bad: dict[tuple[int, ...], dict[Cell, str]] = {}
            for cell in sorted(self._listed):
                if self._listed[cell][unit]:
                    group = by_bad.setdefault(self.bad(cell).get(unit, ()), {})
                    group[cell] = self.hash(unit, cell)
            sources = self.sources(unit)
            for bad in sorted(by_bad):
                yield _line(unit, by_bad[bad], bad, sources)
                sources = ()  # once is enough


def _digest(text: str) -> bytes:
    digest = bytes.fromhex(text) if text else bytes(_DIGEST)
    if len(digest) != _DIGEST:
        raise ValueError(f"expected a hash of {_DIGEST} bytes, got {len(digest)}")
    return digest


def _line(
    unit: int, cells: Mapping[Cell, str], bad: Sequence[int], sources: Sequence[str]
) -> bytes:
    entry: dict[str, Any] = {"unit": unit, "cells": {str(k): v for k, v in cells.items()}}
    if bad:
        entry["bad"] = list(bad)
    if sources:
        entry["sources"] = list(sources)
    return json.dumps(entry, separators=(",", ":")).encode() + b"\n"


def read_contents(folder: Path, units: Sequence[range]) -> ManifestContents:
    """What the lines say, the later ones over the earlier."""
    contents = ManifestContents(units)
    for number, line in enumerate(_whole_lines(folder / LINES), 1):
        try:
            entry = json.loads(line)
            cells = {parse_cell(name): value for name, value in entry["cells"].items()}
            bad = [*map(_place, entry.get("bad", ()))]
            contents.add(_place(entry["unit"]), cells, bad, entry.get("sources", ()))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise InputError(
                f"{folder / LINES}: line {number} is damaged ({line[:60]!r}); remove that line, "
                "and the same `hardy build` makes what it spoke of again"
            ) from error
    return contents


def _place(value: Any) -> int:
    if not is_whole(value, least=0):
        raise ValueError(f"expected a place from 0, got {brief(value)}")
    return int(value)


def _whole_lines(path: Path) -> Iterator[bytes]:
    """All but a last one that a crash cut short."""
    try:
        check_regular(path)
        with path.open("rb") as file:
            yield from (line for line in file if line.endswith(b"\n"))
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(
            f"cannot read {path}: {why_unread(error)}; restore the file, or build anew in another "
            "folder"
        ) from error


@cache
def parse_cell(text: str) -> Cell:
    name, _, level = text.rpartition(":")
    return Cell(name, int(level))


class ManifestWriter(CheckpointWriter):
    """Appends finished units; one process at a time, by a lock among the unfinished files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        make_inside(str(folder), WORKSHOP)
        busy = f"another process is building in {folder}; wait for it, or name another folder"
        super().__init__(folder / WORKSHOP / LOCK, busy)
        try:
            remove_unfinished(folder)
            lines = open_inside(str(folder), LINES, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
            self._file = open(lines, "ab", buffering=0)  # noqa: SIM115  # until `__exit__`
            # A line that a crash cut short must not be glued to the next one.
            self._file.truncate(sum(map(len, _whole_lines(folder / LINES))))
        except BaseException:
            let_go(self._held)
            raise
        self._waiting: list[bytes] = []

    def leave_mark(self) -> str:
        """A file, absolute, that is there while this lasts: only who sees the folder can see it."""
        name = f"{WORKSHOP}/seen-{secrets.token_hex(8)}"
        os.close(open_inside(str(self._folder), name, os.O_WRONLY | os.O_CREAT))
        return str(self._folder.absolute() / name)

    def _sweep(self) -> None:
        with suppress(OSError):
            for path in (self._folder / WORKSHOP).iterdir():
                if path.name != LOCK:
                    path.unlink(missing_ok=True)

    def begin(self, header: Mapping[str, Any]) -> None:
        text = json.dumps(seal({"manifest": VERSION, **header}), indent=1)
        write_built(str(self._folder), HEADER, text.encode(), wait=True)

    def add(
        self,
        unit: int,
        cells: Mapping[Cell, str],
        bad: Sequence[int] = (),
        sources: Sequence[str] = (),
    ) -> None:
        self._waiting.append(_line(unit, cells, bad, sources))
        self.checkpoint_if_due()

    def write_waiting(self) -> None:
        """First what the lines speak of, then the lines."""
        if self._waiting:
            sync_disk(self._file.fileno())
            end = os.fstat(self._file.fileno()).st_size
            rest = memoryview(b"".join(self._waiting))
            try:
                while rest:
                    rest = rest[self._file.write(rest) :]
                os.fsync(self._file.fileno())
            except OSError:
                self._file.truncate(end)
                raise
            self._waiting.clear()

    def finish(self, units: Sequence[range]) -> None:
        """Lines in order: the manifest too is the same, however often the build was stopped."""
        self.checkpoint()
        with whole_file(self._folder / LINES) as file:
            file.writelines(read_contents(self._folder, units).lines())
            self._file.close()  # Windows replaces no open file

    def __exit__(self, *raised: object) -> None:
        self._sweep()  # first: it makes room on a full disk
        try:
            self.checkpoint()
        finally:
            self._file.close()
            let_go(self._held)
            with suppress(OSError):  # another process has begun, and works in it
                (self._folder / WORKSHOP).rmdir()


def sync_disk(handle: int) -> None:
    """All that was written to the file system of `handle` is on the disk, or it is an OSError.

    `os.sync` would wait for every other disk too, and has no way to say that a write failed.
    """
    if not hasattr(os, "sync"):  # Windows, which can wait for single files only
        os.fsync(handle)
        return
    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:  # macOS
        os.sync()
    elif syncfs(handle) != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
