"""What each session says of a run: one file for each, so that many processes may write at once.

A session's file tells under what circumstances it ran, what it found out about the run as a whole,
and which parts it has committed. A part that no session lists does not exist: so a part counts from
the moment its session's file is replaced, on file systems that cannot rename as on others.
"""

import json
import secrets
import time
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hardy.documents import check_record, read_json, seal, why_unread
from hardy.errors import InputError
from hardy.files import STALE_SECONDS, remove_unfinished, whole_file
from hardy.schema import TABLE, Field, or_null
from hardy.store.parts import FOLDER, LISTED, names_in, numbered_parts

SESSIONS = "sessions"
_SUFFIX = ".json"
_TODO = "restore the file, or delete it, and the same `hardy eval` makes what it listed again"


def _are_parts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(v, str) and LISTED(v) for v in value)


_SCHEMA = {
    "session": or_null(TABLE),
    "run": TABLE,
    "parts": Field("a list of names of parts", _are_parts),
}


@dataclass
class SessionRecord:
    """What one session says; `session` is None where nobody asked for its circumstances."""

    session: dict[str, Any] | None = None  # made by `provenance.session`
    run: dict[str, Any] = field(default_factory=dict)  # fields of the run's details
    parts: list[str] = field(default_factory=list)


def new_session_path(folder: Path) -> Path:
    """A name that no other has, and that sorts by time."""
    return (
        folder / SESSIONS / f"{datetime.now(UTC):%Y%m%dT%H%M%S%f}-{secrets.token_hex(4)}{_SUFFIX}"
    )


def write_session(path: Path, record: SessionRecord) -> None:
    path.parent.mkdir(exist_ok=True)
    with whole_file(path) as file:
        file.write(json.dumps(seal(asdict(record)), indent=1).encode())


def read_sessions(folder: Path) -> list[SessionRecord]:
    """What the sessions of a run say, the earliest first."""
    paths = sorted((folder / SESSIONS).glob(f"[0-9]*{_SUFFIX}"))
    return [_read(path) for path in paths]


def _read(path: Path) -> SessionRecord:
    try:
        content = read_json(path, "JSON", _TODO)
    except OSError as error:  # it has gone since it was listed
        raise InputError(f"{path}: expected JSON, but {why_unread(error)}; {_TODO}") from error
    found = check_record(content, _SCHEMA, path, _TODO)
    return SessionRecord(**{name: found[name] for name in _SCHEMA})


def parts_that_count(folder: Path) -> list[Path]:
    """The parts of a run, the latest last: older ones, and those that sessions list, as far as they
    are there."""
    listed = [name for record in read_sessions(folder) for name in record.parts]
    there = dict.fromkeys(names_in(folder / FOLDER))
    counting = [*numbered_parts(there), *(name for name in dict.fromkeys(listed) if name in there)]
    return [folder / FOLDER / name for name in counting]


def sweep(folder: Path) -> None:
    """Remove what killed processes left: files half-written, and parts that no session lists.

    Only what is old: a part that another process has written may be listed any moment.
    """
    counting = {path.name for path in parts_that_count(folder)}
    before = time.time() - STALE_SECONDS
    for name in names_in(folder / FOLDER):
        path = folder / FOLDER / name
        with suppress(FileNotFoundError):
            if LISTED(name) and name not in counting and path.stat().st_mtime < before:
                path.unlink()
    for place in (folder, folder / FOLDER, folder / SESSIONS):
        remove_unfinished(place, older_than=STALE_SECONDS)
