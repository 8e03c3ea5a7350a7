"""Ten crops: the corners, the centre, and their mirror images; probabilities are averaged."""

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from hardy.engine.ops import is_tensor
from hardy.models.calling import check_images
from hardy.models.defences import Defended, take_no_setting
from hardy.models.model import Model, Preprocessing

# The share of a side that a crop takes: 224 of 256, as is usual.
_SHARE = 7 / 8
_VIEWS = 10


def behind_tencrop(model: Model, setting: str | None) -> Model:
    """Mean of the probabilities of ten crops: corners, centre, and their mirror images."""
    take_no_setting("tencrop", setting)
    return _TenCrop(model)


class _TenCrop(Defended):
    """log of the mean of softmax(logits) over the views: logits again, of that mean."""

    def __init__(self, model: Model) -> None:
        words = (
            "corners and centre of 7/8 of the side, brought back to size (bilinear), and their "
            "mirror images; mean of the probabilities"
        )
        super().__init__(model, "tencrop", {"version": 1, "share": _SHARE}, words)

    def logits(self, images: Any, preprocessing: Preprocessing | None = None) -> Any:
        check_images(images)
        total: Any = None
        for view in views(images):
            logs = _log_softmax(self.model.logits(view, preprocessing))
            total = logs if total is None else _log_sum(total, logs)
        mean = total - math.log(_VIEWS)
        return mean.float() if is_tensor(mean) else mean.astype(np.float32)


def views(images: Any) -> Iterator[Any]:
    """The ten views of arrays, or of tensors on their device; each is as large as the images,
    since that is the size that the model expects."""
    height, width = images.shape[1:3]
    tall, wide = max(1, round(height * _SHARE)), max(1, round(width * _SHARE))
    below, right = height - tall, width - wide
    corners = ((0, 0), (0, right), (below, 0), (below, right), (below // 2, right // 2))
    for y, x in corners:
        crop = _enlarged(images[:, y : y + tall, x : x + wide], height, width)
        yield crop
        yield crop.flip(2) if is_tensor(crop) else crop[:, :, ::-1].copy()


def _enlarged(crop: Any, height: int, width: int) -> Any:
    """Bilinear between the centres of pixels, rounded half up. Where 8 divides the side, weights
    are sixteenths and nothing else is rounded: the same bytes on every device."""
    pixels = crop.float() if is_tensor(crop) else crop.astype(np.float32)
    for axis, side in ((2, width), (1, height)):
        low, high, share = _weights(pixels.shape[axis], side)
        if is_tensor(pixels):
            import torch

            low, high, share = (
                torch.from_numpy(each).to(pixels.device) for each in (low, high, share)
            )
        share = share.reshape(-1, 1) if axis == 2 else share.reshape(-1, 1, 1)
        first, second = ((pixels[:, :, at] if axis == 2 else pixels[:, at]) for at in (low, high))
        pixels = first * (1 - share) + second * share
    pixels = (pixels + 0.5).floor() if is_tensor(pixels) else np.floor(pixels + np.float32(0.5))
    return pixels.byte() if is_tensor(pixels) else pixels.astype(np.uint8)


def _weights(source: int, target: int) -> tuple[Any, Any, Any]:
    """The old pixels before and after each new pixel, and the share of the latter."""
    place = np.clip((np.arange(target) + 0.5) * source / target - 0.5, 0, source - 1)
    low = np.floor(place).astype(np.int64)
    return low, np.minimum(low + 1, source - 1), (place - low).astype(np.float32)


def _log_softmax(logits: Any) -> Any:
    """log softmax in float64; logits that are not finite stay so, and are refused later."""
    if is_tensor(logits):
        return logits.double().log_softmax(1)
    with np.errstate(invalid="ignore", over="ignore"):
        shifted = logits.astype(np.float64)
        shifted = shifted - shifted.max(axis=1, keepdims=True)
        return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def _log_sum(one: Any, two: Any) -> Any:
    if is_tensor(one):
        return one.logaddexp(two)
    with np.errstate(invalid="ignore"):
        return np.logaddexp(one, two)
