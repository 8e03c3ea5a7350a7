"""`python -m tests.store.interference MARKS STORE IMAGES` fills a store on a slow disk.

Every write stops half-way for a moment, and a file in MARKS exists as long as it does. Each
addition becomes a file, and of every two one is made.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

from hardy import files as whole
from hardy.store import parts
from tests.store.stores import extend

PAUSE = 0.002


class SlowFile:
    def __init__(self, file: Any, mark: Path) -> None:
        self._file, self._mark = file, mark

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> SlowFile:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: Any) -> int:
        half = memoryview(data).cast("B")
        written = self._file.write(half[: len(half) // 2])
        self._file.flush()
        self._mark.touch()
        time.sleep(PAUSE)
        self._mark.unlink()
        return int(written + self._file.write(half[written:]))


if __name__ == "__main__":
    mark = Path(sys.argv[1], "inside")
    whole.__dict__["open"] = lambda *a: SlowFile(open(*a), mark)  # noqa: SIM115
    whole.CHECKPOINT_SECONDS = 0.0
    parts.MERGED = 2
    extend(Path(sys.argv[2]), range(int(sys.argv[3])))
