"""How another Python process is begun that imports what this one would."""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

from hardy.registry import names_known_here_alone

_MAIN = Lock()  # of two threads at once, the later would take for the script's what it was left as


def module_command(module: str, *words: str) -> list[str]:
    """Runs a module; `-P`: not what lies in the current folder, unless this process would import
    that too."""
    # Python warns of a module that its own package has imported already.
    known = ("-W", "ignore::RuntimeWarning:runpy")
    return [sys.executable, "-P", *known, "-m", module, *words]


def same_imports() -> dict[str, str]:
    """The environment; Python passes over what is no text in its path. The current folder comes
    last: since this process imported its libraries it may have become another."""
    path = [entry for entry in sys.path if isinstance(entry, str) and entry]
    path += [""] if "" in sys.path else []
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}


class _Sink:
    """Takes a pickle, and remembers just whether it names something of the script."""

    names_script = False

    def write(self, data: Any) -> int:
        self.names_script |= b"__main__" in bytes(data)
        return len(data)


def is_of_script(work: object) -> bool:
    """Whether another process has to run the caller's script again to know the work: it names
    something of the script, or may name what the script has added to a registry."""
    if names_known_here_alone():
        return True
    sink = _Sink()
    try:
        pickle.Pickler(sink).dump(work)
    except Exception:  # which whoever sends it tells of
        return True
    return sink.names_script


def why_it_may_die(of_script: bool) -> str:
    """What people should look at when a process has died."""
    memory = "perhaps for lack of memory"
    if not of_script:
        return memory
    guard = 'if __name__ == "__main__":'
    return f"{memory}, or since the script, which it runs again, has its calls not under `{guard}`"


@contextmanager
def script_left_alone(of_script: bool) -> Iterator[None]:
    """Processes that `multiprocessing` begins meanwhile do not run the caller's script again, which
    would begin the work anew if it has no guard; but for work that is of the script."""
    main: dict[str, Any] = vars(sys.modules["__main__"])
    if of_script:
        yield
        return
    with _MAIN:
        known = {name: value for name, value in main.items() if name in ("__file__", "__spec__")}
        main.pop("__file__", None)
        main["__spec__"] = None
        try:
            yield
        finally:
            del main["__spec__"]
            main.update(known)
