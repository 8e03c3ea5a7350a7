"""A build at a URL: it is made in a folder on this machine, and sent when it is whole.

What decides whether a folder is a build is its manifest, which is sent last: what is there before
it counts for nothing. A list beside the folder says what was sent already, for whoever is killed on
the way. In the end the folder goes; who builds on fetches it again.
"""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from hardy.documents import parse_json
from hardy.errors import InputError
from hardy.execute import Threads
from hardy.files import UNFINISHED, whole_file
from hardy.images.source import unusable
from hardy.locks import hold, let_go
from hardy.places import UrlPath
from hardy.progress import Track
from hardy.variants.disk import manifest
from hardy.variants.disk.build_header import HEADER
from hardy.variants.disk.manifest import LINES, WORKSHOP

_AT_ONCE = 16  # files on their way: most are small, and wait for the store more than for the line
_LAST = (LINES, HEADER)


class _Sent(NamedTuple):
    """A file as it was when it was sent."""

    name: str
    size: int
    changed: int  # in nanoseconds


@contextmanager
def sent_in_the_end(place: UrlPath, track: Track) -> Iterator[Path]:
    """A folder on this machine that holds what lies at the URL; what is made of it is sent there.

    It is held all the time: a second process would take what the first one removes in the end for
    something that was built no more, and remove it at the URL.
    """
    from platformdirs import user_cache_path

    builds = user_cache_path("hardy") / "builds"
    folder = builds / sha256(str(place).encode()).hexdigest()[:16]
    builds.mkdir(parents=True, exist_ok=True)
    busy = f"another process on this machine is building {place}; wait for it, or name another URL"
    lock = hold(folder.with_name(f"{folder.name}.lock"), busy)
    try:
        _fetch_build(place, folder, track)
        yield folder
        _send_build(folder, place, track)
    finally:
        let_go(lock)


def _fetch_build(place: UrlPath, folder: Path, track: Track) -> None:
    """Fetch what lies at the URL, unless a build that was stopped is here: to go on with it, or to
    find that it is another."""
    arriving = _unfinished(folder)
    shutil.rmtree(arriving, ignore_errors=True)
    if folder.exists():
        return
    names = sorted(_names(place))
    if names and HEADER not in names:
        raise InputError(
            f"expected a new or empty folder, or one that Hardy has built, got {place}; name "
            "another one"
        )
    if bad := next((name for name in names if unusable(name)), None):
        raise InputError(f"expected names of files in {place}, got {bad!r}; remove it there")
    if not names:
        return

    def fetch() -> Callable[[str], None]:
        return lambda name: _fetch(place / name, arriving / name)

    with closing(Threads(_AT_ONCE).run(fetch, names)) as fetched:
        for _ in track(fetched, len(names), "files fetched"):
            pass
    _journal(folder).write_text("".join(map(_line, _files(arriving))), encoding="utf-8")
    _wait_for_disk(folder)  # else a power loss may leave a folder without what is in it
    arriving.rename(folder)


def _names(place: UrlPath) -> list[str]:
    """All files at the URL."""
    every = place.children(all_below=True) if place.is_dir() else []
    return [name for name, is_folder in every if not is_folder]


def _fetch(source: UrlPath, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as found, whole_file(target, wait=False) as file:
        shutil.copyfileobj(found, file, 1 << 20)


def _send_build(folder: Path, place: UrlPath, track: Track) -> None:
    """Send what is not there yet, the manifest last; then remove the folder."""
    journal = _journal(folder)
    sent = dict(_read_journal(journal))
    there = set(_names(place))
    files = {one.name: one for one in _files(folder)}
    names = [name for name in files if sent.get(name) != files[name] or name not in there]
    with journal.open("a", encoding="utf-8") as lines:

        def send() -> Callable[[str], str]:
            return lambda name: _send(folder, place, name)

        for some in ([n for n in names if n not in _LAST], [n for n in _LAST if n in names]):
            with closing(Threads(_AT_ONCE if some[-1:] != [HEADER] else 1).run(send, some)) as done:
                for name in track(done, len(some), "files sent"):
                    lines.write(_line(files[name]))
                    lines.flush()
    for name in sent.keys() & there - files.keys():  # arrays that have another name by now
        (place / name).unlink(missing_ok=True)
    leaving = folder.rename(_unfinished(folder))  # else a kill may leave a part of a build
    _wait_for_disk(folder)
    journal.unlink()
    shutil.rmtree(leaving)


def _send(folder: Path, place: UrlPath, name: str) -> str:
    with (folder / name).open("rb") as source, (place / name).written_whole() as file:
        shutil.copyfileobj(source, file, 1 << 20)
    return name


def _files(folder: Path) -> Iterator[_Sent]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(f"{WORKSHOP}/"):
            about = path.stat()
            yield _Sent(name, about.st_size, about.st_mtime_ns)


def _unfinished(folder: Path) -> Path:
    """Where it is while it comes or goes, and is no build."""
    return folder.with_name(f"{folder.name}{UNFINISHED}")


def _wait_for_disk(folder: Path) -> None:
    """Until all that was written beside its journal is on the disk."""
    with _journal(folder).open("rb+") as file:
        manifest.sync_disk(file.fileno())


def _journal(folder: Path) -> Path:
    """The list of what was sent; beside the folder, which holds what is to be sent alone."""
    return folder.with_name(f"{folder.name}.sent")


def _line(one: _Sent) -> str:
    return json.dumps(one) + "\n"


def _read_journal(journal: Path) -> Iterator[tuple[str, _Sent]]:
    """What was sent; a line that a kill cut short, or a power loss damaged, says nothing: what it
    was about is sent again."""
    if not journal.exists():
        return
    for line in journal.read_bytes().splitlines():
        with suppress(ValueError, TypeError):
            one = _Sent(*parse_json(line.decode()))
            yield one.name, one
