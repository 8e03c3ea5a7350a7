"""`python -m tests.run.halted_sample MARK STORE IMAGES WRITE` samples a run, up to a write.

Half-way through that one MARK appears, and nothing goes on until it is gone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hardy.evaluation import evaluate
from hardy.run import sampled_run
from hardy.run.plan import ImageTimes
from hardy.scores.scoring import Run
from tests.run.runs import FEW, one
from tests.store.interference import halt_at


def sample(store: Path, images: Path) -> Run:
    """A sample with costs that are the same each time, and so the cells per image."""
    sampled_run.time_few = lambda models, subject, on_device: ImageTimes(3e-3, 1e-3, 0.0)
    return one(evaluate("fake:10", images=images, store=store, until=1.2, **FEW))


if __name__ == "__main__":
    halt_at(int(sys.argv[4]), Path(sys.argv[1]))
    sample(Path(sys.argv[2]), Path(sys.argv[3]))
