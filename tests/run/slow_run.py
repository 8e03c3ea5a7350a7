"""`python -m tests.run.slow_run MARKS STORE IMAGES` evaluates two models on a slow disk.

Every write stops half-way for a moment, and a file in MARKS exists as long as it does.
"""

from __future__ import annotations

import sys
from pathlib import Path

from hardy import files as whole
from hardy.evaluation import evaluate
from hardy.scores.scoring import Run
from tests.store.interference import SlowFile

MODELS = ["fake:10", "fake:10:1"]
ONLY = ["contrast", "brightness", "fog", "gaussian_noise"]


def evaluate_all(store: Path, images: Path) -> list[Run]:
    found = evaluate(MODELS, suite="cifar10_c", images=images, store=store, only=ONLY)
    assert isinstance(found, list)
    return found


if __name__ == "__main__":
    mark = Path(sys.argv[1], "inside")
    whole.__dict__["open"] = lambda *a: SlowFile(open(*a), mark)  # noqa: SIM115
    whole.CHECKPOINT_SECONDS = 0.02
    evaluate_all(Path(sys.argv[2]), Path(sys.argv[3]))
