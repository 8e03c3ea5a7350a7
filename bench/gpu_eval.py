"""Evaluating a ResNet-50 on ImageNet-C, against its forward passes alone, in one process.

The images are one uint8 array (N, 224, 224, 3) in host memory: 1,024 distinct crops of photographs,
repeated, each row with an id of its own. The weights are random. The passes alone see the same
batches, already on the GPU and normalised; nothing is made, moved, reduced or stored there.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import torch

from bench.photos import crops
from hardy.evaluation import evaluate
from hardy.models.adapters.torch_model import prepared
from hardy.models.model import IMAGENET_MEAN, IMAGENET_STD, Preprocessing
from hardy.run import selection as opening
from hardy.variants.generated import Generated

DISTINCT = 1024
CELLS = 15 * 5 + 1
BATCH = 256
CHUNK = 1024
FORWARD = 4096  # images
IMAGENET = Preprocessing(IMAGENET_MEAN, IMAGENET_STD)


def resnet50() -> Any:
    from torchvision.models import resnet50

    torch.manual_seed(0)
    module = resnet50().cuda().to(memory_format=torch.channels_last).eval()
    return torch.compile(module)


def stored(on: bool) -> AbstractContextManager[Any]:
    """Whether the suite's storage step is applied, which is no option of an evaluation."""
    if on:
        return nullcontext()
    return patch.object(opening, "Generated", partial(Generated, stored=False))


class Race:
    """One compiled model, evaluated and merely run."""

    def __init__(self) -> None:
        self.module = resnet50()
        self.few = crops(DISTINCT)
        start = time.perf_counter()
        self.forward(CHUNK)
        self.evaluate(CHUNK, storage=True)
        self.warm_up = time.perf_counter() - start

    def evaluate(self, count: int, *, storage: bool) -> float:
        """Seconds of wall time, from the array to the closed store."""
        images = np.ascontiguousarray(np.resize(self.few, (count, *self.few.shape[1:])))
        with tempfile.TemporaryDirectory() as store, stored(storage):
            start = time.perf_counter()
            evaluate(
                self.module,
                suite="imagenet_c",
                images=images,
                labels=np.arange(count) % 1000,
                store=store,
                precision="bfloat16",
                batch=BATCH,
                warn=lambda _: None,
            )
            return time.perf_counter() - start

    def forward(self, count: int) -> float:
        """Seconds for the passes over `count` images, once for every cell."""
        images = torch.from_numpy(self.few).cuda()
        with torch.inference_mode(), torch.autocast("cuda", torch.bfloat16):
            batches = [prepared(part, IMAGENET) for part in images.split(BATCH)]
            torch.cuda.synchronize()
            start = time.perf_counter()
            for number in range(count * CELLS // BATCH):
                self.module(batches[number % len(batches)])
            torch.cuda.synchronize()
            return time.perf_counter() - start


def measure(counts: Sequence[int], steps: Sequence[str]) -> Iterator[dict[str, Any]]:
    """A row for each number of images, with the storage step "on", "off" or both; forward before
    and after, so that a drift would show. The passes alone of many images are taken on fewer."""
    race = Race()
    for count in counts:
        few = min(count, FORWARD)
        before = race.forward(few) * count / few
        torch.cuda.reset_peak_memory_stats()
        row: dict[str, Any] = {"images": count}
        for step in ("on", "off"):
            row[step] = race.evaluate(count, storage=step == "on") if step in steps else None
        row["peak"] = torch.cuda.max_memory_allocated() / 1e9
        after = race.forward(few) * count / few
        yield row | {"forward": [before, after], "warm_up": race.warm_up}
