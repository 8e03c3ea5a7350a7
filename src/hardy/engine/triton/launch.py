"""How every Triton kernel is started."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import torch


def launch(
    kernel: Any, programs: int, device: torch.device, *arguments: Any, **options: Any
) -> None:
    """Queue `programs` programs of a kernel; a fused multiply-add would change last bits.

    Programs lie along one axis, the only one long enough for any batch.
    """
    with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        kernel[(programs,)](*arguments, enable_fp_fusion=False, **options)


def parts(count: int, block: int) -> int:
    """Blocks that cover `count`."""
    return -(-count // block)
