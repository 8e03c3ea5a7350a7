"""How a function becomes a Triton kernel that is compiled as rarely as can be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import triton


def jit(function: Callable[..., Any] | None = None, *, general: Sequence[str] = ()) -> Any:
    """Like `triton.jit`; what is compiled is kept until the kernel, or one that it calls, changes.
    Triton itself compiles it anew when it has moved to another line of its file.

    Of other whole numbers than the `general` ones a kernel is compiled for 1, for multiples of 16
    and for the rest: that pays only where it lets loads and stores be wider.
    """
    if function is None:
        return lambda function: jit(function, general=general)
    kernel: Any = triton.jit(function, do_not_specialize=list(general))
    kernel.starting_line_number = 1  # a part of Triton's key
    return kernel
