"""What two other libraries have on a GPU that resembles a corruption, on the same batch.

None of it is the benchmark's formula, and most of it draws once for a whole batch; it is timed to
know what others take for work of this kind. uint8 (N, H, W, 3) in and out, severity 3.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import torch
from torch import Tensor

from bench.gpu_speed import batch, seconds

# A batch that did not fit for them is given in smaller ones. Each is tried with a few images first:
# what takes so many seconds for those is not asked for more.
SMALLER = (1024, 256, 64)
FEW, PATIENCE = 16, 0.2


def torchvision_calls() -> dict[str, Callable[[Tensor], Tensor]]:
    from torchvision.transforms import v2
    from torchvision.transforms.v2 import functional as f

    elastic = v2.ElasticTransform(alpha=50.0, sigma=5.0)
    return {
        "gaussian_noise": lambda x: _levels(f.gaussian_noise(_unit(x), sigma=0.18)),
        "gaussian_blur": lambda x: f.gaussian_blur(x, [25, 25], [3.0, 3.0]),
        "jpeg_compression": lambda x: f.jpeg(x, 15),
        "elastic_transform": elastic,
        "brightness": lambda x: f.adjust_brightness(x, 1.3),
        "contrast": lambda x: f.adjust_contrast(x, 0.2),
        "saturate": lambda x: f.adjust_saturation(x, 2.0),
    }


def kornia_calls() -> dict[str, Callable[[Tensor], Tensor]]:
    import kornia.augmentation as augmentation
    from kornia import enhance, filters

    def on_unit(call: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
        return lambda x: _levels(call(_unit(x)))

    def smear(x: Tensor) -> Tensor:
        angle = torch.rand(len(x), device=x.device) * 90 - 45
        return filters.motion_blur(x, 31, angle, torch.ones_like(angle))

    def coded(x: Tensor) -> Tensor:
        return enhance.jpeg_codec_differentiable(x, torch.full((len(x),), 15.0, device=x.device))

    calls = {
        "gaussian_noise": augmentation.RandomGaussianNoise(std=0.18, p=1.0),
        "impulse_noise": augmentation.RandomSaltAndPepperNoise(amount=(0.09, 0.09), p=1.0),
        "gaussian_blur": lambda x: filters.gaussian_blur2d(x, (25, 25), (3.0, 3.0), "replicate"),
        "motion_blur": smear,
        "fog": augmentation.RandomPlasmaBrightness(p=1.0),
        "snow": augmentation.RandomSnow(p=1.0),
        "elastic_transform": augmentation.RandomElasticTransform(p=1.0),
        "jpeg_compression": coded,
        "brightness": lambda x: enhance.adjust_brightness(x, 0.3),
        "contrast": lambda x: enhance.adjust_contrast(x, 0.2),
        "saturate": lambda x: enhance.adjust_saturation(x, 2.0),
    }
    return {name: on_unit(call) for name, call in calls.items()}


def _unit(x: Tensor) -> Tensor:
    return x.to(torch.float32) / 255


def _levels(x: Tensor) -> Tensor:
    return (x.clamp(0, 1) * 255).to(torch.uint8)


def measure() -> dict[str, Any]:
    images = batch("224").permute(0, 3, 1, 2).contiguous()
    found: dict[str, Any] = {}
    for library, calls in (("torchvision", torchvision_calls), ("kornia", kornia_calls)):
        try:
            rates = {name: _rate(call, images) for name, call in calls().items()}
            found[library] = {"version": _version(library), "rates": rates}
        except ImportError as error:
            found[library] = {"version": f"not installed ({error})", "rates": {}}
    return found


def _version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return "unknown"


def _rate(call: Callable[[Tensor], Tensor], images: Tensor) -> dict[str, Any]:
    for count in _sizes(call, images):
        some = images[:count]
        try:
            with torch.inference_mode():
                return {"rate": count / seconds(partial(call, some)), "at": count}
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
        except Exception as error:
            return {"error": f"{type(error).__name__}: {error}".splitlines()[0][:90]}
    return {"error": "no memory"}


def _sizes(call: Callable[[Tensor], Tensor], images: Tensor) -> tuple[int, ...]:
    try:
        with torch.inference_mode():
            slow = seconds(partial(call, images[:FEW])) > PATIENCE
    except Exception:  # said where it is timed
        slow = True
    return (FEW,) if slow else SMALLER
