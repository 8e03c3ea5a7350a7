"""`reduce` on the device that has the logits; the host does not wait for the columns it sends.

Imported where torch is in use.
"""

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from hardy.engine.torch.constants import moved
from hardy.metrics.frame_distance import DIFFICULTIES
from hardy.run.reduce import TOP
from hardy.store.parts import Columns


def send_columns(
    logits: Tensor, labels: npt.NDArray[Any], frames: int | None
) -> tuple[dict[str, Tensor], Any]:
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


def receive_columns(columns: dict[str, Tensor], ready: Any) -> Columns:
    """The columns as arrays, once they are there."""
    if ready is not None:
        ready.synchronize()
    return {name: values.numpy() for name, values in columns.items()}


def reduce_tensor(
    logits: Tensor, labels: Tensor, *, frames: int | None = None
) -> dict[str, Tensor]:
    """As `reduce`: logits (N, K), labels (N,) to columns; `finite` tells which rows are usable."""
    finite = torch.isfinite(logits).all(dim=1)
    exact = torch.where(finite[:, None], logits, 0.0).double()
    # Stable, so that equals rank by class number; reduced precision makes many of them.
    ordered, order = torch.sort(exact, dim=1, descending=True, stable=True)
    likely = torch.exp(ordered - ordered[:, :1])
    total = likely.sum(dim=1, keepdim=True)
    place = torch.where(order == labels[:, None], 1, 0).argmax(dim=1)
    own = exact.gather(1, labels.clamp(min=0)[:, None])[:, 0]
    log_prob = own - ordered[:, 0] - torch.log(total[:, 0])
    there = labels >= 0
    least = torch.finfo(torch.float32).min
    kept = min(TOP, logits.shape[1])
    missing = (0, TOP - kept)
    columns = {
        "finite": finite,
        "log_prob": torch.where(there, log_prob.clamp(min=least), torch.nan).float(),
        "rank": torch.where(there, place, -1).int(),
        "square_sum": (likely.square().sum(dim=1) / total[:, 0].square()).float(),
        "top5": torch.nn.functional.pad(order[:, :kept], missing, value=-1).int(),
        "top5_prob": torch.nn.functional.pad(likely[:, :kept] / total, missing).float(),
    }
    if frames is not None:
        columns["zipf"] = _zipf(order, frames).float()
    return columns


def _zipf(order: Tensor, frames: int) -> Tensor:
    """As `metrics.zipf_columns`, Σ w(τ) |w(τ) − w(τ')|, from the classes in order, best first."""
    places = torch.arange(1, order.shape[1] + 1, device=order.device, dtype=torch.float64)
    weights = torch.empty(order.shape, dtype=torch.float64, device=order.device)
    weights.scatter_(1, order, torch.reciprocal(places).expand(order.shape))
    weights = weights.reshape(-1, frames, order.shape[1])
    kept = torch.full((*weights.shape[:2], 1 + len(DIFFICULTIES)), torch.nan, device=order.device)
    kept[:, 1:, 0] = _distance(weights[:, :1], weights[:, 1:]).float()
    for step in DIFFICULTIES:
        if step < frames:
            kept[:, step:, step] = _distance(weights[:, :-step], weights[:, step:]).float()
    return kept.reshape(-1, kept.shape[-1])


def _distance(before: Tensor, after: Tensor) -> Tensor:
    return (before * (before - after).abs()).sum(dim=-1)
