"""A module that torch compiles on its own thread, while the run begins."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from threading import Thread

from hardy import progress

_WORTH_SAYING = 1.0  # seconds


class Compiling:
    """The first call of a compiled module, which compiles it; if it fails, the next says why."""

    def __init__(self, name: str, first_call: Callable[[], object]) -> None:
        self._name = name
        self._seconds = 0.0
        progress.mention(f"compiling {name} by torch.compile, which can take a minute")

        def work() -> None:
            begun = time.monotonic()
            with suppress(Exception):
                first_call()
            self._seconds = time.monotonic() - begun

        # A daemon: who stops the run does not wait for a compiler.
        self._thread = Thread(target=work, name="hardy_compile", daemon=True)
        self._thread.start()

    def wait(self) -> None:
        """Wait for what is left of it, and say what it cost."""
        begun = time.monotonic()
        self._thread.join()
        waited = time.monotonic() - begun
        if self._seconds > _WORTH_SAYING:
            took = f"{self._seconds:.0f} s, of which the run waited for {waited:.0f} s"
            progress.mention(f"compiled {self._name}: {took}")
