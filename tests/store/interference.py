"""`python -m tests.store.interference MARK STORE IMAGES WRITE` fills a store, up to a write.

Half-way through that one MARK appears, and nothing goes on until it is gone. Each addition becomes
a file, and of every two one is made.
"""

from __future__ import annotations

import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

from hardy import files
from hardy.store import parts, sessions
from tests.store.stores import extend


class HaltingFile:
    """A file that waits half-way through the write of a certain number, of all that there are."""

    writes = count(1)

    def __init__(self, file: Any, mark: Path, number: int) -> None:
        self._file, self._mark, self._number = file, mark, number

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> HaltingFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: Any) -> int:
        if next(self.writes) != self._number:
            return int(self._file.write(data))
        half = memoryview(data).cast("B")
        written = self._file.write(half[: len(half) // 2])
        self._file.flush()
        self._mark.touch()
        while self._mark.exists():
            time.sleep(0.01)
        return int(written + self._file.write(half[written:]))


def halt_at(number: int, mark: Path) -> None:
    """Have whole files wait in that write; what is added is written at once."""
    files.__dict__["open"] = lambda *a: HaltingFile(open(*a), mark, number)  # noqa: SIM115
    files.CHECKPOINT_SECONDS = 0.0


if __name__ == "__main__":
    halt_at(int(sys.argv[4]), Path(sys.argv[1]))
    parts.MERGED = 2
    sessions.STALE_SECONDS = -1.0
    extend(Path(sys.argv[2]), range(int(sys.argv[3])))
