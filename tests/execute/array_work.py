"""Work for processes that send arrays."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

from hardy.errors import InputError
from hardy.execute import ArrayProcesses
from hardy.execute.executor import Results, Setup


def run(executor: ArrayProcesses, setup: Setup[Any, Any], items: Iterable[Any]) -> Results[Any]:
    return executor.run(executor.function_of(setup), items)


def many(times: int) -> Callable[[int], Any]:
    return partial(_rows, times)


def _rows(times: int, item: int) -> Any:
    if item < 0:
        raise InputError(f"expected no {item}")
    if item == 13:
        raise Untold(lambda: None)
    if item == 14:
        return lambda: None
    if item == 60:
        time.sleep(60)
    if item == 666:
        os.kill(os.getpid(), signal.SIGKILL)
    rows = np.full((item, 3), times * item, np.uint64)
    return {"rows": rows, "again": rows, "odd": np.arange(item, dtype=np.uint8), "id": str(item)}


class Untold(Exception):
    """Does not travel."""


def wait_until_begun(executor: ArrayProcesses) -> None:
    """However long that takes on a busy machine: a process in its imports does not hear yet."""
    executor.begin()
    for worker in executor._begun:
        worker.ask(1, pickle.dumps((partial(many, 1), ())), 1)


def too_many() -> Any:
    raise OSError(24, "Too many open files")
