"""Bytes that a float32 sum leaves in doubt.

Such a sum takes half the time of a float64 one, and its error has a bound. A byte is certain where
both ends of that range give the same one, which is nearly everywhere; the others are computed as
the formula says.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hardy.engine.cpu.compile import kernel

_BLOCK = 128  # bytes that are compared at once


@intrinsic
def plus(typing_context: Any, total: Any, a: Any, b: Any) -> Any:
    """total + a * b. In float32 product and sum are rounded once where the processor does both at
    once: that is closer, and the bound holds either way. In float64 each is rounded for itself."""
    signature = total(total, a, b) if total == a == b else None

    def build(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        total, a, b = arguments
        if signature.return_type != types.float32:
            return builder.fadd(total, builder.fmul(a, b))
        kind = ir.FloatType()
        whole = ir.FunctionType(kind, [kind] * 3)
        fused = builder.module.declare_intrinsic("llvm.fmuladd", [kind], whole)
        return builder.call(fused, [a, b, total])

    return signature, build


@kernel
def next_doubt(least, most, x):
    """The first place from x on where the two ends differ; beyond the last one, if none does."""
    while x < len(least):
        if x % _BLOCK == 0:
            differ = np.uint8(0)
            some, others = least[x : x + _BLOCK], most[x : x + _BLOCK]
            for k in range(len(some)):
                differ |= some[k] ^ others[k]
            if not differ:
                x += _BLOCK
                continue
        if least[x] != most[x]:
            break
        x += 1
    return x
