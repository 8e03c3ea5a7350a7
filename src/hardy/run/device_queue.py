"""Work on a device that the host does not wait for. Imported where torch is in use."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from hardy.engine.torch.constants import moved
from hardy.run.reduce import Columns
from hardy.run.reduce_torch import reduce_tensor


def ask(
    logits: torch.Tensor, labels: npt.NDArray[Any], frames: int | None
) -> tuple[dict[str, torch.Tensor], Any]:
    """The columns on their way to the host, and the event that says when they are there."""
    there = moved(labels.astype(np.int64), logits.device)
    with torch.inference_mode():
        columns = reduce_tensor(logits, there, frames=frames)
    if logits.device.type != "cuda":
        return columns, None
    arriving = {
        name: torch.empty(values.shape, dtype=values.dtype, pin_memory=True).copy_(
            values, non_blocking=True
        )
        for name, values in columns.items()
    }
    ready = torch.cuda.Event()
    ready.record(torch.cuda.current_stream(logits.device))
    return arriving, ready


def answer(columns: dict[str, torch.Tensor], ready: Any) -> Columns:
    if ready is not None:
        ready.synchronize()
    return {name: values.numpy() for name, values in columns.items()}
