"""Files of linear probes: weights, and the name of the model on whose features they work."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError, door
from hardy.models.model import existing

_TODO = "expected what `hardy probe` writes, or arrays of these names and a text called backbone"
_ANEW = "make it anew by `hardy probe`"


class ProbeFile(NamedTuple):
    weight: npt.NDArray[np.float32]  # (classes, features)
    bias: npt.NDArray[np.float32]
    backbone: str  # as one types it
    classes: tuple[str, ...] | None
    fingerprint: str | None  # of the backbone's weights
    trained_on: str | None


def read_probe(path: Path) -> ProbeFile:
    existing(path, "a linear probe")
    arrays, notes = _read_npz(path) if path.suffix == ".npz" else _read_safetensors(path)
    for name in ("weight", "backbone"):
        if name not in (notes if name == "backbone" else arrays):
            raise InputError(f"{path}: it has no {name}; {_TODO}")
    weight = arrays["weight"]
    bias = arrays.get("bias", np.zeros(len(weight)) if weight.ndim else weight)
    if weight.ndim != 2 or bias.shape != weight.shape[:1]:
        raise InputError(
            f"{path}: expected weight (classes, features) and bias (classes,), got {weight.shape} "
            f"and {bias.shape}; {_TODO}"
        )
    if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
        raise InputError(f"{path}: expected numbers, got weights that are none; {_ANEW}")
    with door(f"the notes of {path}", _ANEW):
        said = json.loads(notes["classes"]) if "classes" in notes else None
        classes = None if said is None else tuple(map(str, said))
    if classes is not None and len(classes) != len(weight):
        raise InputError(
            f"{path}: expected {len(weight)} names of classes, got {len(classes)}; {_ANEW}"
        )
    return ProbeFile(
        weight.astype(np.float32),
        bias.astype(np.float32),
        notes["backbone"],
        classes,
        notes.get("fingerprint"),
        notes.get("trained_on"),
    )


def _read_npz(path: Path) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    with door(path), np.load(path, allow_pickle=False) as file:
        found = {name: file[name] for name in file.files}
    notes = {name: str(found[name]) for name in ("backbone",) if name in found}
    if "classes" in found:
        notes["classes"] = json.dumps([str(name) for name in found["classes"]])
    return found, notes


def _read_safetensors(path: Path) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    from hardy.models.weight_files import unpacked

    tensors, notes = unpacked(path, _ANEW)
    return {name: tensor.float().numpy() for name, tensor in tensors.items()}, notes
