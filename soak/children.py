"""A function in a fork of this process: it begins with everything imported, and may be killed."""

from __future__ import annotations

import ctypes
import faulthandler
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_PR_SET_PDEATHSIG = 1
# Seconds of processors that a child may take, and by the clock, by which one that waits for ever is
# known: other work may go on beside it.
LIMIT, WAIT = 40.0, 300.0
_TICKS = os.sysconf("SC_CLK_TCK")
_libc = ctypes.CDLL(None)


class Ended(NamedTuple):
    """How a child ended."""

    code: int  # negative: by this signal
    told: str  # on its two streams
    seconds: float


class Hung(Exception):
    """A child did not end."""


def processor_seconds(pid: int, *, with_children: bool = False) -> float:
    """What a process has taken of processors; or also the children that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if with_children else 13])) / _TICKS


def fork(
    function: Callable[[], object], folder: Path, told: Path, kill_after: float | None = None
) -> Ended:
    """Call a function in a fork, in a folder; what it prints goes to the file `told`.

    The fork and all that it starts are killed when it ends, or after some seconds.
    """
    told.touch()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        _live(function, folder, told)
    until = began + (WAIT if kill_after is None else kill_after)
    hung = False
    while not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        late = time.monotonic() > until
        if late or processor_seconds(child, with_children=True) > LIMIT:
            hung = kill_after is None or not late
            os.kill(child, signal.SIGKILL)
        time.sleep(0.002)
    seconds = time.monotonic() - began
    with suppress(ProcessLookupError, PermissionError):  # it ended before it had a group
        os.killpg(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    text = told.read_text(errors="replace")
    if hung:
        raise Hung(f"no end after {seconds:.0f} s\n{text[-2000:]}")
    return Ended(os.waitstatus_to_exitcode(status), text, seconds)


def _live(function: Callable[[], object], folder: Path, told: Path) -> None:
    code = 70
    try:
        os.setsid()
        multiprocessing.current_process()._config["daemon"] = False  # it may start processes, too
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        out = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(out, 1)
        os.dup2(out, 2)
        sys.stdout = open(1, "w", buffering=1, errors="replace", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", buffering=1, errors="replace", closefd=False)  # noqa: SIM115
        faulthandler.enable(2)
        os.chdir(folder)
        function()
        code = 0
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
