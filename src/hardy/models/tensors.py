"""Files of tensors with a sum of all that is in them: a byte that changed is noticed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from hardy.errors import InputError, need
from hardy.models.model import existing

SUM = "hardy_sha256"  # a note beside the others


def packed(tensors: Mapping[str, Tensor], notes: Mapping[str, str], target: Path) -> bytes:
    """The content of a safetensors file."""
    library = need("safetensors.torch", "torch", str(target))
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    content: bytes = library.save(ready, metadata={**notes, SUM: _sum(ready, notes)})
    return content


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
