"""The calls of this process that write below a folder, each of which passes through one function.

What Python offers for writing is replaced: the functions of `os`, `open`, and Hardy's wait for a
whole file system. Files that C libraries would open by themselves are not seen; Hardy has none.
"""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

# What a call does: `write` and `size` change a file, `sync` waits for a file or a folder, the
# others change the names in folders.
WRITE, SIZE, SYNC, SYNC_ALL = "write", "size", "sync", "sync all"
MAKE, FOLDER, MOVE, DROP = "make", "folder", "move", "drop"
GROWING = (WRITE, SIZE, MAKE, FOLDER)  # what needs room on a disk


@dataclass(frozen=True)
class Call:
    """One call, before it is made; paths are relative to the folder."""

    kind: str
    path: str
    to: str = ""  # of a move
    handle: int = -1  # of the open file that is changed
    at: int = 0  # of a write, where; of a size, how much
    data: bytes = b""


# Makes the call, or not: given what is asked for, and what does it, for a write all or a part.
Pass = Callable[[Call, Callable[..., Any]], Any]


class Gate:
    """Where all calls pass once `close` has been called; there is no way back."""

    def __init__(self, folder: str, let_pass: Pass) -> None:
        self.folder, self.let_pass = os.path.realpath(folder), let_pass
        self.paths: dict[int, str] = {}  # of open handles
        self.os = {name: getattr(os, name) for name in dir(os)}
        self.open = open

    def inside(self, path: Any, above: int | None = None) -> str | None:
        """A path relative to the folder; None where it leads elsewhere."""
        if isinstance(path, int):
            return self.paths.get(path)
        whole = os.fspath(path)
        whole = os.fsdecode(whole)
        if above is not None and above in self.paths:
            whole = os.path.join(self.folder, self.paths[above], whole)
        whole = os.path.normpath(os.path.join(self.folder, whole))  # it is the working folder
        inside = whole == self.folder or whole.startswith(self.folder + "/")
        return os.path.relpath(whole, self.folder) if inside else None

    def close(self) -> None:
        for name in ("open", "close", "write", "fsync", "ftruncate", "unlink", "mkdir", "rmdir"):
            setattr(os, name, getattr(self, f"_{name}"))
        os.remove = os.unlink
        os.replace = os.rename = self._rename  # type: ignore[assignment]
        builtins.open = io.open = self._open_file  # type: ignore[assignment]
        from hardy.variants.disk import manifest

        wait = manifest.sync_disk

        def sync(handle: int) -> None:
            self.let_pass(Call(SYNC_ALL, ""), lambda: wait(handle))

        manifest.sync_disk = sync

    def _open(self, path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        def make() -> int:
            return int(self.os["open"](path, flags, mode, dir_fd=dir_fd))

        where = self.inside(path, dir_fd)
        if where is None:
            return make()
        there = os.path.lexists(os.path.join(self.folder, where))
        new = flags & os.O_CREAT and not there
        handle: int = self.let_pass(Call(MAKE, where), make) if new else make()
        self.paths[handle] = where
        if there and flags & os.O_TRUNC:
            self.let_pass(Call(SIZE, where, handle=handle), lambda: None)
        return handle

    def _close(self, handle: int) -> None:
        self.paths.pop(handle, None)
        self.os["close"](handle)

    def _write(self, handle: int, data: Any) -> int:
        return self.write(handle, data, self.os["write"])

    def write(self, handle: int, data: Any, do: Callable[[int, Any], int]) -> int:
        where = self.paths.get(handle)
        if where is None:
            return do(handle, data)
        data = memoryview(data).cast("B")
        import fcntl

        appends = fcntl.fcntl(handle, fcntl.F_GETFL) & os.O_APPEND
        at = os.fstat(handle).st_size if appends else os.lseek(handle, 0, os.SEEK_CUR)
        call = Call(WRITE, where, handle=handle, at=at, data=bytes(data))
        written: int = self.let_pass(call, lambda part=data: do(handle, part))
        return written

    def _ftruncate(self, handle: int, length: int) -> None:
        self.resize(handle, length, self.os["ftruncate"])

    def resize(self, handle: int, length: int, do: Callable[[int, int], Any]) -> Any:
        where = self.paths.get(handle)
        if where is None:
            return do(handle, length)
        return self.let_pass(
            Call(SIZE, where, handle=handle, at=length), lambda: do(handle, length)
        )

    def _fsync(self, handle: int) -> None:
        where = self.paths.get(handle)
        if where is None:
            self.os["fsync"](handle)
        else:
            self.let_pass(Call(SYNC, where, handle=handle), lambda: self.os["fsync"](handle))

    def _names(self, kind: str, name: str, path: Any, dir_fd: int | None, *rest: Any) -> None:
        def make() -> None:
            self.os[name](path, *rest, dir_fd=dir_fd)

        where = self.inside(path, dir_fd)
        if where is None:
            make()
        else:
            self.let_pass(Call(kind, where), make)

    def _unlink(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._names(DROP, "unlink", path, dir_fd)

    def _mkdir(self, path: Any, mode: int = 0o777, *, dir_fd: int | None = None) -> None:
        self._names(FOLDER, "mkdir", path, dir_fd, mode)

    def _rmdir(self, path: Any, *, dir_fd: int | None = None) -> None:
        self._names(DROP, "rmdir", path, dir_fd)

    def _rename(
        self, old: Any, new: Any, *, src_dir_fd: int | None = None, dst_dir_fd: int | None = None
    ) -> None:
        def make() -> None:
            self.os["replace"](old, new, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

        here, there = self.inside(old, src_dir_fd), self.inside(new, dst_dir_fd)
        if here is None or there is None:
            make()
        else:
            self.let_pass(Call(MOVE, here, to=there), make)

    def _open_file(
        self,
        file: Any,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
        closefd: bool = True,
        opener: Any = None,
    ) -> Any:
        writes = any(letter in mode for letter in "wxa+")
        if not writes or self.inside(file) is None:
            return self.open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        plain = mode.replace("b", "").replace("t", "")
        raw = _File(self, file, plain, closefd, opener or (lambda p, f: os.open(p, f, 0o666)))
        if buffering == 0:
            return raw
        kind = io.BufferedRandom if "+" in mode else io.BufferedWriter
        stream = kind(raw)
        return stream if "b" in mode else io.TextIOWrapper(stream, encoding, errors, newline)


class _File(io.FileIO):
    def __init__(self, gate: Gate, file: Any, mode: str, closefd: bool, opener: Any) -> None:
        self._gate = gate
        super().__init__(file, mode, closefd, opener)

    def write(self, data: Any) -> int:
        return self._gate.write(self.fileno(), data, lambda _, part: super(_File, self).write(part))

    def truncate(self, size: int | None = None) -> int:
        size = self.tell() if size is None else size
        self._gate.resize(self.fileno(), size, lambda _, size: super(_File, self).truncate(size))
        return size

    def close(self) -> None:
        if not self.closed and self.closefd:
            self._gate.paths.pop(self.fileno(), None)
        super().close()
