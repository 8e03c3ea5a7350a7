"""Linear probes: a classifier on the features of another model. This file imports torch."""

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from hardy.engine.door import UInt8
from hardy.errors import InputError
from hardy.models.adapters.torch_model import TorchModel
from hardy.models.class_order import order_classes
from hardy.models.features import ModelFeatures, load_features
from hardy.models.model import (
    Logits,
    Model,
    ModelFacts,
    Options,
    Preprocessing,
    as_override,
    digest,
    facts_of,
)
from hardy.models.probe_files import ProbeFile, read_probe

_RUN_CODE = ("torch", "sklearn")  # kinds whose names say what is to be run


def linear_model(rest: str, options: Options) -> Model:
    """A linear probe, as `hardy probe` writes it, on the features of the model that it names."""
    options.refuse(checkpoint="the file holds its weights, and names its backbone")
    path = Path(rest)
    probe = read_probe(path)
    kind = probe.backbone.partition(":")[0]
    if kind == "linear" or (kind in _RUN_CODE and not options.trust):
        why = (
            "is a probe itself" if kind == "linear" else "runs code; if you trust it, `trust=True`"
        )
        raise InputError(f"{path}: its backbone {probe.backbone} {why}")
    if options.preprocessing is None:
        options = replace(options, preprocessing=as_override(probe.preprocess))
    features = load_features(probe.backbone, options)
    _check(probe, features, path)
    facts = ModelFacts(
        trained_on=probe.trained_on,
        held_out=probe.held_out,
        found=f"a linear probe on {features.words}",
        backend=facts_of(features.model).backend,
    )
    if probe.classes is not None:
        order = order_classes(probe.classes, options.classes, options.name)
        if order.columns is not None:
            columns = list(order.columns)
            probe = probe._replace(weight=probe.weight[columns], bias=probe.bias[columns])
        facts = replace(facts, class_names=order.names, found=f"{facts.found}; {order.words}")
    identity = digest(
        "linear",
        {
            "features": features.model.identity,
            "weights": sha256(probe.weight.tobytes() + probe.bias.tobytes()).hexdigest(),
            "shape": probe.weight.shape,
            **({"buffers": _hash(probe.buffers)} if probe.buffers else {}),
        },
    )
    if not isinstance(features.model, TorchModel):
        return _LinearModel(features.model, probe, options.name, identity, facts)
    backbone = features.model
    _put_back(probe.buffers, backbone.module, path)
    module = _Probed(backbone.module, probe).to(backbone.device)
    device = torch.device(backbone.device)
    model = TorchModel(module, options, backbone.preprocessing, device, facts)
    model.identity = identity
    return model


def _check(probe: ProbeFile, features: ModelFeatures, path: Path) -> None:
    if features.width != probe.weight.shape[1]:
        raise InputError(
            f"{path}: expected a backbone of {probe.weight.shape[1]:,} features, got "
            f"{features.words}; is it the one that the probe was trained on?"
        )
    if probe.fingerprint not in (None, features.fingerprint):
        raise InputError(
            f"{path}: its backbone {probe.backbone} has other weights than the probe was trained "
            "on; bring those back, or train a probe anew: `hardy probe`"
        )


def _hash(buffers: Mapping[str, npt.NDArray[np.float32]]) -> str:
    whole = sha256()
    for name, values in sorted(buffers.items()):
        whole.update(f"{name} {values.shape} ".encode() + values.tobytes())
    return whole.hexdigest()


def _put_back(
    buffers: Mapping[str, npt.NDArray[np.float32]], module: torch.nn.Module, path: Path
) -> None:
    """Statistics that drifted while the probe was trained, in the place of the backbone's own."""
    there = dict(module.named_buffers())
    for name, values in buffers.items():
        if name not in there or tuple(there[name].shape) != values.shape:
            raise InputError(f"{path}: its backbone has no {name} of shape {values.shape}")
        there[name].copy_(torch.from_numpy(values))


class _Probed(torch.nn.Module):
    """A module, and a linear layer on what it returns."""

    def __init__(self, module: torch.nn.Module, probe: ProbeFile) -> None:
        super().__init__()
        self.module = module
        self.head = torch.nn.Linear(probe.weight.shape[1], len(probe.weight))
        with torch.no_grad():
            self.head.weight.copy_(torch.from_numpy(probe.weight))
            self.head.bias.copy_(torch.from_numpy(probe.bias))
        self.requires_grad_(False)

    def forward(self, pixels: torch.Tensor) -> Any:
        features = self.module(pixels)
        return self.head(getattr(features, "logits", features))


class _LinearModel:
    """A probe on the outputs of a model that is none of torch's."""

    def __init__(
        self, backbone: Model, probe: ProbeFile, name: str, identity: str, facts: ModelFacts
    ) -> None:
        self.name, self.identity, self.facts = name, identity, facts
        self.preprocessing = backbone.preprocessing
        self.device, self.precision = backbone.device, backbone.precision
        self._backbone, self._probe = backbone, probe

    def logits(self, images: UInt8, preprocessing: Preprocessing | None = None) -> Logits:
        features = self._backbone.logits(images, preprocessing)
        return np.asarray(features @ self._probe.weight.T + self._probe.bias, np.float32)
