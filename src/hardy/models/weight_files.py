"""Files of weights: read without ever running what is in them, and written with a sum of it all,
by which a byte that changed is noticed. This file imports torch."""

import hashlib
import json
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

import torch
from torch import Tensor

from hardy.errors import SAID, InputError, need, told
from hardy.limits import check_archive
from hardy.models.model import existing

# Where training scripts put the weights among other things; under any name where they are alone.
_WRAPPINGS = ("state_dict", "model_state_dict", "model")
SUM = "hardy_sha256"  # the name of the note that holds the sum
# How torch says that a file is sound, but names code to be run.
_NAMES_CODE = r"(?:Unsupported global: |Trying to |Can only (?:create|build) )[^\n]*"


def read_weights(path: Path, unreadable: str) -> dict[str, Any]:
    """The tensors by name, whatever they are wrapped in."""
    existing(path, "a checkpoint")
    if path.suffix == ".safetensors":
        found, _ = unpacked(path, unreadable)
    else:
        found = _unwrapped(_read_torch(path))
    if not isinstance(found, Mapping) or not _has_tensors(found):
        keys = ", ".join(map(str, list(found)[:6])) if isinstance(found, Mapping) else ""
        raise InputError(
            f"{path}: expected a dictionary of tensors, by itself, under {', '.join(_WRAPPINGS)}, "
            "or as the only one under another name; got "
            f"{type(found).__name__}{f' of {keys}' if keys else ''}"
        )
    return {str(name): tensor for name, tensor in found.items()}


def _unwrapped(found: Any) -> Any:
    if not isinstance(found, Mapping):
        return found
    for key in _WRAPPINGS:
        if isinstance(found.get(key), Mapping):
            return found[key]
    inner = [value for value in found.values() if isinstance(value, Mapping)]
    inner = [value for value in inner if _has_tensors(value)]
    return inner[0] if len(inner) == 1 and not _has_tensors(found) else found


def _read_torch(path: Path) -> Any:
    check_archive(path)
    try:
        with warnings.catch_warnings(action="ignore"):  # of pickle's protocols
            return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # of what is damaged, torch raises nearly anything
        code = re.search(_NAMES_CODE, str(error)) if isinstance(error, UnpicklingError) else None
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


def packed(tensors: Mapping[str, Tensor], notes: Mapping[str, str], target: Path) -> bytes:
    """The content of a safetensors file, the same bytes for the same tensors and notes."""
    library = need("safetensors.torch", "torch", str(target))
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    return _in_order(library.save(ready, metadata={**notes, SUM: _sum(ready, notes)}))


def _in_order(content: bytes) -> bytes:
    """A safetensors file whose notes are sorted, where the library has them in any order."""
    end = 8 + int.from_bytes(content[:8], "little")
    head = json.dumps(json.loads(content[8:end]), sort_keys=True, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)  # tensors begin at a multiple of 8 bytes
    return len(head).to_bytes(8, "little") + head + content[end:]


def unpacked(path: Path, todo: str) -> tuple[dict[str, Tensor], dict[str, str]]:
    """The tensors, and the notes beside them, as they were written; other files have no sum."""
    existing(path, "a checkpoint")
    library: Any = need("safetensors", "torch", str(path))
    try:
        with library.safe_open(path, "pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            notes = file.metadata() or {}
    except Exception as error:  # its errors have no base of their own
        raise InputError(f"{path} is no checkpoint that can be read ({error}); {todo}") from error
    written = notes.pop(SUM, None)
    if written not in (None, _sum(tensors, notes)):
        raise InputError(f"{path} is damaged (it is not as it was written, by its SHA-256); {todo}")
    return tensors, notes


def _sum(tensors: Mapping[str, Tensor], notes: Mapping[str, str]) -> str:
    """SHA-256 of the notes and of names, types, shapes and bytes. The tensors lie on the host."""
    digest = hashlib.sha256(json.dumps(sorted(notes.items())).encode())
    for name, tensor in sorted(tensors.items()):
        digest.update(json.dumps([name, str(tensor.dtype), tuple(tensor.shape)]).encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
