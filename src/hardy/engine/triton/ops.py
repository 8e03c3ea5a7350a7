"""The torch engine with Triton kernels in place of its hot primitives, for CUDA devices."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hardy.engine.torch.ops import TorchOps
from hardy.engine.triton import (
    boxes,
    c_bar_noise,
    c_bar_shapes,
    c_bar_warps,
    fields,
    filters,
    frames,
    jpeg,
    points,
    random,
    relief,
    smears,
    warps,
)

# So many that starting kernels takes no time, and few enough for 6 GB: no kernel has more than a
# hundred bytes in flight for each pixel. Corruptions whose formula names no kernel are given less.
_PIXELS_AT_ONCE = 1024 * 224 * 224


class TritonOps(TorchOps):
    fused: Mapping[str, Callable[..., Tensor]] = (
        points.FUSED | c_bar_noise.FUSED | c_bar_shapes.FUSED | c_bar_warps.FUSED
    )
    kernels = frozenset(fused) | {
        *("table_noise", "blur", "disk", "trail", "shuffle", "zoom_mean", "elastic"),
        *("pixelate", "jpeg", "affine", "perspective", "slide", "running_mean"),
    }

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
    table_noise = staticmethod(random.table_noise)
    blur = staticmethod(filters.blur)
    disk = staticmethod(smears.disk)
    trail = staticmethod(smears.trail)
    shuffle = staticmethod(fields.shuffle)
    zoom_mean = staticmethod(warps.zoom_mean)
    elastic = staticmethod(warps.elastic)
    channel_means = staticmethod(points.channel_means)
    crops = staticmethod(boxes.crops)
    pixelate = staticmethod(boxes.pixelate)
    jpeg = staticmethod(jpeg.jpeg)
    smooth = staticmethod(filters.smooth)
    zoom = staticmethod(warps.zoom)
    plasma = staticmethod(fields.plasma)
    relief = staticmethod(relief.relief)

    canvas = staticmethod(frames.canvas)
    affine = staticmethod(frames.affine)
    perspective = staticmethod(frames.perspective)
    slide = staticmethod(frames.slide)
    affines = staticmethod(frames.affines)
    perspectives = staticmethod(frames.perspectives)
    slides = staticmethod(frames.slides)
    run_down = staticmethod(frames.run_down)
    running_mean = staticmethod(frames.running_mean)

    wave_noise = staticmethod(c_bar_noise.wave_noise)


@cache
def triton_ops(device: torch.device) -> TritonOps:
    return TritonOps(device)
