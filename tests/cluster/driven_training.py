"""A training in a process of its own, to be killed: it is told an address, images, and a folder.
It saves after each epoch, and writes down who trains."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hardy.progress import untracked
from hardy.train import training

EPOCHS = 6
HOW: dict[str, Any] = {
    "method": "standard",
    "net": "wrn_16_4",
    "epochs": EPOCHS,
    "batch": 24,
    "lr": 0.05,
    "device": "cpu",
    "track": untracked,
}
NOTES = "HARDY_TEST_NOTES"
_begin_share = training._begin_share


def begin_saving(given: Any) -> Callable[[int], Any]:
    from hardy.train import loop

    loop.SAVE_SECONDS = 0.0
    if NOTES in os.environ:
        (Path(os.environ[NOTES]) / str(os.getpid())).touch()
    return _begin_share(given)


def drive(address: str, images: str, out: str) -> None:
    training._begin_share = begin_saving
    training.train(**HOW, data=images, out=out, on=address, processes=2)


if __name__ == "__main__":
    from tests.cluster import driven_training  # by its own name, which workers know it by

    driven_training.drive(*sys.argv[1:])
