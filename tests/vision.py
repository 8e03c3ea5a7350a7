"""torchvision beside any build of torch."""

from __future__ import annotations


def import_torchvision() -> None:
    """Let torchvision, and timm and transformers which need it, be imported beside a CPU build of
    torch.

    Their ordinary wheels want two operators that such a build does not have. Classifiers do not use
    them: declaring them is enough.
    """
    import torch

    try:
        import torchvision
    except RuntimeError:
        for name in ("nms", "qnms"):
            boxes = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"
            torch.library.define(f"torchvision::{name}", boxes)
        import torchvision  # noqa: F401
