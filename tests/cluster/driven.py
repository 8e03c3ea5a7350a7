"""A run in a process of its own, to be killed: it is told an address, images, and a store."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hardy.evaluation import evaluate
from hardy.progress import untracked
from hardy.run import subject as subjects
from tests.cluster.slow_model import Slow

CELLS: dict[str, Any] = {"suite": "cifar10_c", "only": ["contrast", "brightness"]}
BLOCK = 4


def drive(address: str, images: str, store: str) -> None:
    subjects.SMALL = BLOCK
    evaluate(
        Slow(0.05), images=Path(images), store=Path(store), on=address, track=untracked, **CELLS
    )


if __name__ == "__main__":
    drive(*sys.argv[1:])
