"""The primitives of `ops` on torch tensors, batched, on any device that has float64.

Every operation rounds once and in the CPU engine's order, so the bytes are the same. No value is
looked at on the host: work is queued and the host goes on.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hardy.engine.ops import one_by_one
from hardy.engine.torch import boxes, c_bar_ops, fields, filters, jpeg, noc_ops, random, warps
from hardy.engine.torch.constants import moved
from hardy.errors import InputError

# Few enough for the cache: float64 fields of more than two photos at 224 outgrow it.
_PIXELS_ON_CPU = 2 * 224 * 224
# A kernel over these runs several times as long as it takes to start; with up to a kilobyte of
# float64 in flight for each pixel, they fit in 4 GB.
_PIXELS_ON_GPU = 64 * 224 * 224


class TorchOps:
    fused: Mapping[str, Callable[..., Tensor]] = {}
    kernels: frozenset[str] = frozenset()

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.name = f"torch {device.type}"
        self.pixels_at_once = _PIXELS_ON_CPU if device.type == "cpu" else _PIXELS_ON_GPU

    def host(self, table: Any) -> Tensor:
        return moved(np.asarray(table), self.device)

    def cast(self, array: Tensor, dtype: str) -> Tensor:
        return array.to(getattr(torch, dtype))

    def float32(self, number: float) -> Tensor:
        return torch.full((), number, dtype=torch.float32, device=self.device)

    def float64(self, number: float) -> Tensor:
        return torch.full((), number, dtype=torch.float64, device=self.device)

    def join(self, batches: Sequence[Tensor]) -> Tensor:
        return torch.cat(list(batches))

    def maximum(self, a: Tensor, b: Any) -> Tensor:
        return a.clamp(min=b)

    def minimum(self, a: Tensor, b: Any) -> Tensor:
        return a.clamp(max=b)

    def stack(self, arrays: Sequence[Tensor]) -> Tensor:
        return torch.stack(list(arrays), dim=-1)

    def largest(self, array: Tensor) -> Tensor:
        return array.amax(dim=tuple(range(1, array.ndim)), keepdim=True)

    def half_turn(self, array: Tensor) -> Tensor:
        return array.flip(1, 2)

    def unit(self, images: Tensor, dtype: str) -> Tensor:
        return filters.quotient(self.cast(images, dtype), 255.0)

    def to_levels(self, levels: Tensor) -> Tensor:
        return levels.clamp(0, 255).to(torch.uint8)

    def words(self, key: int, ids: NDArray[np.uint64], stream: int, count: int) -> Tensor:
        return random.words(key, ids, stream, count, self.device)

    where = staticmethod(torch.where)
    floor = staticmethod(torch.floor)
    ceil = staticmethod(torch.ceil)

    uniform = staticmethod(random.uniform)
    normal = staticmethod(random.normal)
    scaled = staticmethod(random.scaled)

    to_bytes = staticmethod(filters.to_bytes)
    table_noise = staticmethod(random.table_noise)
    blur = staticmethod(filters.blur)
    disk = staticmethod(filters.disk)
    trail = staticmethod(filters.trail)
    shuffle = staticmethod(fields.shuffle)
    zoom_mean = staticmethod(warps.zoom_mean)
    elastic = staticmethod(warps.elastic)
    channel_means = staticmethod(boxes.channel_means)
    crops = staticmethod(boxes.crops)
    pixelate = staticmethod(boxes.pixelate)
    jpeg = staticmethod(jpeg.jpeg)
    smooth = staticmethod(filters.smooth)
    zoom = staticmethod(warps.zoom)
    plasma = staticmethod(fields.plasma)
    relief = staticmethod(fields.relief)

    canvas = staticmethod(warps.canvas)
    affine = staticmethod(warps.affine)
    perspective = staticmethod(warps.perspective)
    slide = staticmethod(warps.slide)
    affines = staticmethod(one_by_one(warps.affine))
    perspectives = staticmethod(one_by_one(warps.perspective))
    slides = staticmethod(one_by_one(warps.slide))
    run_down = staticmethod(filters.run_down)
    running_mean = staticmethod(filters.running_mean)

    sqrt = staticmethod(c_bar_ops.sqrt)
    power = staticmethod(c_bar_ops.power)
    order = staticmethod(c_bar_ops.order)
    shifted = staticmethod(c_bar_ops.shifted)
    wave_noise = staticmethod(c_bar_ops.wave_noise)

    look_up = staticmethod(noc_ops.look_up)
    level_sums = staticmethod(noc_ops.level_sums)
    box_sums = staticmethod(noc_ops.box_sums)
    blocks = staticmethod(noc_ops.blocks)
    resample = staticmethod(noc_ops.resample)
    nearest = staticmethod(noc_ops.nearest)
    last_stamp = staticmethod(noc_ops.last_stamp)
    stamp_counts = staticmethod(noc_ops.stamp_counts)


@cache
def torch_ops(device: torch.device) -> TorchOps:
    """The fastest there is for a device: on CUDA with Triton's kernels, where it is installed. On
    "meta" these are noted."""
    if device.type in ("cuda", "meta") and find_spec("triton") is not None:
        from hardy.engine.triton.ops import triton_ops

        return triton_ops(device)
    if device.type == "mps":
        raise InputError(
            "expected a tensor on a device with float64, got one on mps; move it with .cpu()"
        )
    return TorchOps(device)
