"""Batch norm adapted to the images under test. This file imports torch.

Schneider et al. 2020 (arXiv:2006.16971): of n images, each batch norm takes

    μ = (N·μ_s + n·μ_t) / (N + n),    σ² = (N·σ_s² + n·σ_t²) / (N + n)

s the statistics that the model brings, t those of the n images; N = 0 leaves the former out.
"""

import copy
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import nn

from hardy.errors import InputError
from hardy.models.adapters.torch_model import TorchModel, uncompiled
from hardy.models.defences import Defended, unwrapped
from hardy.models.model import Model, Preprocessing

# The same on every device, so that predictions are; `--batch` takes another.
BATCH = 64
_BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d, nn.SyncBatchNorm)


def behind_bn_adapt(model: Model, setting: str | None) -> Model:
    """Batch norm by statistics of test images, its own counting for 16, or N: bn_adapt:N."""
    count = "16" if setting is None else setting
    if not count.isdecimal() or len(count) > 9:
        raise InputError(
            "expected bn_adapt or bn_adapt:N, N the number of images that the stored statistics "
            f'count for, from 0 to 999,999,999, got "bn_adapt:{setting}"'
        )
    *_, core = unwrapped(model)
    if not isinstance(core, TorchModel):
        raise InputError(
            f"expected a torch model for bn_adapt, whose batch norm it adapts, got {model.name}"
        )
    return Adapted(model, core, int(count))


class Adapted(Defended):
    """A model whose batch norm adapts to the images under test.

    It sees their distribution, so its name is marked. Its predictions depend on which images it
    sees together, so these are always the same.
    """

    def __init__(self, model: Model, core: TorchModel, source: int) -> None:
        size = core.fixed_batch or BATCH
        label = f"bn_adapt:{source}"
        settings = {"version": 1, "source": source, "batch": size}
        words = (
            f"batch norm by the statistics of up to {size} test images at a time, mixed with its "
            f"own at a weight of {source} images"
        )
        name = f"{model.name}+{label} (adapted)"
        super().__init__(model, label, settings, words, name=name, adapts_in=size)
        self.facts = replace(self.facts, compiled=False)  # the twin that adapts is not
        adapted = core.with_module(_adapting(core, source), size)
        self._shown = _around(model, adapted)

    def logits(self, images: Any, preprocessing: Preprocessing | None = None) -> Any:
        return self._shown.logits(images, preprocessing)


def _around(model: Model, core: TorchModel) -> Model:
    """The same defences around another model."""
    if not isinstance(model, Defended):
        return core
    twin = copy.copy(model)
    twin.model = _around(model.model, core)
    return twin


def _adapting(model: TorchModel, source: int) -> nn.Module:
    """A twin of the module on the same weights; the user's own module stays as it is."""
    module = uncompiled(model.module)
    own = {id(tensor): tensor for tensor in (*module.parameters(), *module.buffers())}
    try:
        twin = copy.deepcopy(module, dict(own))
    except Exception as error:
        raise InputError(
            f"{model.name}: its module cannot be copied ({error!r}), which bn_adapt needs"
        ) from error
    layers = [part for part in twin.modules() if _has_statistics(part)]
    if not layers:
        raise InputError(
            f"expected a model with batch norm and stored statistics for bn_adapt, got "
            f"{model.name}, which has none"
        )
    for layer in layers:
        stored = (layer.running_mean, layer.running_var)
        layer.register_forward_pre_hook(partial(_mix, source, stored))
    return twin


def _has_statistics(part: nn.Module) -> bool:
    return isinstance(part, _BATCH_NORMS) and part.running_mean is not None


def _mix(
    source: int,
    stored: tuple[torch.Tensor, torch.Tensor],
    layer: Any,
    given: tuple[torch.Tensor, ...],
) -> None:
    """Set a layer's statistics before it is called. The variance divides by the number of values,
    as training does, not by one less."""
    features = given[0].float()
    number = len(features)
    axes = [axis for axis in range(features.ndim) if axis != 1]
    variance, mean = torch.var_mean(features, axes, correction=0)
    for name, own, seen in zip(
        ("running_mean", "running_var"), stored, (mean, variance), strict=True
    ):
        mixed = (source * own.float() + number * seen) / (source + number)
        setattr(layer, name, mixed.to(own.dtype))
