"""What a .tflite file says and its runtime does not: how images are normalised, and whether the
last step is a softmax.

The file is a table of flatbuffers, whose form the runtime's package knows. Within it lies another,
TensorFlow's metadata. Of that a few fields are read here, by their places in its published form.
"""

import struct
from typing import Any

import numpy as np
import numpy.typing as npt
from ai_edge_litert import schema_py_generated as schema
from flatbuffers import number_types
from flatbuffers.table import Table

from hardy.errors import InputError

# Fields of the metadata, each by its place in its table.
_SUBGRAPHS, _INPUTS, _PROCESS_UNITS, _OPTIONS_KIND, _OPTIONS, _MEAN, _STD = 3, 2, 4, 0, 1, 0, 1
_NORMALISATION = 1  # among the kinds of options
_MOST_UNITS = 8  # of the steps before a network; a damaged file may claim billions
# What hands its values on, in another form.
_PASSING = (
    schema.BuiltinOperator.QUANTIZE,
    schema.BuiltinOperator.DEQUANTIZE,
    schema.BuiltinOperator.RESHAPE,
)

Figures = npt.NDArray[np.float32]


def ends_in_softmax(content: bytes) -> bool:
    """Whether the first output is a softmax's, as TensorFlow's classifiers mostly have it."""
    model = schema.Model.GetRootAs(content)
    graph = model.Subgraphs(0)
    steps = [graph.Operators(place) for place in range(graph.OperatorsLength())]
    made_by = {step.Outputs(0): step for step in steps if step.OutputsLength()}
    tensor = graph.Outputs(0)
    while step := made_by.pop(tensor, None):
        code = model.OperatorCodes(step.OpcodeIndex())
        kind = max(code.BuiltinCode(), code.DeprecatedBuiltinCode())  # older files have the latter
        if kind not in _PASSING:
            return bool(kind == schema.BuiltinOperator.SOFTMAX)
        tensor = step.Inputs(0)
    return False


def stated_normalisation(content: bytes) -> tuple[Figures, Figures] | None:
    """The metadata's mean and std in units of 0..255, one figure each or one per channel."""
    model = schema.Model.GetRootAs(content)
    for place in range(model.MetadataLength()):
        entry = model.Metadata(place)
        if entry.Name() == b"TFLITE_METADATA":
            packed = model.Buffers(entry.Buffer()).DataAsNumpy().tobytes()
            try:
                return _normalisation(packed)
            except (struct.error, ValueError, TypeError, IndexError) as error:
                raise InputError(f"its metadata cannot be read ({error})") from error
    return None


def _normalisation(packed: bytes) -> tuple[Figures, Figures] | None:
    (start,) = struct.unpack_from("<I", packed)
    found: list[Any] = [Table(packed, start)]
    for field in (_SUBGRAPHS, _INPUTS, _PROCESS_UNITS):
        found = _tables(found[0], field) if found else []
    for unit in found:
        kind, options = _at(unit, _OPTIONS_KIND), _at(unit, _OPTIONS)
        if (
            kind
            and options
            and unit.Get(number_types.Uint8Flags, unit.Pos + kind) == _NORMALISATION
        ):
            figures = Table(packed, unit.Indirect(unit.Pos + options))
            mean, std = _at(figures, _MEAN), _at(figures, _STD)
            if mean and std:
                flags = number_types.Float32Flags
                return figures.GetVectorAsNumpy(flags, mean), figures.GetVectorAsNumpy(flags, std)
    return None


def _at(table: Any, field: int) -> int:
    """Where a field lies within its table; 0 where it is left out."""
    return int(table.Offset(4 + 2 * field))


def _tables(table: Any, field: int) -> list[Any]:
    offset = _at(table, field)
    if not offset:
        return []
    number, first = min(table.VectorLen(offset), _MOST_UNITS), table.Vector(offset)
    return [Table(table.Bytes, table.Indirect(first + 4 * place)) for place in range(number)]
