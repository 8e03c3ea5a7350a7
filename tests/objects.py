"""A store of objects without a network: a folder behind its face, that fails when told to."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

from pyarrow.fs import FileSelector, LocalFileSystem, SubTreeFileSystem


class ObjectFile:
    """One object, open for reading by ranges."""

    def __init__(self, objects: Objects, key: str) -> None:
        self._objects = objects
        self._key = key
        self._file = objects.inner.open_input_file(key)

    def size(self) -> int:
        return int(self._file.size())

    def metadata(self) -> dict[str, bytes]:
        data = self._file.read_at(self.size(), 0)
        return {"ETag": sha256(data).hexdigest().encode()}

    def read_at(self, length: int, start: int) -> bytes:
        self._objects.asked("read_at", self._key)
        data: bytes = self._file.read_at(length, start)
        return data[: len(data) // 2] if self._objects.cut() else data


class Objects:
    """What pyarrow's file system of a bucket does, as far as Hardy asks for it."""

    type_name = "s3"

    def __init__(self, folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        self.folder = folder
        self.inner = SubTreeFileSystem(str(folder), LocalFileSystem())
        self.requests: list[tuple[str, str]] = []
        self.fails: Callable[[str, str], str | None] = lambda what, key: None
        self.cuts = 0  # answers that are to end in the middle

    def asked(self, what: str, key: str) -> None:
        self.requests.append((what, key))
        if why := self.fails(what, key):
            raise OSError(why)

    def cut(self) -> bool:
        self.cuts -= 1
        return self.cuts >= 0

    def open_input_file(self, key: str) -> ObjectFile:
        self.asked("open_input_file", key)
        return ObjectFile(self, key)

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        def act(where: Any, *more: Any) -> Any:
            self.asked(name, where.base_dir if isinstance(where, FileSelector) else where)
            return getattr(self.inner, name)(where, *more)

        return act
