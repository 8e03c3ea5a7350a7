"""What torch tensors need from the host, brought over without making it wait for the device."""

import weakref
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_KEPT: dict[tuple[int, torch.device], Tensor] = {}


def moved(array: NDArray[Any], device: torch.device) -> Tensor:
    """A copy on the device. From pinned memory it is queued like a kernel; else both would meet."""
    if device.type != "cuda":
        return torch.from_numpy(np.array(array, order="C")).to(device)
    dtype = torch.from_numpy(np.empty(0, array.dtype)).dtype
    pinned = torch.empty(array.shape, dtype=dtype, pin_memory=True)
    pinned.numpy()[...] = array
    return pinned.to(device, non_blocking=True)


def constant(table: NDArray[Any], device: torch.device) -> Tensor:
    """A host table that never changes, moved once and kept for as long as the table is."""
    place = (id(table), device)
    kept = _KEPT.get(place)
    if kept is None:
        # Not queued but waited for, once: any stream may read it from now on.
        kept = _KEPT[place] = torch.from_numpy(np.array(table, order="C")).to(device)
        weakref.finalize(table, _KEPT.pop, place, None)
    return kept
