"""Image classifiers of Hugging Face's transformers. This file imports torch and transformers."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from hardy.errors import InputError, need
from hardy.models.adapters.config_checks import AS_FACTORY
from hardy.models.adapters.hub_folder import (
    CONFIG,
    check_weights_there,
    decisive,
    find_folder,
    load_pretrained,
    quietly,
    read_config,
)
from hardy.models.adapters.torch_model import TorchModel
from hardy.models.adapters.torch_sources import finish_model
from hardy.models.class_order import order_classes
from hardy.models.model import ModelFacts, Options, digest
from hardy.models.torch_identity import hash_weights

_WANTED = "a folder that save_pretrained wrote"


def hf_model(rest: str, options: Options) -> TorchModel:
    """A classifier of Hugging Face's transformers, from a folder or from the cache of its hub."""
    options.refuse(checkpoint="its weights lie in the folder")
    need("transformers.image_utils", "hf", options.name)  # which imports torchvision, if there
    from hardy.models.adapters.hf_processor import read_processor

    folder = find_folder("hf", rest, _WANTED)
    config = _checked_config(folder, options)
    with quietly():
        own = read_processor(folder)
        module = _loaded(folder, options)
    its = module.config
    labels = [str(its.id2label.get(place, place)) for place in range(its.num_labels)]
    order = order_classes(labels, options.classes, options.name)
    found = f"{type(module).__name__}, {order.words}"
    weights = hash_weights(module)
    if order.columns is not None:
        module = _Reordered(module, order.columns)
    facts = ModelFacts(class_names=order.names, found=found)
    model = finish_model(module, options, own, facts)
    model.identity = digest(
        "hf",
        {
            "config": decisive(config),
            "weights": weights,
            "order": order.columns,
            "preprocessing": model.preprocessing,
            "precision": options.precision,
        },
    )
    return model


class _Reordered(torch.nn.Module):
    """A classifier whose classes are put into another order."""

    def __init__(self, module: torch.nn.Module, columns: tuple[int, ...]) -> None:
        super().__init__()
        self.module = module
        self.register_buffer("columns", torch.tensor(columns))

    def forward(self, pixels: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.module(pixels).logits
        return logits[:, self.columns]


def _checked_config(folder: Path, options: Options) -> Mapping[str, Any]:
    """What the folder says of itself; whatever would have to run code out of it is refused."""
    try:
        config = read_config(folder)
    except FileNotFoundError:
        raise InputError(f"{folder}: expected {_WANTED}, but it has no {CONFIG}") from None
    if "model_type" not in config and "architecture" in config:
        raise InputError(
            f"{folder} holds a model of timm; load it by that: timm:local-dir:{folder}"
        )
    check_weights_there(folder, options)
    return config


def _loaded(folder: Path, options: Options) -> Any:
    from transformers import AutoModelForImageClassification

    return load_pretrained(
        AutoModelForImageClassification,
        folder,
        unread=f"is it an image classifier? Otherwise {AS_FACTORY}",
        lacking="is it a backbone without a classifier? Train one on it: "
        f"`hardy probe hf:{folder} --data SRC --out FILE`",
        may_lack=lambda module, missing: options.backbone and _is_head(module, missing),
    )


def _is_head(module: Any, missing: list[str]) -> bool:
    """Whether what is missing is the weight and bias of one linear layer, the classifier."""
    parts = {name.rpartition(".")[0] for name in missing}
    return len(parts) == 1 and isinstance(module.get_submodule(*parts), torch.nn.Linear)
