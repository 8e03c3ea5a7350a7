"""How every CPU kernel is compiled.

No fastmath: a fused multiply-add or a reordered sum changes last bits, and with them bytes, but for
the rough sums of `doubts`. The GIL is released, so two threads do the work of two processes;
machine code is cached on disk.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from multiprocessing import current_process
from pathlib import Path
from typing import Any

import numba
from numba.core import event
from numba.core.caching import NullCache
from numba.core.compiler_lock import global_compiler_lock

from hardy import progress

_config: Any = numba.config


def kernel(function: Callable[..., Any]) -> Any:
    """Compile at the first call, with LLVM's SLP vectoriser on.

    It turns straight-line code for the four values of a packed pixel into one vector operation
    (3.5 times faster bilinear mixing) and changes no arithmetic. numba has it off and offers only
    a process-wide setting, so it is on just while one of our kernels compiles.
    """
    compiled: Any = numba.njit(nogil=True, error_model="numpy")(function)
    try:
        compiled.enable_caching()
    except RuntimeError:
        pass  # no folder can be written: every process compiles anew, as `hardy doctor` says
    else:
        # numba takes cached code for good as long as the kernel's own file is unchanged. A kernel
        # also depends on kernels and constants of other files, so the stamp covers them.
        compiled._cache._cache_file._source_stamp = _sources()
    compile_plain = compiled.compile

    def compile_vectorised(signature: Any) -> Any:
        with global_compiler_lock, event.install_listener("numba:compile", _TELLER):
            before, _config.SLP_VECTORIZE = _config.SLP_VECTORIZE, 1
            try:
                return compile_plain(signature)
            except Exception:
                # Damaged by a crash, or its disk is full: start it anew, do without for now. An
                # error of the kernel itself comes again.
                with suppress(OSError):
                    compiled._cache.flush()
                compiled._cache = NullCache()
                return compile_plain(signature)
            finally:
                _config.SLP_VECTORIZE = before

    compiled.compile = compile_vectorised
    return compiled


class _Teller(event.Listener):
    """Says, once a process, that kernels are compiled: numba has not found them in its cache."""

    told = False

    def on_start(self, event: Any) -> None:
        first = current_process().name.endswith(("MainProcess", "-1"))  # of several workers
        if first and not self.told:
            self.told = True
            progress.mention(
                "compiling corruptions for this machine, once: the first use of each takes some "
                "seconds more"
            )

    def on_end(self, event: Any) -> None:
        pass


_TELLER = _Teller()


def cache_folder(compiled: Any) -> str | None:
    """Where a kernel's machine code is kept; None if nowhere can be written."""
    return getattr(compiled._cache, "cache_path", None)


@cache
def _sources() -> str:
    """A digest of all that kernels are compiled from: this folder, and constants from outside."""
    here = Path(__file__).parent
    outside = (here.parent / name for name in ("rng.py", "portable.py"))
    files = [*sorted(here.glob("*.py")), *outside]
    return sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
