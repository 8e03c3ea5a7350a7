"""Ctrl-C at a bad moment: put off, or hidden from those whom it does not concern; and SIGTERM, by
which a machine is taken away, noted."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_later() -> Iterator[None]:
    """Put Ctrl-C off until the end: for what must not be left half done, such as a thread that
    starts, or a file that is sent."""
    ours = threading.current_thread() is threading.main_thread()  # no other one gets interrupts
    if not ours or signal.getsignal(signal.SIGINT) is None:  # or another program sees to them
        yield
        return
    came: list[tuple[int, FrameType | None]] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if came and callable(before):
        before(*came[-1])


@contextmanager
def without_interrupts() -> Iterator[None]:
    """Hide Ctrl-C, which reaches the whole group, from processes that are started meanwhile.

    The parent gets it at the end, and decides what it means. Windows hides nothing.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def noting_termination() -> Iterator[Callable[[], bool]]:
    """Note SIGTERM instead of dying of it, for work that then saves what it has: the function says
    whether it came. Other threads than the main one get no signals, and leave them alone."""
    came: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGTERM, lambda number, frame: came.append(number))
    try:
        yield lambda: bool(came)
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)
