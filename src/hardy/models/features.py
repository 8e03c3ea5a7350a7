"""The features of a model: what goes into its last linear layer, or else what comes out of it.

People judge a backbone by how well a linear classifier does on its features (a linear probe).
This file imports torch.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import torch

from hardy.models import model_by_name
from hardy.models.adapters.torch_model import TorchModel
from hardy.models.model import Model, Options, digest, facts_of
from hardy.models.torch_identity import hash_weights, structure

_SIDE = 224  # of the image that is tried, where the model takes any


class ModelFeatures(NamedTuple):
    """A model whose `logits` are features."""

    model: Model
    width: int
    fingerprint: str  # of the weights that make them
    words: str


def load_features(name: str, options: Options) -> ModelFeatures:
    """The features of the model of that name, such as "timm:resnet50".

    Whatever the side of the images to come, it makes the same of them: some models have several.
    """
    model = model_by_name(
        name, replace(options, backbone=True, classes=None, side=None, compile=False)
    )
    facts = facts_of(model)
    side = (model.preprocessing and model.preprocessing.size) or options.side or _SIDE
    image = np.random.default_rng(0).integers(0, 256, (1, side, side, 3), np.uint8)
    if not isinstance(model, TorchModel):
        width = model.logits(image).shape[1]
        words = f"the {width:,} outputs of {name}"
        if facts.left_off:
            words = f"{width:,} features, what goes into {facts.left_off} of {name}"
        return ModelFeatures(model, width, facts.weights_hash or model.identity, words)
    head = _cut_off(model, image)
    width = model.logits(image).shape[1]
    weights = hash_weights(model.module)
    if head:
        parts = {
            "structure": structure(model.module),
            "weights": weights,
            "preprocessing": model.preprocessing,
            "precision": model.precision,
        }
        model.identity = digest("features", parts)
    taken_by = head or facts.left_off
    where = f"what goes into {taken_by}" if taken_by else "the outputs"
    fingerprint = facts.weights_hash or weights
    return ModelFeatures(model, width, fingerprint, f"{width:,} features, {where} of {name}")


def _cut_off(model: TorchModel, image: Any) -> str:
    """Put nothing in the place of the linear layer whose output is the model's; return its name."""
    outputs: dict[str, Any] = {}

    def note(name: str) -> Any:
        return lambda layer, given, output: outputs.update({name: output})

    linear = [
        (name, layer)
        for name, layer in model.module.named_modules()
        if name and isinstance(layer, torch.nn.Linear)
    ]
    hooks = [layer.register_forward_hook(note(name)) for name, layer in linear]
    try:
        wanted = torch.from_numpy(model.logits(image))
    finally:
        for hook in hooks:
            hook.remove()
    for name, output in outputs.items():
        if output.shape == wanted.shape and torch.equal(output.float().cpu(), wanted):
            parent, _, last = name.rpartition(".")
            setattr(model.module.get_submodule(parent), last, torch.nn.Identity())
            return name
    return ""
