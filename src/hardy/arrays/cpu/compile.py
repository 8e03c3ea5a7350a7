"""How every CPU kernel is compiled.

No fastmath: a fused multiply-add or a reordered sum changes last bits, and with them bytes. The
GIL is released, so two threads do the work of two processes; machine code is cached on disk.
"""

from __future__ import annotations

from numba import njit

kernel = njit(cache=True, nogil=True, error_model="numpy")
