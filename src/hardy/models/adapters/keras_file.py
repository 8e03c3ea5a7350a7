"""What a .keras file holds, looked at before Keras is given it: nothing of it is run here."""

import hashlib
import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hardy.documents import without_fields
from hardy.errors import InputError, door
from hardy.limits import RECORD, check_archive
from hardy.models.adapters.config_checks import check_depth
from hardy.models.model import existing

_CONFIG = "config.json"
_WEIGHTS = ("model.weights.h5", "model.weights.npz")
_MEMBERS = ("metadata.json", _CONFIG, *_WEIGHTS)
_HDF5 = b"\x89HDF\r\n\x1a\n"
_CHUNK = 1 << 20
# Layers that carry Python code, a pickle or another program with them.
_CODE = ("Lambda", "__lambda__", "TorchModuleWrapper", "JaxLayer", "FlaxLayer", "TFSMLayer")
# What changes no output: how it was trained, and addresses in the memory that it was saved from.
_IDLE = ("compile_config", "shared_object_id")
_ANEW = "load it where it was made, and save it anew: model.save('model.keras')"


class KerasContent(NamedTuple):
    """What tells one file from another, and the classes in it that are not Keras' own."""

    config: Mapping[str, Any]
    weights: str  # SHA-256
    held: int  # bytes of weights
    foreign: tuple[str, ...]


def read_keras_file(path: Path, *, trust: bool) -> KerasContent:
    existing(path, "a .keras file")
    _check_kind(path)
    check_archive(path)
    with door(path), zipfile.ZipFile(path) as archive:
        members = _checked_members(archive, path)
        held = archive.getinfo(members).file_size
        config = json.loads(archive.read(_CONFIG))
        weights = hashlib.sha256()
        # To the end, where the sums of the zip are compared.
        with archive.open(members) as file:
            while chunk := file.read(_CHUNK):
                weights.update(chunk)
    if not isinstance(config, Mapping):
        raise InputError(f"{path}: expected a model in its {_CONFIG}, got no table; {_ANEW}")
    check_depth(config, path)
    described = list(_described(config))
    code = next((one for one in described if one["class_name"] in _CODE), None)
    if code is not None and not trust:
        raise InputError(
            f"{path}: its layer {_called(code)} brings code in the file, which would be run; if "
            "you trust it, say `trust=True`, or save the model with layers of Keras' own instead"
        )
    foreign = tuple(sorted({name for one in described if (name := _foreign_name(one))}))
    return KerasContent(without_fields(config, _IDLE), weights.hexdigest(), held, foreign)


def _check_kind(path: Path) -> None:
    with path.open("rb") as file:
        is_hdf5 = file.read(len(_HDF5)) == _HDF5
    if is_hdf5 or path.suffix in (".h5", ".hdf5"):
        raise InputError(
            f"{path}: expected a .keras file, got HDF5, the format before Keras 3, which may run "
            f"code when it is read; where you trust it, {_ANEW}"
        )
    if path.suffix != ".keras" or not zipfile.is_zipfile(path):
        raise InputError(
            f"expected a .keras file, which is a zip with {_CONFIG} and {_WEIGHTS[0]}, got {path}, "
            f"which is none; {_ANEW}"
        )


def _checked_members(archive: zipfile.ZipFile, path: Path) -> str:
    """The name of the weights in the archive, if it has what a .keras file has and no more."""
    found = {one.filename: one for one in archive.infolist()}
    weights = [name for name in _WEIGHTS if name in found]
    odd = sorted(set(found) - set(_MEMBERS))
    if odd or _CONFIG not in found or len(weights) != 1 or len(found) < len(archive.infolist()):
        held = ", ".join([*odd, *sorted(set(found) - set(odd))][:5]) or "nothing"
        raise InputError(
            f"{path}: expected a zip with {_CONFIG}, metadata.json and {_WEIGHTS[0]}, each once, "
            f"got {held}{', …' if len(found) > 5 else ''}; {_ANEW}"
        )
    room = path.stat().st_size
    for one in found.values():
        if one.compress_size > room or (not one.compress_type and one.file_size > room):
            raise InputError(
                f"{path}: {one.filename} claims {one.file_size:,} bytes, more than the file has; "
                "take another copy of it"
            )
    RECORD.check(found[_CONFIG].file_size, f"{_CONFIG} in {path}")
    return weights[0]


def _described(config: Any) -> Iterator[Mapping[str, Any]]:
    """Whatever is said to be of a class, at any depth."""
    waiting = [config]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            if isinstance(one.get("class_name"), str):
                yield one
            waiting.extend(one.values())
        elif isinstance(one, list):
            waiting.extend(one)


def _called(described: Mapping[str, Any]) -> str:
    config = described.get("config")
    name = config.get("name") if isinstance(config, Mapping) else None
    return f'"{name}", a {described["class_name"]},' if name else f"of {described['class_name']}"


def _foreign_name(described: Mapping[str, Any]) -> str:
    """What a class is called that is not Keras' own; "" for its own, which have a module of it."""
    module, registered = described.get("module"), described.get("registered_name")
    if str(module).partition(".")[0] in ("keras", "builtins"):
        return ""
    return str(registered or (f"{module}.{described['class_name']}" if module else ""))
