"""Sixteen neighbouring float32 at a time, where the compiler does not see them by itself.

Plain loads, products and sums, each rounded for itself: the same bits as one value at a time.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LANES = 16


@intrinsic
def add_mixed(typing_context: Any, before: Any, line: Any, place: Any, step: Any, weights: Any,
              target: Any, after: Any) -> Any:  # fmt: skip
    """after[target + k] = before[target + k] + (a + weights[target + k] * (b - a)), k < LANES.

    a is line[place + k], and b is line[place + step + k]. Indices are unsigned and not checked.
    """
    index = types.uint64
    signature = types.void(before, line, index, index, weights, index, after)

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        vector = ir.VectorType(ir.FloatType(), LANES)

        def at(argument: int, place: Any) -> Any:
            kind, value = signature.args[argument], arguments[argument]
            data = context.make_array(kind)(context, builder, value).data
            return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())

        place, step, target = arguments[2], arguments[3], arguments[5]
        a = builder.load(at(1, place), align=4)
        b = builder.load(at(1, builder.add(place, step)), align=4)
        weight = builder.load(at(4, target), align=4)
        mixed = builder.fadd(a, builder.fmul(weight, builder.fsub(b, a)))
        total = builder.fadd(builder.load(at(0, target), align=4), mixed)
        builder.store(total, at(6, target), align=4)
        return context.get_dummy_value()

    return signature, build
