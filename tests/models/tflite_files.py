"""Tiny TensorFlow Lite files: the mean of each channel, times weights, and perhaps a softmax.

They are written through the tables of the file format that LiteRT's own package has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema

OPERATOR, KIND = schema.BuiltinOperator, schema.TensorType
WEIGHTS = np.array([[1.5, -0.5, 0.2], [-1, 2, 0.1], [0.3, 0.4, -1.8], [0.6, -1.1, 0.7]], np.float32)
_KINDS = {np.float32: KIND.FLOAT32, np.uint8: KIND.UINT8, np.int8: KIND.INT8, np.int32: KIND.INT32}


class Writer:
    def __init__(self) -> None:
        self.model, self.graph = schema.ModelT(), schema.SubGraphT()
        self.model.version, self.model.subgraphs = 3, [self.graph]
        self.model.buffers, self.model.operatorCodes = [schema.BufferT()], []
        self.model.metadata = []
        self.graph.tensors, self.graph.operators = [], []

    def buffer(self, data: bytes) -> int:
        made = schema.BufferT()
        made.data = np.frombuffer(data, np.uint8)
        self.model.buffers.append(made)
        return len(self.model.buffers) - 1

    def tensor(
        self,
        name: str,
        kind: type,
        shape: list[int],
        scale: tuple[float, int] | None = None,
        values: Any = None,
    ) -> int:
        """Its number; sides of −1 are free."""
        made = schema.TensorT()
        made.name, made.type = name, _KINDS[kind]
        made.shape, made.shapeSignature = [max(side, 1) for side in shape], shape
        if scale:
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale, made.quantization.zeroPoint = [scale[0]], [scale[1]]
        made.buffer = 0 if values is None else self.buffer(np.asarray(values, kind).tobytes())
        self.graph.tensors.append(made)
        return len(self.graph.tensors) - 1

    def step(self, kind: int, inputs: list[int], output: int, options: str = "") -> int:
        code, made = schema.OperatorCodeT(), schema.OperatorT()
        code.builtinCode, code.deprecatedBuiltinCode, code.version = kind, min(kind, 127), 2
        made.opcodeIndex, made.inputs, made.outputs = len(self.graph.operators), inputs, [output]
        if options:
            made.builtinOptionsType = getattr(schema.BuiltinOptions, options)
            made.builtinOptions = getattr(schema, f"{options}T")()
            if options == "SoftmaxOptions":
                made.builtinOptions.beta = 1.0
        self.model.operatorCodes.append(code)
        self.graph.operators.append(made)
        return output

    def write(self, path: Path) -> Path:
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        path.write_bytes(bytes(builder.Output()))
        return path


def write(
    path: Path,
    shape: tuple[int, ...] = (-1, 12, 12, 3),
    *,
    softmax: bool = False,
    metadata: bytes | None = None,
) -> Path:
    """A file of floats."""
    file, last = Writer(), shape[3] == 3
    rows, classes = shape[0], len(WEIGHTS)
    pixels = file.tensor("pixels", np.float32, [*shape])
    axes = file.tensor("axes", np.int32, [2], values=[1, 2] if last else [2, 3])
    means = file.tensor("means", np.float32, [rows, 3])
    weights = file.tensor("weights", np.float32, [classes, 3], values=WEIGHTS)
    scores = file.tensor("scores", np.float32, [rows, classes])
    file.step(OPERATOR.MEAN, [pixels, axes], means, "ReducerOptions")
    file.step(OPERATOR.FULLY_CONNECTED, [means, weights], scores, "FullyConnectedOptions")
    file.graph.inputs, file.graph.outputs = [pixels], [scores]
    if softmax:
        shares = file.tensor("shares", np.float32, [rows, classes])
        file.graph.outputs = [file.step(OPERATOR.SOFTMAX, [scores], shares, "SoftmaxOptions")]
    if metadata is not None:
        add_metadata(file, metadata)
    return file.write(path)


def write_quantised(
    path: Path,
    *,
    kind: type = np.uint8,
    scale: tuple[float, int] = (1 / 127.5, 128),
    softmax: bool = False,
    metadata: bytes | None = None,
) -> Path:
    """An int8 network between an input and an output of whole numbers, one image at a time."""
    file, classes = Writer(), len(WEIGHTS)
    inside = (scale[0], scale[1] - 128 if kind is np.uint8 else scale[1])
    pixels = given = file.tensor("pixels", kind, [1, 12, 12, 3], scale)
    if kind is np.uint8:
        given = file.tensor("given", np.int8, [1, 12, 12, 3], inside)
        file.step(OPERATOR.QUANTIZE, [pixels], given)
    axes = file.tensor("axes", np.int32, [2], values=[1, 2])
    means = file.tensor("means", np.int8, [1, 3], inside)
    weights = file.tensor("weights", np.int8, [classes, 3], (2 / 127, 0), np.rint(WEIGHTS * 63.5))
    scores = file.tensor("scores", np.int8, [1, classes], SCORES)
    file.step(OPERATOR.MEAN, [given, axes], means, "ReducerOptions")
    file.step(OPERATOR.FULLY_CONNECTED, [means, weights], scores, "FullyConnectedOptions")
    last = scores
    if softmax:
        shares = file.tensor("shares", np.int8, [1, classes], (1 / 256, -128))
        file.step(OPERATOR.SOFTMAX, [scores], shares, "SoftmaxOptions")
        last = file.tensor("bytes", np.uint8, [1, classes], (1 / 256, 0))
        file.step(OPERATOR.QUANTIZE, [shares], last)
    file.graph.inputs, file.graph.outputs = [pixels], [last]
    if metadata is not None:
        add_metadata(file, metadata)
    return file.write(path)


SCORES = (0.03, 5)  # scale and zero of the scores of a quantised file


def add_metadata(file: Writer, packed: bytes) -> None:
    entry = schema.MetadataT()
    entry.name, entry.buffer = "TFLITE_METADATA", file.buffer(packed)
    file.model.metadata.append(entry)


def normalisation(mean: list[float], std: list[float]) -> bytes:
    """TensorFlow's metadata of a file whose one input is normalised so."""
    builder = flatbuffers.Builder(256)

    def vector(values: list[int], *, floats: bool = False) -> int:
        builder.StartVector(4, len(values), 4)
        for value in reversed(values):
            (builder.PrependFloat32 if floats else builder.PrependUOffsetTRelative)(value)
        return builder.EndVector()

    def table(slots: int, **fields: Any) -> int:
        builder.StartObject(slots)
        for field, offset in fields.items():
            builder.PrependUOffsetTRelativeSlot(int(field[1:]), offset, 0)
        return builder.EndObject()

    figures = [vector(values, floats=True) for values in (mean, std)]
    options = table(2, _0=figures[0], _1=figures[1])
    builder.StartObject(2)
    builder.PrependUint8Slot(0, 1, 0)
    builder.PrependUOffsetTRelativeSlot(1, options, 0)
    unit = builder.EndObject()
    pixels = table(7, _4=vector([unit]))
    graph = table(8, _2=vector([pixels]))
    builder.Finish(table(8, _3=vector([graph])), b"M001")
    return bytes(builder.Output())
