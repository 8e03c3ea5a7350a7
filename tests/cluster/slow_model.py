"""A model that takes its time, and writes down who asks it where."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from hardy.models import load_model

NOTES = "HARDY_TEST_NOTES"  # names a folder; variables that begin so reach the workers


class Slow:
    name = identity = "slow"
    preprocessing = None
    device, precision = "cpu", "float32"

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def logits(self, images: Any, preprocessing: Any = None) -> Any:
        import ray

        if NOTES in os.environ and ray.is_initialized():
            node = ray.get_runtime_context().get_node_id()
            (Path(os.environ[NOTES]) / f"{os.getpid()}-{node}").touch()
        time.sleep(self.seconds)
        return load_model("fake:10").logits(images)
