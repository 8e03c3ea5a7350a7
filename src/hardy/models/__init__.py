"""Corrupted images to logits: torch, its libraries, ONNX, TFLite, scikit-learn, functions.

Each kind has a prefix: `load_model("timm:resnet50")`. Another package adds one by an entry point in
the group "hardy.models": a function (what follows the colon, `Options`) -> `Model`.
Nothing here imports a framework before a model of it is asked for.
"""

import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from hardy.engine.maite_door import follows_maite
from hardy.errors import InputError, printable
from hardy.models.adapters.function_model import FunctionModel
from hardy.models.adapters.maite_model import MaiteModel
from hardy.models.class_order import Spellings
from hardy.models.model import (
    NEEDED,
    Model,
    Options,
    Override,
    Preprocessing,
    as_override,
    completed,
    facts_of,
)
from hardy.registry import Registry, Row

__all__ = ["MODELS", "Model", "Options", "Override", "Preprocessing", "load_model"]

_HERE = "hardy.models.adapters"
MODELS: Registry[Callable[[str, Options], Any]] = Registry(
    "kind of model",
    "hardy.models",
    {
        "torchvision": Row(
            f"{_HERE}.torch_sources:torchvision_model", needs="torchvision", takes="NAME"
        ),
        "timm": Row(f"{_HERE}.torch_sources:timm_model", needs="timm", takes="NAME"),
        "torch": Row(f"{_HERE}.torch_sources:factory_model", needs="torch", takes="module:factory"),
        "hf": Row(
            f"{_HERE}.hf_model:hf_model", needs="transformers", extra="hf", takes="NAME_OR_DIR"
        ),
        "clip": Row(
            f"{_HERE}.clip_model:clip_model", needs="torch", extra="clip", takes="NAME_OR_DIR"
        ),
        "onnx": Row(
            f"{_HERE}.onnx_model:OnnxModel", needs="onnxruntime", extra="onnx", takes="FILE"
        ),
        "tflite": Row(
            f"{_HERE}.tflite_model:TfliteModel",
            needs="ai_edge_litert",
            extra="tflite",
            takes="FILE",
        ),
        "keras": Row(f"{_HERE}.keras_model:keras_model", takes="FILE"),
        "zoo": Row(f"{_HERE}.zoo_model:zoo_model", needs="torch", takes="NAME"),
        "linear": Row(f"{_HERE}.linear_model:linear_model", needs="torch", takes="FILE"),
        "sklearn": Row(f"{_HERE}.sklearn_model:SklearnModel", takes="FILE"),
        "hardy": Row("hardy.train.trained_model:trained_model", needs="torch", takes="DIR"),
        "fake": Row(f"{_HERE}.function_model:fake_model", takes="CLASSES"),
    },
    of=Callable,
)
_KIND_OF_FILE = {".onnx": "onnx", ".tflite": "tflite", ".keras": "keras", ".joblib": "sklearn"}
# Libraries, and a zoo, whose nets Hardy can also train, from fresh weights or their own.
NET_LIBRARIES = ("torchvision", "timm", "zoo")
_OF_TORCH = (*NET_LIBRARIES, "torch", "hf", "clip", "hardy")
# Options that only some kinds heed.
_HEED = {"trust": ("sklearn", "hf", "clip", "keras", "linear"), "prompts": ("clip",)}


def load_model(
    model: str | Callable[..., Any] | Model,
    *,
    checkpoint: Path | str | None = None,
    trust: bool = False,
    device: str | None = None,
    precision: str = "float32",
    batch: int | Literal["auto"] = "auto",
    name: str | None = None,
    preprocessing: Preprocessing | Override | str | None = None,
    side: int | None = None,
    classes: Spellings | None = None,
    compile: bool = False,
    prompts: str | os.PathLike[str] | None = None,
) -> Model:
    """A model by name ("timm:resnet50"), a torch module, a model of the MAITE protocols, or a
    function from uint8 (N, H, W, 3) to logits (N, K). Neither of the last two shows its weights, so
    its identity is its name and source: give it another `name` whenever its weights change.
    `side` is that of the images to come, and `classes` has the names that each of their classes
    goes by, the first being its own: outputs of models that name theirs are put into that order.
    With `compile` torch compiles the module. `prompts` tells a model of images and texts its
    classes: a set's name, or a file."""
    file = None if checkpoint is None else Path(checkpoint)
    # One model with other weights, or other prompts, is another model.
    other = f" @ {file.name}" if file else ""
    if prompts is not None:
        other += f" with {Path(prompts).name}"
    label = printable(name or (f"{model}{other}" if isinstance(model, str) else ""))
    options = Options(
        label,
        file,
        trust,
        device or "auto",
        precision,
        batch,
        as_override(preprocessing),
        side,
        classes,
        compile,
        None if prompts is None else os.fspath(prompts),
    )
    if prompts is not None and not heeds("prompts", model):
        raise InputError(
            f"{model if isinstance(model, str) else 'this model'} takes no prompts: they are for "
            "models of images and texts, such as clip:DIR"
        )
    made = _load(model, options, name)
    if compile and not facts_of(made).compiled:
        raise InputError(
            f"{made.name} takes no compile: torch compiles modules that are loaded by name, as "
            "timm:resnet50 is"
        )
    return made


def _load(model: str | Callable[..., Any] | Model, options: Options, name: str | None) -> Model:
    if isinstance(model, str):
        return model_by_name(model, options)
    if all(hasattr(model, part) for part in NEEDED):
        made = completed(model)
        ready = "it is made already; decide that where you make it"
        if name is not None:
            raise InputError(f"{made.name} takes no other name: {ready}")
        decided = ("checkpoint", "device", "precision", "batch", "preprocessing")
        replace(options, name=made.name).refuse(**dict.fromkeys(decided, ready))
        return made
    if follows_maite(model) and callable(model):
        return MaiteModel(model, options)
    torch = sys.modules.get("torch")  # else nobody can have made a module of it
    if torch is not None and isinstance(model, torch.nn.Module):
        from hardy.models.adapters.torch_sources import given_module

        return given_module(model, options)
    if callable(model):
        return FunctionModel(model, options)
    raise InputError(
        f'expected a model\'s name such as "timm:resnet50", a torch module or a function, got '
        f"{type(model).__name__}"
    )


def model_by_name(model: str, options: Options) -> Model:
    """A model such as "timm:resnet50", made by the adapter of its kind."""
    kind, _, rest = model.partition(":")
    if kind not in MODELS and (such := _meant(model)):
        raise InputError(
            f'expected a model as KIND:NAME, such as {such}, got "{model}" '
            f"(all kinds: {', '.join(MODELS)})"
        )
    adapter = MODELS.find(kind, asked_for=model)
    if not rest:
        raise InputError(f'expected "{MODELS.form(kind)}", got "{model}"')
    return completed(adapter(rest, options))


def heeds(option: Literal["trust", "prompts"], model: object) -> bool:
    """Whether an option can change anything for a model; plug-ins may do as they like."""
    kind = model.partition(":")[0] if isinstance(model, str) else ""
    return kind in _HEED[option] or kind in MODELS.plugins()


def will_be_on_gpu(models: Iterable[object], device: str | None) -> bool:
    """Whether all are torch's, and seem to be bound for a GPU of NVIDIA. It is a guess, because
    torch, which would know, takes long to load."""
    if device is not None and not device.startswith("cuda"):
        return False
    torch = sys.modules.get("torch")
    there = os.path.exists("/dev/nvidiactl") if torch is None else torch.cuda.is_available()
    return there and all(_goes_to_gpu(model) for model in models)


def _goes_to_gpu(model: object) -> bool:
    if isinstance(model, str):
        return model.partition(":")[0] in _OF_TORCH
    torch = sys.modules.get("torch")  # a module stays where it is
    if torch is None or not isinstance(model, torch.nn.Module):
        return False
    return any(weight.is_cuda for weight in model.parameters())


def _meant(model: str) -> str:
    """What a name without its kind may stand for, by the suffix of its file; "": it has a kind."""
    file, colon, _ = model.partition(":")
    suffix = Path(file).suffix
    if suffix == ".py":
        return f"torch:{model}" if colon else f"torch:{model}:FACTORY"
    if suffix in _KIND_OF_FILE:
        return f"{_KIND_OF_FILE[suffix]}:{model}"
    return "" if colon else f"timm:{model} or torchvision:{model}"
