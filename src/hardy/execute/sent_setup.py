"""What processes of `multiprocessing` begin with, on its way to them.

Python hands it to a process through a pipe whose other end it holds, too: where a process dies
before it has read more than the pipe takes, Python would wait for ever. So what is large lies in a
file for them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hardy.errors import HardyError

_IN_A_PIPE = 2**13  # bytes, beside some thousand of Python's own: any system's pipe takes so many


@dataclass(frozen=True)
class SentSetup:
    """The pickle of a set-up, or the file that it lies in."""

    data: bytes
    file: str = ""

    def open(self) -> Callable[[], Any]:
        data = Path(self.file).read_bytes() if self.file else self.data
        setup: Callable[[], Any] = pickle.loads(data)
        return setup


@contextmanager
def sent(setup: Callable[[], Any]) -> Iterator[SentSetup]:
    """The set-up as processes are given it, until all of them have ended."""
    data = pickle.dumps(setup)
    if len(data) <= _IN_A_PIPE:
        yield SentSetup(data)
        return
    with TemporaryDirectory(prefix="hardy-", ignore_cleanup_errors=True) as folder:
        file = Path(folder, "setup")
        try:
            file.write_bytes(data)
        except OSError as error:
            raise HardyError(
                f"cannot write what processes begin with to {folder} ({error.strerror}); make room "
                "there, or set TMPDIR to another folder"
            ) from error
        yield SentSetup(b"", str(file))
