"""Weights as other libraries keep them, read as arrays: TensorFlow.js, TensorFlow Lite, pickles.

Each reader takes the bytes of files whose hash is known. None of them runs anything out of a file.
"""

import io
import json
import math
import pickle
import struct
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hardy.errors import InputError

Arrays = dict[str, npt.NDArray[np.float32]]


def tensorflow_js(files: Mapping[str, bytes]) -> Arrays:
    """The floats of a folder of TensorFlow.js: model.json says what lies where in the shards."""
    by_name = {path.rpartition("/")[2]: content for path, content in files.items()}
    found: Arrays = {}
    for group in json.loads(by_name["model.json"])["weightsManifest"]:
        content, start = b"".join(by_name[path] for path in group["paths"]), 0
        for weight in group["weights"]:
            if "quantization" in weight or weight["dtype"] not in ("float32", "int32"):
                raise InputError(f"{weight['name']}: expected plain float32 in TensorFlow.js")
            number = math.prod(weight["shape"])
            array = np.frombuffer(content, "<f4", number, start).reshape(weight["shape"])
            start += array.nbytes  # whole numbers are as wide
            if weight["dtype"] == "float32":
                found[weight["name"]] = array
    return found


# Fields of TensorFlow Lite's published form, each by its place in its table.
_SUBGRAPHS, _BUFFERS, _TENSORS, _SHAPE, _KIND, _BUFFER, _NAME, _DATA = 2, 4, 0, 0, 1, 2, 3, 0
_FLOAT32 = 0  # among the kinds of tensors


def tensorflow_lite(content: bytes) -> Arrays:
    """The float constants of a .tflite file, which is a table of flatbuffers."""
    model = _Table(content, struct.unpack_from("<I", content)[0])
    buffers = model.tables(_BUFFERS)
    found: Arrays = {}
    for tensor in model.tables(_SUBGRAPHS)[0].tables(_TENSORS):
        data = buffers[tensor.number(_BUFFER, "<I")].vector(_DATA, np.uint8)
        if len(data) and tensor.number(_KIND, "<b") == _FLOAT32:
            name = tensor.vector(_NAME, np.uint8).tobytes().decode()
            found[name] = data.view("<f4").reshape(tensor.vector(_SHAPE, np.int32))
    return found


class _Table:
    """A table of flatbuffers: behind it lies a list of where its fields are."""

    def __init__(self, content: bytes, place: int) -> None:
        self._content, self._place = content, place
        self._fields = place - struct.unpack_from("<i", content, place)[0]

    def _at(self, field: int) -> int:
        """Where a field lies; 0 where it is left out."""
        (size,) = struct.unpack_from("<H", self._content, self._fields)
        place = 4 + 2 * field
        if place >= size:
            return 0
        (offset,) = struct.unpack_from("<H", self._content, self._fields + place)
        return self._place + offset if offset else 0

    def number(self, field: int, form: str) -> int:
        at = self._at(field)
        return int(struct.unpack_from(form, self._content, at)[0]) if at else 0

    def vector(self, field: int, dtype: npt.DTypeLike) -> npt.NDArray[Any]:
        at = self._at(field)
        if not at:
            return np.empty(0, dtype)
        start = at + struct.unpack_from("<I", self._content, at)[0]
        (length,) = struct.unpack_from("<I", self._content, start)
        return np.frombuffer(self._content, dtype, length, start + 4)

    def tables(self, field: int) -> list["_Table"]:
        at = self._at(field)
        if not at:
            return []
        start = at + struct.unpack_from("<I", self._content, at)[0]
        (length,) = struct.unpack_from("<I", self._content, start)
        places = range(start + 4, start + 4 + 4 * length, 4)
        return [
            _Table(self._content, at + struct.unpack_from("<I", self._content, at)[0])
            for at in places
        ]


def pickled_arrays(content: bytes) -> dict[str, Any]:
    """Arrays by name out of a pickle; one that names anything but NumPy's arrays is refused."""
    found: dict[str, Any] = _OnlyArrays(io.BytesIO(content)).load()
    return found


class _OnlyArrays(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in (("numpy", "ndarray"), ("numpy", "dtype")):
            return getattr(np, name)
        if name == "_reconstruct" and module.startswith("numpy."):  # its home differs by version
            return np.empty(0).__reduce__()[0]
        raise InputError(f"expected a pickle of arrays alone, got one that names {module}.{name}")
