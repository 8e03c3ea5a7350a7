"""Power loss: what a disk may hold when all that nobody waited for is dropped, or comes in another
order.

A program runs with its calls recorded, up to one before which the power fails. From the record, a
folder is made that a disk could be left with: what was waited for is in it; of the rest, chance
takes nothing, or names up to some moment and any of the contents, as a journalling file system
does, or any of both. A rename is whole or not at all.
"""

from __future__ import annotations

import os
import pickle
import random
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from soak.calls import DROP, FOLDER, MAKE, MOVE, SIZE, SYNC, SYNC_ALL, WRITE, Call

_CONTENT = (WRITE, SIZE)


class Event(NamedTuple):
    """A call that was made, and the file it was about, which may have another name by then."""

    call: Call
    file: str


class Recorder:
    """Lets calls pass and keeps them, until the power fails before the call number `at`."""

    def __init__(self, folder: Path, at: int, target: Path) -> None:
        self.at, self.target, self.folder = at, target, folder
        self.files = {path.stat().st_ino: str(path.relative_to(folder)) for path in _files(folder)}
        self.events: list[Event] = []
        self.number = 0
        self.one_by_one = threading.RLock()  # else files that threads make would share a number

    def __call__(self, call: Call, do: Callable[..., Any]) -> Any:
        with self.one_by_one:
            return self._record(call, do)

    def _record(self, call: Call, do: Callable[..., Any]) -> Any:
        self.number += 1
        if self.number == self.at:
            self.fail()
        if call.kind in (SYNC, SYNC_ALL):  # the disk is imagined: no need to wait for the real one
            self.events.append(Event(call, self._file(call.handle)))
            return None
        moved = self.files.get(os.lstat(self.folder / call.path).st_ino) if call.to else None
        result = do()
        if call.kind == MAKE:
            self.files[os.fstat(result).st_ino] = f"new {self.number}"
            self.events.append(Event(call, f"new {self.number}"))
        else:
            self.events.append(Event(call, moved or self._file(call.handle)))
        return result

    def _file(self, handle: int) -> str:
        return self.files.get(os.fstat(handle).st_ino, "") if handle >= 0 else ""

    def fail(self) -> None:
        """The power fails, now."""
        with self.target.open("wb") as file:
            pickle.dump(self.events, file)
        os._exit(0)


def _files(folder: Path) -> list[Path]:
    return [path for path in sorted(folder.rglob("*")) if path.is_file()]


def lay_out(events: list[Event], before: Path, after: Path, chance: random.Random) -> None:
    """Make `after`, a folder as the power loss may leave it; it was like `before` at the start."""
    kept = _choose(events, chance)
    contents = {str(p.relative_to(before)): bytearray(p.read_bytes()) for p in _files(before)}
    names: dict[str, str | None] = {name: name for name in contents}  # None: a folder
    names |= {str(p.relative_to(before)): None for p in before.rglob("*") if p.is_dir()}
    for (call, file), keep in zip(events, kept, strict=True):
        if call.kind in _CONTENT:
            _change(contents.setdefault(file, bytearray()), call, keep, chance)
        elif keep and call.kind in (MAKE, FOLDER):
            names[call.path] = file or None
        elif keep and call.kind == MOVE:
            _move(names, call, file)
        elif keep and call.kind == DROP:
            names.pop(call.path, None)
    after.mkdir()
    for name, its in sorted(names.items()):
        place = after / name
        if not place.parent.is_dir():
            continue  # the folder that it is in was lost
        if its is None:
            place.mkdir()
        else:
            place.write_bytes(contents.get(its, b""))


def _move(names: dict[str, str | None], call: Call, file: str) -> None:
    """A file, or a folder with all that is in it."""
    if file:
        names.pop(call.path, None)
        names[call.to] = file
        return
    for name in [one for one in names if f"{one}/".startswith(f"{call.path}/")]:
        names[call.to + name[len(call.path) :]] = names.pop(name)


def _change(content: bytearray, call: Call, keep: bool, chance: random.Random) -> None:
    end = call.at + len(call.data)
    if call.kind == SIZE:
        if keep:
            del content[call.at :]
            content.extend(bytes(call.at - len(content)))
    elif keep or chance.random() < 0.5:  # the length may be there without what was written
        content.extend(bytes(max(0, end - len(content))))
        if keep:
            content[call.at : end] = call.data


def _choose(events: list[Event], chance: random.Random) -> list[bool]:
    """Which of the calls reached the disk."""
    way = chance.choice(("nothing", "journal", "any"))
    share = 0.0 if way == "nothing" else chance.choice((0.1, 0.5, 0.9))
    waits = [n for n, (call, _) in enumerate(events) if call.kind in (SYNC, SYNC_ALL)]
    journal = chance.randint(waits[-1] if waits else 0, len(events))
    kept = []
    for number, (call, file) in enumerate(events):
        if call.kind in _CONTENT or way != "journal":
            later = (events[wait] for wait in waits if wait > number)
            keep = any(_covers(wait, call, file) for wait in later) or chance.random() < share
        else:
            keep = number < journal
        kept.append(keep)
    return kept


def _covers(wait: Event, call: Call, file: str) -> bool:
    """Whether who waited for this knows that the call has reached the disk."""
    if wait.call.kind == SYNC_ALL:
        return True
    if call.kind in _CONTENT:
        return wait.file == file
    if call.kind == FOLDER and f"{wait.call.path}/".startswith(f"{call.path}/"):
        return True  # no file system keeps a file and loses the folder that was made for it
    return wait.call.path in {os.path.dirname(name) or "." for name in (call.path, call.to) if name}


def load_events(path: Path) -> list[Event]:
    events: list[Event] = pickle.loads(path.read_bytes())
    return events


def replace_folder(folder: Path, other: Path) -> None:
    shutil.rmtree(folder)
    other.rename(folder)
