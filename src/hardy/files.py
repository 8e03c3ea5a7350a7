"""Files that are there whole or not at all, and folders in which work goes on.

Files are written under a temporary name, then renamed: by `whole_file`, or by `inside.py` where
they are thousands. A folder's record says what work lies there: it is written once, compared when
the work is resumed (`check_same`), and held by one process at a time.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Self

from hardy.documents import seal
from hardy.errors import HardyError, InputError
from hardy.locks import hold
from hardy.places import UNFINISHED as UNFINISHED
from hardy.places import UrlPath, is_url
from hardy.schema import brief

RECORD = "run.json"  # the record of a run's folder
CHECKPOINT_SECONDS = 5.0
STALE_SECONDS = 86_400.0  # a day: by then nobody is still writing a file


@contextmanager
def whole_file(path: Path, *, wait: bool = True) -> Iterator[IO[bytes]]:
    """Open a file under a temporary name; it is renamed to `path` once all of it is on the disk.

    Without `wait` that holds unless the machine itself goes down: for files that are many and can
    be made again, since the disk takes some milliseconds for each. At a URL it is sent at the end.
    """
    if isinstance(path, UrlPath):
        with path.written_whole() as file:
            yield file
        return
    temporary = path.with_name(f".{secrets.token_hex(8)}{UNFINISHED}")
    try:
        with open(temporary, "xb") as file:  # a new one: never through a link to somewhere else
            yield file
            if wait:
                file.flush()
                os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    if wait:
        _sync_folder(path.parent)


def remove_for_good(path: Path) -> None:
    """Remove a file, if it is there, so that no power loss brings it back."""
    path.unlink(missing_ok=True)
    if not is_url(path):
        _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """The names in it are on the disk too; Windows, which opens no folder, sees to that itself."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


Record = Mapping[str, Any]


def begin(
    path: Path,
    wanted: Record,
    read: Callable[[Path], Record],
    kind: str,
    *,
    of_the_session: Sequence[str],
    said: Mapping[str, str] | None = None,
) -> None:
    """Begin work of a kind, such as "a training run", or make sure that what was begun is the same.

    The record lies in the work's folder, which is to be new; for the rest see `check_same`.
    """
    folder = path.parent
    if path.exists():
        check_same(folder, read(path), wanted, kind, of_the_session=of_the_session, said=said)
        return
    if folder.exists() and (not folder.is_dir() or _filled(folder)):
        raise InputError(f"{folder} holds other things than {kind}; name a folder that is new")
    write_record(path, wanted)


def check_same(
    folder: Path,
    before: Record,
    wanted: Record,
    kind: str,
    *,
    of_the_session: Sequence[str] = (),
    said: Mapping[str, str] | None = None,
    place: str = "folder",
) -> None:
    """Refuse to go on with other work than the folder's record tells of.

    What is `of_the_session` may differ; `said` tells in words what else differs.
    """
    wanted = json.loads(json.dumps(wanted))  # tuples are lists, as in the file
    then, now = (lasting(record, of_the_session) for record in (before, wanted))
    changed = [
        (said or {}).get(name)
        or f"{name} is {brief(now.get(name))} and was {brief(then.get(name))}"
        for name in dict.fromkeys((*now, *then))
        if then.get(name) != now.get(name)
    ]
    if changed:
        raise other_work(folder, kind, "; ".join(changed), place)


def other_work(folder: Path, kind: str, difference: str, place: str = "folder") -> InputError:
    """The error that a folder holds work of the kind, but not what is asked for."""
    return InputError(
        f"{folder} holds another {kind.split()[-1]}: {difference}; ask for the same to resume it, "
        f"or name another {place}"
    )


def lasting(record: Record, of_the_session: Sequence[str]) -> dict[str, Any]:
    """What all sessions must say alike, by names such as "recipe.lr"."""
    every = _flat(record).items()
    return {name: value for name, value in every if not _within(name, of_the_session)}


class CheckpointWriter(ABC):
    """What waits goes to the disk now and then, and at the end; a file is held meanwhile, unless
    several processes may write."""

    def __init__(self, path: Path | None, busy: str = "") -> None:
        self._held = None if path is None else hold(path, busy)
        self._due = time.monotonic() + CHECKPOINT_SECONDS

    @abstractmethod
    def write_waiting(self) -> None:
        """Write what was added since the last time; a checkpoint calls it."""

    def checkpoint(self) -> None:
        """Bring all that was added to the disk."""
        self.write_waiting()
        self._due = time.monotonic() + CHECKPOINT_SECONDS

    def checkpoint_if_due(self) -> None:
        """Bring it to the disk if the last checkpoint was some seconds ago."""
        if time.monotonic() >= self._due:
            self.checkpoint()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        try:
            self.checkpoint()
        finally:
            self.release()

    def release(self) -> None:
        if self._held is not None:
            self._held.release()


def remove_unfinished(folder: Path, *, older_than: float = 0.0) -> None:
    """Delete what killed processes left unfinished; while the folder is held, or only what is
    older than so many seconds, which no process still writes. At a URL nothing is left."""
    if is_url(folder):
        return
    now = time.time()
    for path in folder.glob(f".*{UNFINISHED}"):
        with suppress(OSError):  # it has gone by now, or is not ours to delete
            if not older_than or now - path.stat().st_mtime > older_than:
                path.unlink()


def write_record(path: Path, content: Record) -> None:
    """Write a record as JSON that people can read too, with its sum."""
    write_file(path, (json.dumps(seal(content), indent=1, allow_nan=False) + "\n").encode())


def write_file(
    path: Path,
    content: bytes,
    todo: str = "make room, or name another folder, and give the same command again",
    *,
    wait: bool = True,
) -> None:
    """Write a whole file in a folder that may have to be made.

    A full disk or a kill leaves what was there before; what kills left long ago is removed. For
    `wait` see `whole_file`.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if wait:  # those that do not are many, and their folders are swept once
            remove_unfinished(path.parent, older_than=STALE_SECONDS)
        with whole_file(path, wait=wait) as file:
            file.write(content)
    except OSError as error:
        why = error.strerror or error
        raise HardyError(f"{path} could not be written ({why}); {todo}") from error


def check_target(target: Path) -> None:
    """Refuse, before any work, an output that cannot be written or would damage a run."""
    if is_url(target):
        if target.is_dir():
            raise InputError(f"cannot write {target}: it is a folder; name a file in it")
        return check_outside_runs(target)
    if os.path.isdir(target):  # unlike Path.is_dir, it takes names of any length
        raise InputError(f"cannot write {target}: it is a folder; name a file in it")
    if os.path.exists(target) and not os.path.isfile(target):
        raise InputError(f"cannot write {target}: expected a file or a new name, got a device")
    if not os.path.isdir(target.parent):
        raise InputError(f"cannot write {target}: the folder {target.parent} is not there; make it")
    check_outside_runs(target)


def check_outside_runs(target: Path) -> None:
    """Refuse an output anywhere within the folder of a run."""
    around = target if is_url(target) else Path(os.path.realpath(target))
    for folder in around.parents:
        if (folder / RECORD).exists():
            raise InputError(
                f"cannot write {target}: {folder} holds the predictions of a run; name another "
                "folder"
            )


def write_output(target: Path, content: bytes) -> None:
    """Write what a command was asked for, to the file that `-o` names."""
    check_target(target)
    write_file(target, content, "name another file")


def check_ours(target: Path, mark: str, what: str) -> None:
    """Refuse to write over a file that does not begin with `mark`, as all such files of ours do."""
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


def _filled(folder: Path) -> bool:
    """Whether it has visible files: a process killed at its start leaves only hidden ones."""
    return any(not path.name.startswith(".") for path in folder.iterdir())


def _within(name: str, names: Sequence[str]) -> bool:
    return any(name == other or name.startswith(f"{other}.") for other in names)


def _flat(found: Record, prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in found.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[f"{prefix}{name}"] = value
    return flat


def byte_size(size: int) -> str:
    """2,400,000 as 2.4 MB."""
    value = float(size)
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:,.3g} {unit}"
        value /= 1000
    return f"{value:,.3g} TB"


def check_apart(source: Path, target: Path) -> None:
    """Refuse an output that would become part of the source, or the source of the output."""
    one, other = source.resolve(), target.resolve()
    if one.is_relative_to(other) or other.is_relative_to(one):
        how = "are the same" if one == other else "lie one within the other"
        raise InputError(f"{source} and {target} {how}; name an output folder elsewhere")
