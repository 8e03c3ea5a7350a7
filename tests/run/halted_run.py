"""`python -m tests.run.halted_run MARK STORE IMAGES WRITE` evaluates two models, up to a write.

Half-way through that one MARK appears, and nothing goes on until it is gone.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hardy.evaluation import evaluate
from hardy.scores.scoring import Run
from tests.store.interference import halt_at

MODELS = ["fake:10", "fake:10:1"]
ONLY = ["contrast", "brightness", "fog", "gaussian_noise"]


def evaluate_all(store: Path, images: Path) -> list[Run]:
    found = evaluate(MODELS, suite="cifar10_c", images=images, store=store, only=ONLY)
    assert isinstance(found, list)
    return found


if __name__ == "__main__":
    halt_at(int(sys.argv[4]), Path(sys.argv[1]))
    evaluate_all(Path(sys.argv[2]), Path(sys.argv[3]))
