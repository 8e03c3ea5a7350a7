"""Files of linear probes: weights, and the name of the model on whose features they work."""

import json
import math
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError, door
from hardy.limits import check_archive
from hardy.models.model import existing

_TODO = "expected what `hardy probe` writes, or arrays of these names and a text called backbone"
_ANEW = "make it anew by `hardy probe`"
BUFFER = "backbone."  # how the names of tensors begin that take the place of the backbone's own
_ARRAYS = ("weight", "bias", "backbone", "classes")
_HEADERS = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}


class ProbeFile(NamedTuple):
    weight: npt.NDArray[np.float32]  # (classes, features)
    bias: npt.NDArray[np.float32]
    backbone: str  # as one types it
    classes: tuple[str, ...] | None
    fingerprint: str | None  # of the backbone's weights
    trained_on: str | None
    preprocess: str | None  # how the backbone takes pixels, where it does not say
    held_out: str | None = None  # what its training left out, such as "imagenet_subtypes"
    buffers: Mapping[str, npt.NDArray[np.float32]] = {}  # of the backbone, as training left them


def read_probe(path: Path) -> ProbeFile:
    existing(path, "a linear probe")
    arrays, notes = _read_npz(path) if path.suffix == ".npz" else _read_safetensors(path)
    for name in ("weight", "backbone"):
        if name not in (notes if name == "backbone" else arrays):
            raise InputError(f"{path}: it has no {name}; {_TODO}")
    weight = arrays["weight"]
    bias = arrays.get("bias", np.zeros(len(weight)) if weight.ndim else weight)
    for name, array in (("weight", weight), ("bias", bias)):
        if array.dtype.kind not in "fiu":
            raise _unlike(path, f"{name} as real numbers", array)
    if weight.ndim != 2 or bias.shape != weight.shape[:1]:
        raise InputError(
            f"{path}: expected weight (classes, features) and bias (classes,), got {weight.shape} "
            f"and {bias.shape}; {_TODO}"
        )
    if not (np.isfinite(weight).all() and np.isfinite(bias).all()):
        raise InputError(f"{path}: expected numbers, got weights that are none; {_ANEW}")
    with door(f"the notes of {path}", _ANEW):
        said = json.loads(notes["classes"]) if "classes" in notes else None
        if not isinstance(said, list | None):
            raise ValueError(f"expected classes as a list, got {type(said).__name__}")
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
        notes.get("preprocess"),
        notes.get("held_out"),
        {name.removeprefix(BUFFER): one for name, one in arrays.items() if name.startswith(BUFFER)},
    )


def _read_npz(path: Path) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    check_archive(path)
    with door(path), zipfile.ZipFile(path) as archive:
        members = {one.filename.removesuffix(".npy"): one for one in archive.infolist()}
        found = {
            name: _read_array(archive, members[name], path) for name in _ARRAYS if name in members
        }
    notes = {}
    if "backbone" in found:
        backbone = found["backbone"]
        if backbone.dtype.kind != "U" or backbone.ndim:
            raise _unlike(path, "backbone as one text", backbone)
        notes["backbone"] = str(backbone)
    if "classes" in found:
        classes = found["classes"]
        if classes.dtype.kind not in "Uiu" or classes.ndim != 1:
            raise _unlike(path, "classes as a row of texts", classes)
        notes["classes"] = json.dumps([str(name) for name in classes])
    return found, notes


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> npt.NDArray[Any]:
    """An array, unless its header claims more than there is; nothing is unpickled."""
    held = member.file_size
    if member.compress_type == zipfile.ZIP_STORED:
        held = min(held, path.stat().st_size)
    with archive.open(member) as stream:
        version = np.lib.format.read_magic(stream)
        shape, _, dtype = _HEADERS[version](stream)
        held -= stream.tell()
        claimed = math.prod(shape) * dtype.itemsize
        if claimed > held:
            raise InputError(
                f"{path}, {member.filename.removesuffix('.npy')}: expected {claimed:,} bytes, got "
                f"{held:,}: the file is truncated; {_ANEW}"
            )
        stream.seek(0)
        array: npt.NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
    return array


def _unlike(path: Path, expected: str, got: npt.NDArray[Any]) -> InputError:
    return InputError(f"{path}: expected {expected}, got {got.dtype} {got.shape}; {_TODO}")


def _read_safetensors(path: Path) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    from hardy.models.weight_files import unpacked

    tensors, notes = unpacked(path, _ANEW)
    plain = {name: one if one.is_complex() else one.float() for name, one in tensors.items()}
    return {name: tensor.numpy() for name, tensor in plain.items()}, notes
