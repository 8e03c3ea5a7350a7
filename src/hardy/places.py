"""Where data lie: on a disk, or at a URL such as s3://bucket/folder, by pyarrow's file systems.

`locate` makes a path of either. One at a URL has the face of one on a disk as far as Hardy needs
it: what is opened is read by ranges (`range_files.py`), and what is written appears whole, by one
request. Whatever is asked of it that only a disk has is refused by an error.

Credentials come from where the store's own tools look for them, and are in no path: a path is told
without what a URL has before the @ and behind the ?, which `buckets` alone knows.
"""

from __future__ import annotations

import glob
import io
import os
import re
import secrets
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import IO, Any

from hardy.buckets import open_bucket, roots, send
from hardy.errors import HardyError, InputError
from hardy.patience import TRIES, Replaced, Result, patiently
from hardy.range_files import RangeFile

_URL = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+):/(/?)(.*)", re.DOTALL)  # two letters: C:/ is a disk
_SECRET = re.compile(r".*:(?!\d*$).*")  # a bucket that ends so began with a user; else it is a port
_CONTAINERS = ("abfs", "abfss")  # what stands before their @ is the name of a container
# How a name ends until its file is finished: by it, what a killed process left is known as ours.
UNFINISHED = ".hardy-unfinished"
_BUFFER = 1 << 16
_OPEN = 256  # files that are read at many places, and opened once

# The files that were opened last, each as it was then.
_kept_open: dict[UrlPath, RangeFile] = {}


def locate(place: str | os.PathLike[str]) -> Path:
    """The path of a file or folder on a disk, or of what lies at a URL."""
    if isinstance(place, UrlPath):
        return place
    text = os.fspath(place)
    found = _URL.fullmatch(text) if isinstance(text, str) else None
    # A path that somebody made of a URL has one slash left of two, and none where nothing follows.
    if isinstance(place, PurePath) and (empty := _URL.fullmatch(f"{text}//")) and not empty[3]:
        raise _no_bucket(empty[1])
    if found is None or not (found[2] or isinstance(place, PurePath)):
        return Path(text)
    scheme, rest = found[1].lower(), found[3]
    if scheme == "file":
        return _file_at(rest, slashes=2 if found[2] else 1)
    rest, _, query = rest.partition("?")
    bucket, _, key = rest.partition("/")
    user, at, bare = bucket.rpartition("@")
    if scheme in _CONTAINERS and ":" not in user:
        bare = bucket
    elif at and user != "anonymous":
        raise _credentials(scheme, bare)
    elif "@" in key and _SECRET.fullmatch(bare):  # there is a slash in it
        raise _credentials(scheme, key.rpartition("@")[2].partition("/")[0])
    if not bare:
        raise _no_bucket(scheme)
    root = f"{scheme}://{bucket}/" + (f"?{query}" if query else "")
    known = roots.get((scheme, bare))
    if known is not None and query and "?" in known and root != known:
        raise InputError(
            f"expected one way to reach {scheme}://{bare} in a process, got another one behind the "
            '"?" than with an earlier URL of it'
        )
    if known is None or (root != known and (query or user)):
        roots[scheme, bare] = root
        open_bucket.cache_clear()
    return UrlPath(f"{scheme}:/{bare}/{key}")


def _file_at(rest: str, slashes: int) -> Path:
    """The path on a disk of what stands behind file:// or file:/."""
    host = rest.partition("/")[0]
    # A path that somebody made of a URL had two slashes, or three: credentials tell.
    if "@" in host or (slashes == 2 and host not in ("", "localhost")):
        shown = f"file://{rest.rpartition('@')[2]}"
        raise InputError(
            f"expected a file of this machine, such as file:///data/images, got {shown[:99]!r}; "
            "a URL with two slashes names another machine"
        )
    from urllib.parse import urlsplit
    from urllib.request import url2pathname  # it brings half of a browser along

    return Path(url2pathname(urlsplit(f"file:{'/' * slashes}{rest}").path))


def _credentials(scheme: str, bucket: str) -> InputError:
    return InputError(
        f"expected a URL without credentials, got one for {scheme}://{bucket}; leave out what "
        "stands before the @: they are found where the store's own tools look for them"
    )


def _no_bucket(scheme: str) -> InputError:
    return InputError(f"expected a URL such as s3://bucket/folder, got {scheme}://")


def is_url(place: Path) -> bool:
    """Whether it lies at a URL, and not on a disk."""
    return isinstance(place, UrlPath)


def on_disk(place: str | os.PathLike[str]) -> Path:
    """The path of something that has to lie on a disk."""
    found = locate(place)
    if is_url(found):
        raise _no_disk(found)
    return found


def _no_disk(place: Path) -> HardyError:
    return HardyError(f"expected a place on a disk, got {place}; name a folder or file there")


def is_folder(place: str | os.PathLike[str]) -> bool:
    """Whether there is a folder; a text may be anything, also longer than names can be."""
    found = locate(place)
    return found.is_dir() if is_url(found) else os.path.isdir(found)


def is_there(place: Path) -> bool:
    """Whether anything is there; unlike Path.exists, for names of any length."""
    return place.exists() if is_url(place) else os.path.exists(place)


def read_range(path: Path, start: int, length: int) -> bytes:
    """Some bytes of a file, fewer where it ends; at a URL they are those of the file as it was when
    it was opened last."""
    if isinstance(path, UrlPath):
        file = _kept_open.get(path) or path.open(buffering=0)
        return bytes(file.read_at(start, length))
    with path.open("rb") as file:
        file.seek(start)
        return file.read(length)


def matching(pattern: Path) -> list[Path]:
    """What is at a place, also one with * in its name, sorted."""
    if not isinstance(pattern, UrlPath):
        text = str(pattern)
        return [pattern] if os.path.lexists(text) else sorted(map(Path, glob.glob(text)))
    bucket, rest = UrlPath(*pattern.parts[:2]), "/".join(pattern.parts[2:])
    return [pattern] if pattern.exists() else sorted(bucket.glob(rest))


_DiskPath: type[Path] = type(Path())
_State = tuple[int, Any]  # of a file: its size, and the tag that a store gives to what it holds


class UrlPath(_DiskPath):  # type: ignore[misc, valid-type]
    """What lies at a URL."""

    def __str__(self) -> str:
        scheme, *rest = self.parts
        return f"{scheme}//{'/'.join(rest)}"

    def __repr__(self) -> str:
        return f"UrlPath({str(self)!r})"

    def __fspath__(self) -> str:
        raise _no_disk(self)

    def __reduce__(self) -> tuple[Any, ...]:
        """Other processes, on any machine, find the store by themselves."""
        scheme, bucket, *key = self.parts
        root = roots[scheme[:-1], bucket]
        base, mark, query = root.partition("?")
        return locate, (f"{base}{'/'.join(key)}{mark}{query}",)

    def _place(self) -> tuple[Any, str]:
        """The file system, and what the path is called there."""
        scheme, bucket, *key = self.parts
        system, base = open_bucket(scheme[:-1], bucket)
        return system, "/".join([base, *key]) if base else "/".join(key)

    def _ask(self, act: Callable[[Any, str], Result], doing: str = "read") -> Result:
        return patiently(lambda: act(*self._place()), self, doing)

    def _info(self) -> Any:
        return self._ask(lambda system, key: system.get_file_info(key))

    def exists(self, **_: Any) -> bool:
        return bool(self._info().type.value)

    def is_file(self, **_: Any) -> bool:
        return bool(self._info().is_file)

    def is_dir(self, **_: Any) -> bool:
        from pyarrow.fs import FileType

        return bool(self._info().type == FileType.Directory)

    def is_symlink(self) -> bool:
        return False

    def stat(self, **_: Any) -> os.stat_result:
        info = self._info()
        if not info.type.value:
            raise FileNotFoundError(2, "there is no such object", str(self))
        mode = stat.S_IFREG if info.is_file else stat.S_IFDIR
        changed = int(info.mtime.timestamp() if info.mtime else time.time())  # untold: it is new
        return os.stat_result((mode, 0, 0, 1, 0, 0, info.size or 0, changed, changed, changed))

    def open(self, mode: str = "rb", buffering: int = -1, *_: Any, **how: Any) -> Any:
        if mode not in ("rb", "r"):
            raise HardyError(f"expected {self} to be read, or written whole, got the mode {mode!r}")
        file, _state = self._open_now()
        _kept_open.pop(self, None)  # so that it counts as the latest
        _kept_open[self] = file
        for oldest in list(_kept_open)[:-_OPEN]:
            _kept_open.pop(oldest, None)
        if buffering == 0:
            return file
        buffered = io.BufferedReader(file, _BUFFER)
        return buffered if mode == "rb" else io.TextIOWrapper(buffered, **how)

    def _open_now(self) -> tuple[RangeFile, _State]:
        """The file in the state that it has now."""
        opened = self._ask(lambda system, key: system.open_input_file(key))
        size, about = opened.size(), opened.metadata() or {}
        tag = next((about[name] for name in about if str(name).lower() == "etag"), None)

        def read(start: int, length: int) -> bytes:
            got: bytes = opened.read_at(length, start)
            if len(got) != length:
                self._check_still((size, tag))  # else the connection was cut
                raise OSError(f"{len(got):,} of {length:,} bytes came")
            return got

        def fetch(start: int, length: int) -> bytes:
            return patiently(lambda: read(start, length), self)

        # Without a tag nobody knows whether it is what was read before.
        return RangeFile(size, (str(self), size, tag or object()), fetch), (size, tag)

    def _check_still(self, state: _State) -> None:
        if self._open_now()[1] != state:
            raise Replaced(f"{self} was replaced while it was read; run the same command again")

    def read_at_once(self, most: int) -> bytes:
        """All of it, up to so many bytes, as it was at one moment: a file that another process
        replaces meanwhile, as it does with the record of its work, is read again."""
        for left in reversed(range(TRIES)):
            file, state = self._open_now()
            try:
                content = file.read_at(0, most)
                self._check_still(state)
                return content
            except Replaced:
                if not left:
                    raise
        raise AssertionError  # the last try returned or raised

    def read_bytes(self) -> bytes:
        with self.open() as file:
            return bytes(file.read())

    def children(self, *, all_below: bool = False) -> list[tuple[str, bool]]:
        """The names in a folder, or of all that is below, and whether each is a folder."""
        from pyarrow.fs import FileSelector

        def list_names(system: Any, key: str) -> list[tuple[str, bool]]:
            found = system.get_file_info(FileSelector(key, recursive=all_below))
            before = len(key.strip("/")) + 1
            return [(one.path.strip("/")[before:], not one.is_file) for one in found]

        return self._ask(list_names)

    def iterdir(self) -> Iterator[UrlPath]:
        return iter([self / name for name, _ in self.children() if name])

    def glob(self, pattern: str, **how: Any) -> Iterator[UrlPath]:
        first, _, rest = pattern.partition("/")
        if set(first) & set("*?["):
            inside = self.iterdir() if self.is_dir() else iter(())
            found = [path for path in inside if fnmatchcase(path.name, first)]
        else:
            found = [self / first] if rest or (self / first).exists() else []
        for path in found:
            yield from path.glob(rest) if rest else [path]

    def mkdir(self, *_: Any, **__: Any) -> None:
        """Nothing: a folder is there once something is in it."""

    def unlink(self, missing_ok: bool = False) -> None:
        try:
            self._ask(lambda system, key: system.delete_file(key), "deleted")
        except FileNotFoundError:
            if not missing_ok:
                raise

    @property
    def parents(self) -> tuple[UrlPath, ...]:
        """The folders around it; the first one of all is the bucket."""
        return tuple(above for above in super().parents if len(above.parts) > 1)

    def resolve(self, strict: bool = False) -> UrlPath:
        return self

    def absolute(self) -> UrlPath:
        return self

    @contextmanager
    def written_whole(self) -> Iterator[IO[bytes]]:
        """A file to write to; all of it is sent at the end, and there at once, or not at all."""
        from tempfile import TemporaryFile

        with TemporaryFile() as file:
            yield file
            own = f".{secrets.token_hex(8)}{UNFINISHED}"  # others may write the same file now
            self._ask(lambda system, key: send(file, system, key, key + own), "written")
