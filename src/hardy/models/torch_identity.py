"""What a torch module is, beside its name: weights, layers, and the code that uses them."""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from numbers import Number
from types import ModuleType
from typing import Any

import torch

from hardy.errors import InputError

TORCH_LIBRARIES = ("torch", "torchvision", "timm")
_SEED = "/seed_generator_state"  # of Keras' dropout: drawn anew whenever a model is loaded


def hash_weights(module: torch.nn.Module) -> str:
    """A hash of parameters and all buffers, also those that checkpoints leave out."""
    tensors = {**module.state_dict(), **dict(module.named_buffers())}
    together = hashlib.sha256()
    for name in sorted(name for name in tensors if not name.endswith(_SEED)):
        _feed(together, name, tensors[name])
    return together.hexdigest()


def _feed(together: hashlib._Hash, name: str, value: Any) -> None:
    if isinstance(value, list | tuple):  # the packed weights of quantised layers
        for place, inner in enumerate(value):
            _feed(together, f"{name}[{place}]", inner)
    elif isinstance(value, torch.Tensor):
        together.update(f"{name} {value.dtype} {tuple(value.shape)}".encode())
        if value.is_meta or value.layout != torch.strided:
            kind = "on the device meta, without values" if value.is_meta else "sparse"
            raise InputError(
                f"expected plain tensors as weights, got {name}, which is {kind}; load the weights "
                "before the model is given to Hardy, and make them dense: tensor.to_dense()"
            )
        plain = value.dequantize() if value.is_quantized else value
        together.update(plain.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy())
    else:  # get_extra_state
        together.update(f"{name} {value!r}".encode())


def structure(module: torch.nn.Module) -> list[str]:
    """What the weights do not say: the layers as torch prints them, their plain attributes, and the
    source of layers that no library brings, since the same weights can be used in other ways.
    (Versions of libraries are kept with the results.)
    """
    printed = re.sub(r" at 0x[0-9a-f]+", "", str(module))
    kinds = {type(part) for part in module.modules()}
    own = [kind for kind in kinds if not _in_library(kind.__module__)]
    scripts = [part for part in module.modules() if isinstance(part, torch.jit.ScriptModule)]
    code = [str(getattr(part, "code", "")) for part in scripts]
    return [printed, *_attributes(module), *code, *sorted(_source(kind) for kind in own)]


def _attributes(module: torch.nn.Module) -> list[str]:
    # Left out: torch's own bookkeeping, such as whether it is training or was compiled.
    usual = {*vars(torch.nn.Module()), "_is_torch_compile"}
    return sorted(
        f"{path}.{name} = {value!r}"
        for path, part in module.named_modules()
        for name, value in vars(part).items()
        if name not in usual and _is_plain(value)
    )


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | Number)


def module_source(name: str) -> str:
    """The source of a factory's file: what it makes depends on constants and functions there."""
    return "" if _in_library(name) else _source(sys.modules[name])


def _in_library(module: str) -> bool:
    return module.partition(".")[0] in TORCH_LIBRARIES


def _source(thing: type | ModuleType) -> str:
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError):  # typed at a prompt
        return thing.__name__
