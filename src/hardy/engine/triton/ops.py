"""The torch engine with Triton kernels in place of its hot primitives, for CUDA devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hardy.engine.torch.ops import TorchOps
from hardy.engine.triton import c_bar_noise as bar_noise
from hardy.engine.triton import c_bar_shapes as bar_shapes
from hardy.engine.triton import c_bar_warps as bar_warps
from hardy.engine.triton import digital, fields, filters, jpeg, noise, points, random, warps

# So many that starting kernels takes no time, and few enough for 6 GB: no kernel has more than a
# hundred bytes in flight for each pixel. The engine gives less to corruptions without kernels.
_PIXELS_AT_ONCE = 1024 * 224 * 224


class TritonOps(TorchOps):
    fused: Mapping[str, Callable[..., Tensor]] = (
        points.FUSED | bar_noise.FUSED | bar_shapes.FUSED | bar_warps.FUSED
    )

    def __init__(self, device: torch.device) -> None:
        super().__init__(device)
        self.name = f"triton {device.type}"
        self.pixels_at_once = _PIXELS_AT_ONCE

    def words(self, key: int, ids: NDArray[np.uint64], stream: int, count: int) -> Tensor:
        return random.words(key, ids, stream, count, self.device)

    uniform = staticmethod(random.uniform)
    normal = staticmethod(random.normal)
    scaled = staticmethod(random.scaled)
    to_bytes = staticmethod(points.to_bytes)
    table_noise = staticmethod(noise.table_noise)
    blur = staticmethod(filters.blur)
    disk = staticmethod(filters.disk)
    trail = staticmethod(filters.trail)

    def shuffle(self, images: Tensor, moves: Tensor, reach: int) -> Tensor:
        return fields.shuffle(images, moves, reach)

    zoom_mean = staticmethod(warps.zoom_mean)
    elastic = staticmethod(warps.elastic)
    channel_means = staticmethod(points.channel_means)
    crops = staticmethod(digital.crops)
    pixelate = staticmethod(digital.pixelate)
    jpeg = staticmethod(jpeg.jpeg)
    smooth = staticmethod(filters.smooth)
    zoom = staticmethod(warps.zoom)
    plasma = staticmethod(fields.plasma)
    relief = staticmethod(fields.relief)

    canvas = staticmethod(warps.canvas)
    affine = staticmethod(warps.affine)
    perspective = staticmethod(warps.perspective)
    slide = staticmethod(warps.slide)
    run_down = staticmethod(filters.run_down)
    running_mean = staticmethod(filters.running_mean)

    wave_noise = staticmethod(bar_noise.wave_noise)


@cache
def triton_ops(device: torch.device) -> TritonOps:
    return TritonOps(device)
