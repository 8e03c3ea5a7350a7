"""Pickled CIFAR files, read without running what they say.

Unpickling calls whatever a file names. A CIFAR file names three things of NumPy, to build one array
of bytes. The unpickler here answers these three with stand-ins of its own, which only hold on to
what they are given, and refuses every other name; so nothing of a file is called or imported.
"""

import io
import pickle
import pickletools
import reprlib
from pathlib import Path
from typing import Any

import numpy as np

from hardy.errors import InputError
from hardy.images.image_files import UInt8

# The largest true file, the training set of CIFAR-100, has 155 million bytes.
LARGEST = 200_000_000
# The memo is an array, as long as its highest number says. The true files have one number for each
# of at most 50,000 file names.
LARGEST_MEMO = 1_000_000
PUTS = ("PUT", "BINPUT", "LONG_BINPUT")


def read(path: Path) -> dict[str, Any]:
    """The dictionary in the file, its keys as text and its array as uint8."""
    size = path.stat().st_size
    if size > LARGEST:
        raise InputError(f"{path}: expected at most {LARGEST:,} bytes of CIFAR, got {size:,}")
    try:
        data = path.read_bytes()
        _check_memo(data)
        content = _Unpickler(io.BytesIO(data)).load()
        named = {
            key.decode() if type(key) is bytes else key: value for key, value in content.items()
        }
        return {
            key: _pixels(value) if hasattr(value, "state") else value
            for key, value in named.items()
        }
    # A broken pickle meets its reader with nearly every kind of exception.
    except Exception as error:
        reason = error if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        raise InputError(
            f"{path}: expected a pickled file of CIFAR, got another ({reason})"
        ) from error


def _check_memo(data: bytes) -> None:
    for opcode, number, _ in pickletools.genops(data):
        if opcode.name in PUTS and int(number or 0) > LARGEST_MEMO:
            raise InputError(f"it asks for more than {LARGEST_MEMO:,} places in the memo")


class _Unpickler(pickle.Unpickler):
    def __init__(self, stream: Any) -> None:
        super().__init__(stream, encoding="bytes")  # Python 2 wrote the files

        # Made anew for each file, because a file may write attributes onto what it is handed.
        class Array:
            state: Any

            def __setstate__(self, state: Any) -> None:
                self.state = state

        class Dtype:
            def __init__(self, code: Any, *_: Any) -> None:
                self.code = code

            def __setstate__(self, state: Any) -> None:
                pass  # byte order and alignment; bytes have none

        self._known = {
            ("numpy", "ndarray"): None,
            ("numpy", "dtype"): Dtype,
            ("numpy.core.multiarray", "_reconstruct"): lambda *_: Array(),
            ("numpy._core.multiarray", "_reconstruct"): lambda *_: Array(),
        }

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self._known:
            raise InputError(f"it asks for {module}.{name}, which Hardy will not load")
        return self._known[module, name]


def _pixels(array: Any) -> UInt8:
    _, shape, dtype, fortran, data = array.state
    if dtype.code not in ("u1", b"u1") or type(data) is not bytes:
        raise InputError(f"an array of {reprlib.repr(dtype.code)} in the place of bytes")
    return np.frombuffer(data, np.uint8).reshape(shape, order="F" if fortran else "C")
