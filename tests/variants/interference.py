"""Comes between a build and its disk: for full disks, and being killed inside a write.

`python -m tests.variants.interference MARKS IMAGES OUT FORMAT WORKERS WRITE` builds up to a write:
half-way through it a process leaves a file in MARKS, and goes on when that is gone.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

from hardy import files, inside
from hardy.execute.executor import Results, Setup, executor
from hardy.variants.disk import array_layout

# Given what writes, and what is to be written: how much was.
Hook = Callable[[Callable[[Any], int], Any], int]


class _Os:
    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def __getattr__(self, name: str) -> Any:
        return getattr(os, name)

    def write(self, handle: int, data: Any) -> int:
        return self._hook(lambda part: os.write(handle, part), data)


class _File:
    def __init__(self, file: Any, hook: Hook) -> None:
        self._file, self._hook = file, hook

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __enter__(self) -> _File:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def write(self, data: Any) -> int:
        return self._hook(self._file.write, data)


def intercept(hook: Hook, put: Callable[[object, str, object], None] = setattr) -> None:
    """Every write of files and of arrays' rows goes through `hook`."""
    put(inside, "os", _Os(hook))
    array_layout.__dict__.setdefault("open", open)
    put(array_layout, "open", lambda *a, **k: _File(open(*a, **k), hook))  # noqa: SIM115


_writes = count(1)


def _halting(write: Callable[[Any], int], data: Any) -> int:
    if next(_writes) != int(sys.argv[6]):
        return write(data)
    half = memoryview(data).cast("B")
    mark = Path(sys.argv[1], str(os.getpid()))
    written = write(half[: len(half) // 2])
    mark.touch()
    while mark.exists():
        time.sleep(0.01)
    return written + write(half[written:])


# Not in the main part: workers are started anew, and run this.
if __name__ in ("__main__", "__mp_main__"):
    intercept(_halting)
    files.CHECKPOINT_SECONDS = 0.1


def _begin(setup: Setup[Any, Any]) -> Callable[[Any], Any]:
    return setup()


class _Interfered:
    """Work that is of this script, so that workers run it."""

    def __init__(self, workers: int) -> None:
        self._executor = executor(workers)

    def run(self, setup: Setup[Any, Any], items: Iterable[Any]) -> Results[Any]:
        return self._executor.run(partial(_begin, setup), items)


if __name__ == "__main__":
    from tests.suites import helpers

    setattr(helpers, "executor", _Interfered)  # noqa: B010
    suite = "cifar10_c" if sys.argv[2].endswith(".npz") else "imagenet_c"
    helpers.built(
        suite, Path(sys.argv[2]), Path(sys.argv[3]), format=sys.argv[4], workers=int(sys.argv[5])
    )
