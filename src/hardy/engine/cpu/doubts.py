"""Bytes that a float32 sum leaves in doubt.

Such a sum takes half the time of a float64 one, and its error has a bound. A byte is certain where
both ends of that range give the same one, which is nearly everywhere; the others are computed as
the formula says.
"""

import numpy as np

from hardy.engine.cpu.compile import kernel

_BLOCK = 128  # bytes that are compared at once


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
