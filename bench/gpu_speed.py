"""Images a second of every cell on a GPU, by its own events: draws inside, uint8 in and out."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from bench.gpu_parity import STORAGE, Cell, cells, corrupted
from bench.photos import crops
from hardy.engine.torch.ops import torch_ops

# Distinct pictures; of small ones as many again with other ids, since a GPU wants more.
DISTINCT = 1024
AT_ONCE = {"224": (224, 1024), "cifar": (32, 32 * 1024), "c_bar": (224, 1024)}  # side, images
# Seven rounds: the first two compile and fill caches. What takes a second is run but twice.
ROUNDS, LEFT_OUT = 7, 2
LONG = 1.0


def seconds(call: Callable[[], Any]) -> float:
    """Median of the device's time."""
    times = []
    for _ in range(ROUNDS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        call()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) / 1000)
        if len(times) > 1 and times[-1] > LONG:
            return times[-1]
    return statistics.median(times[LEFT_OUT:])


def batch(chosen: str) -> Tensor:
    side, count = AT_ONCE[chosen]
    few = torch.from_numpy(crops(DISTINCT, side)).cuda()
    return few.repeat(count // DISTINCT, 1, 1, 1)


def measure(chosen: str) -> dict[str, Any]:
    """Rates by corruption, five severities each, bare and with the storage step; GB at the peak."""
    images = batch(chosen)
    ops, count = torch_ops(images.device), len(images)
    ids = np.arange(count, dtype=np.uint64)

    def made(cell: Cell) -> Tensor:
        result: Tensor = corrupted(ops, images, cell, chosen, ids)
        return result

    rows: dict[str, dict[str, Any]] = {}
    for cell in cells(chosen):
        row = rows.setdefault(cell[0], {"rate": [], "stored": [], "peak": 0.0})
        torch.cuda.reset_peak_memory_stats()
        row["rate"].append(count / seconds(lambda cell=cell: made(cell)))
        row["stored"].append(count / seconds(lambda cell=cell: ops.jpeg(made(cell), STORAGE)))
        row["peak"] = max(row["peak"], torch.cuda.max_memory_allocated() / 1e9)
    return {
        "side": images.shape[1],
        "count": count,
        "copy": count / seconds(images.clone),
        "jpeg": count / seconds(lambda: ops.jpeg(images, STORAGE)),
        "cells": rows,
    }
