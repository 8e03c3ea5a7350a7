"""Weights from a file, without ever running what is in it. This file imports torch."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch

from hardy.errors import InputError
from hardy.models.calling import SAID, told
from hardy.models.model import existing, need

# Where training scripts put the weights among other things.
WRAPPINGS = ("state_dict", "model_state_dict", "model")
SHOWN = 3
# How torch says that a file is sound, but names code to be run.
NAMES_CODE = r"(?:Unsupported global: |Trying to |Can only (?:create|build) )[^\n]*"


def load_checkpoint(module: torch.nn.Module, path: Path) -> None:
    weights = read_weights(path)
    own = module.state_dict()
    missing = [
        name
        for name in own
        # A count that evaluation does not read, and that old files do not have.
        if name not in weights and not name.endswith("num_batches_tracked")
    ]
    surplus = [name for name in weights if name not in own]
    shapes = [
        f"{name} is {_shape(weights[name])} instead of {_shape(own[name])}"
        for name in own
        if name in weights and _shape(weights[name]) != _shape(own[name])
    ]
    faults = [
        f"{len(names)} {what} ({', '.join(names[:SHOWN])}{', ...' if len(names) > SHOWN else ''})"
        for what, names in (("missing", missing), ("unknown", surplus), ("misshapen", shapes))
        if names
    ]
    if faults:
        raise InputError(
            f"{path} does not fit the model: of {len(own)} expected tensors {', '.join(faults)}; "
            "name the model it was saved from, or write a factory that makes it: "
            "torch:package.module:factory"
        )
    module.load_state_dict(weights, strict=False)


def read_weights(path: Path) -> dict[str, Any]:
    """The tensors by name, whatever they are wrapped in."""
    existing(path, "a checkpoint")
    found = _read_safetensors(path) if path.suffix == ".safetensors" else _read_torch(path)
    for key in WRAPPINGS:
        if isinstance(found, Mapping) and isinstance(found.get(key), Mapping):
            found = found[key]
            break
    if not isinstance(found, Mapping) or not _has_tensors(found):
        keys = ", ".join(map(str, list(found)[:6])) if isinstance(found, Mapping) else ""
        raise InputError(
            f"{path}: expected a dictionary of tensors, by itself or under "
            f"{', '.join(WRAPPINGS)}; got {type(found).__name__}{f' of {keys}' if keys else ''}"
        )
    # DataParallel puts "module." before each name.
    return {str(name).removeprefix("module."): tensor for name, tensor in found.items()}


def _read_safetensors(path: Path) -> Any:
    library = need("safetensors.torch", "torch", str(path))
    try:
        return library.load_file(path)
    except Exception as error:  # its errors have no base of their own
        raise InputError(f"{path} is no safetensors file that can be read: {error}") from error


def _read_torch(path: Path) -> Any:
    try:
        with warnings.catch_warnings(action="ignore"):  # of pickle's protocols
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of what is damaged, torch raises nearly anything
        code = re.search(NAMES_CODE, str(error)) if isinstance(error, UnpicklingError) else None
        if code:
            raise InputError(
                f"{path} holds more than weights: reading it would run code out of it, which Hardy "
                "never does. Where you trust it, load it yourself and save the weights alone: "
                f"torch.save(model.state_dict(), FILE). (torch says: {code[0][:SAID]})"
            ) from error
        why = type(error).__name__ if isinstance(error, UnpicklingError) else told(error)
        raise InputError(
            f"{path} is no checkpoint that can be read ({why}); expected a file made by torch.save "
            "or a .safetensors file"
        ) from error


def _has_tensors(found: Mapping[Any, Any]) -> bool:
    return any(isinstance(value, torch.Tensor) for value in found.values())


def _shape(value: Any) -> tuple[int, ...] | None:
    return tuple(value.shape) if isinstance(value, torch.Tensor) else None
