"""Corrupted images to logits: torch, timm, torchvision, ONNX, scikit-learn, any function, a fake.

Each kind has a prefix: `load("timm:resnet50")`. Another package adds one by an entry point in the
group "hardy.models" that points to a function (what follows the colon, `Options`) -> `Model`.
Nothing here imports a framework before a model of it is asked for.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from hardy.errors import InputError, printable
from hardy.models.model import (
    PRECISIONS,
    Model,
    ModelFacts,
    Options,
    Override,
    Preprocessing,
    facts_of,
)
from hardy.registry import Registry, Row

__all__ = [
    "MODELS",
    "Model",
    "ModelFacts",
    "Options",
    "Override",
    "Preprocessing",
    "facts_of",
    "load",
]

Adapter = Callable[[str, Options], Model]

_TORCH = "hardy.models.adapters.torch_sources"
# One row per kind. What follows the colon is the adapter's first argument, and is not read here.
MODELS: Registry[Adapter] = Registry(
    "kind of model",
    "hardy.models",
    {
        "torchvision": Row(
            f"{_TORCH}:torchvision_model",
            "A classifier of torchvision, with its default weights or those that .TAG names.",
            needs="torchvision",
            takes="NAME",
        ),
        "timm": Row(
            f"{_TORCH}:timm_model",
            "A classifier of timm, with the weights that its name means there.",
            needs="timm",
            takes="NAME",
        ),
        "torch": Row(
            f"{_TORCH}:factory_model",
            "A torch module that a function of yours returns; the current folder counts.",
            needs="torch",
            takes="module:factory",
        ),
        "onnx": Row(
            "hardy.models.adapters.onnx_model:OnnxModel",
            "An ONNX file, run by onnxruntime.",
            needs="onnxruntime",
            extra="onnx",
            takes="FILE",
        ),
        "sklearn": Row(
            "hardy.models.adapters.sklearn_model:SklearnModel",
            "A scikit-learn classifier saved by joblib, if you --trust the file.",
            takes="FILE",
        ),
        "hardy": Row(
            "hardy.train.trained_model:trained_model",
            "A folder that `hardy train` wrote.",
            needs="torch",
            takes="DIR",
        ),
        "fake": Row(
            "hardy.models.adapters.function_model:fake_model",
            "A classifier without weights, for tests and rehearsals.",
            takes="CLASSES",
        ),
    },
)


def load(
    model: str | Callable[..., Any] | Model,
    *,
    checkpoint: Path | str | None = None,
    trust: bool = False,
    device: str | None = None,
    precision: str = "float32",
    batch: int | Literal["auto"] = "auto",
    name: str | None = None,
    preprocessing: Preprocessing | Override | None = None,
) -> Model:
    """A model by name ("timm:resnet50"), a torch module, or a function from uint8 (N, H, W, 3) to
    logits (N, K). A function has no weights to tell apart, so its identity is its name and source:
    give it another `name` whenever its weights change.
    """
    if precision not in PRECISIONS:
        raise InputError(f"expected a precision of {', '.join(PRECISIONS)}, got {precision!r}")
    if batch != "auto" and (isinstance(batch, bool) or not isinstance(batch, int) or batch < 1):
        raise InputError(f'expected a batch of at least 1 image or "auto", got {batch!r}')
    typed = model if isinstance(model, str) else ""
    if typed and checkpoint is not None:  # one model with other weights is another model
        typed += f" @ {Path(checkpoint).name}"
    options = Options(
        printable(name or typed),
        None if checkpoint is None else Path(checkpoint),
        trust,
        device or "auto",
        precision,
        batch,
        preprocessing,
    )
    if isinstance(model, str):
        kind, colon, rest = model.partition(":")
        adapter = MODELS[kind]
        if not colon or not rest:
            raise InputError(f'expected "{MODELS.form(kind)}", got "{model}"')
        return adapter(rest, options)
    if isinstance(model, Model):
        ready = "it is made already; decide that where you make it"
        if name is not None:
            raise InputError(f"{model.name} takes no other name: {ready}")
        decided = ("checkpoint", "device", "precision", "batch", "preprocessing")
        replace(options, name=model.name).refuse(**dict.fromkeys(decided, ready))
        return model
    torch = sys.modules.get("torch")  # else nobody can have made a module of it
    if torch is not None and isinstance(model, torch.nn.Module):
        from hardy.models.adapters.torch_sources import given_module

        return given_module(model, options)
    if callable(model):
        from hardy.models.adapters.function_model import FunctionModel

        return FunctionModel(model, options)
    raise InputError(
        f'expected a model\'s name such as "timm:resnet50", a torch module or a function, got '
        f"{type(model).__name__}"
    )
