"""How every CPU kernel is compiled.

No fastmath: a fused multiply-add or a reordered sum changes last bits, and with them bytes. The
GIL is released, so two threads do the work of two processes; machine code is cached on disk.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba.core.compiler_lock import global_compiler_lock

_config: Any = numba.config


def kernel(function: Callable[..., Any]) -> Any:
    """Compile at the first call, with LLVM's SLP vectoriser on.

    It turns straight-line code for the four values of a packed pixel into one vector operation
    (3.5 times faster bilinear mixing) and changes no arithmetic. numba has it off and offers only
    a process-wide setting, so it is on just while one of our kernels compiles.
    """
    compiled: Any = numba.njit(cache=True, nogil=True, error_model="numpy")(function)
    compile_plain = compiled.compile

    def compile_vectorised(signature: Any) -> Any:
        with global_compiler_lock:
            before, _config.SLP_VECTORIZE = _config.SLP_VECTORIZE, 1
            try:
                return compile_plain(signature)
            finally:
                _config.SLP_VECTORIZE = before

    compiled.compile = compile_vectorised
    return compiled
